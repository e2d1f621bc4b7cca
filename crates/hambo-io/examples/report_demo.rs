//! A report on a small Pendulum evaluation: `report_demo <folder> [evaluation.json]`.
//!
//! Writes `report.html`, the figures as SVG and PNG files and the evaluation as `evaluation.json`. Given such
//! a file it draws the report anew without evaluating. The settings are far too small for a bound
//! that anybody should trust; the report says so.

use std::error::Error;
use std::path::PathBuf;

use hambo::dynamics::ensemble::EnsembleSettings;
use hambo::task::pendulum::{self, Pendulum, SwingUp};
use hambo::{
    AdversarySettings, Evaluation, EvaluationSettings, Model, ModelSettings, Seed, Silent, Streams,
    collect,
};
use hambo_io::report::{self, ReportOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "report".into()));
    std::fs::create_dir_all(&folder)?;
    let evaluation = match arguments.next() {
        Some(file) => serde_json::from_str(&std::fs::read_to_string(file)?)?,
        None => small_evaluation()?,
    };
    std::fs::write(folder.join("evaluation.json"), serde_json::to_string(&evaluation)?)?;

    let options = ReportOptions {
        title: "Pendulum swing-up".into(),
        policy: Some("SwingUp::GOOD".into()),
        data: Some("50 episodes of a detuned, noisy controller".into()),
        threshold: Some(-600.0),
        command: Some("cargo run -p hambo-io --example report_demo -- report".into()),
        ..ReportOptions::default()
    };
    std::fs::write(folder.join("report.html"), report::html(&evaluation, &options))?;
    for (name, svg) in report::figures(&evaluation, &options) {
        std::fs::write(folder.join(format!("{name}.png")), report::png(&svg)?)?;
        std::fs::write(folder.join(format!("{name}.svg")), svg)?;
    }
    println!("{}", folder.join("report.html").display());
    Ok(())
}

fn small_evaluation() -> hambo::Result<Evaluation> {
    let seed = Seed(0);
    let task = pendulum::task(100);
    let behaviour = SwingUp::DETUNED.noisy(0.5);
    let logs = collect(&Pendulum, &task, &behaviour, 50, &mut Streams::new(seed, "logs"))?;
    let ensemble =
        EnsembleSettings { hidden: vec![64; 2], max_steps: Some(800), ..Default::default() };
    let settings = ModelSettings { ensemble, ..Default::default() };
    let model = Model::fit(&logs, &settings, seed, &Silent)?;
    let adversary = AdversarySettings {
        hidden: vec![64; 2],
        episodes: 200,
        batch_size: 256,
        gradient_steps: 300,
        max_rounds: 8,
        ..Default::default()
    };
    let settings = EvaluationSettings { episodes: 1000, adversary, ..Default::default() };
    model.evaluate(&SwingUp::GOOD, &task, &settings, seed, &Silent)
}
