//! Draws what `gp_convergence` found: one panel per file, bound and neutral estimate over the size of the
//! data, with the range over seeds.
//!
//!     cargo run -p hambo-studies --bin gp_figure -- figure.svg pendulum.csv point_env.csv

use std::collections::BTreeMap;
use std::fmt::Write;

use hambo::BoxError;

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 280.0;
const MARGIN: f64 = 55.0;

/// Scaled bounds and neutral estimates of all seeds, by size of the data.
type Results = BTreeMap<u32, Vec<(f64, f64)>>;

fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let figure = arguments.next().ok_or("the first argument is the figure's path")?;
    let mut panels = String::new();
    let mut count = 0;
    for path in arguments {
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let (system, results) = read(&text).map_err(|error| format!("{path}: {error}"))?;
        let left = f64::from(count) * (WIDTH + 2.0 * MARGIN);
        write!(
            panels,
            "<g transform=\"translate({left} 0)\">\n{}</g>\n",
            panel(&system, &results)
        )?;
        count += 1;
    }
    let (width, height) = (f64::from(count) * (WIDTH + 2.0 * MARGIN), HEIGHT + 2.0 * MARGIN);
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"14\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{panels}</svg>\n"
    );
    Ok(std::fs::write(figure, svg)?)
}

fn read(text: &str) -> Result<(String, Results), BoxError> {
    let mut results = Results::new();
    let mut system = String::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [name, rows, _seed, bound, _estimate, neutral, ..] = cells[..] else {
            return Err(format!("not a row of gp_convergence: {line}").into());
        };
        system = name.into();
        results.entry(rows.parse()?).or_default().push((bound.parse()?, neutral.parse()?));
    }
    Ok((system, results))
}

fn panel(system: &str, results: &Results) -> String {
    let sizes: Vec<f64> = results.keys().map(|&n| f64::from(n)).collect();
    let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
    let bounds = || results.values().flatten().map(|(bound, _)| *bound);
    let low = (10.0 * bounds().fold(f64::INFINITY, f64::min) - 0.3).floor() / 10.0;
    let high = 1.05;
    let x = |n: f64| MARGIN + WIDTH * (n / first).ln() / (last / first).ln();
    let y = |value: f64| MARGIN + HEIGHT * (high - value) / (high - low);
    let mut svg = String::new();
    let mut value = low;
    while value < high {
        svg += &format!(
            "<line x1=\"{MARGIN}\" x2=\"{}\" y1=\"{1:.1}\" y2=\"{1:.1}\" stroke=\"#e4e4e4\"/>\n\
             <text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\" fill=\"#555555\">{value:.2}</text>\n",
            MARGIN + WIDTH,
            y(value),
            MARGIN - 8.0,
            y(value) + 5.0,
        );
        value += if high - low > 0.5 { 0.1 } else { 0.05 };
    }
    for &n in &sizes {
        let at = x(n);
        svg += &format!(
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555555\">{n}</text>\n",
            MARGIN + HEIGHT + 20.0
        );
    }
    svg += &format!(
        "<line x1=\"{MARGIN}\" x2=\"{0:.1}\" y1=\"{1:.1}\" y2=\"{1:.1}\" stroke=\"#1a1a1a\" \
         stroke-width=\"1.5\"/>\n<text x=\"{0:.1}\" y=\"{2:.1}\" text-anchor=\"end\">true return</text>\n",
        MARGIN + WIDTH,
        y(1.0),
        y(1.0) - 6.0,
    );
    let neutral = |pair: &(f64, f64)| pair.1;
    let bound = |pair: &(f64, f64)| pair.0;
    svg += &series(results, &neutral, "#d9920a", &x, &y);
    svg += &series(results, &bound, "#2a5fb0", &x, &y);
    let labels = [("neutral estimate", "#d9920a"), ("lower bound", "#2a5fb0")];
    for (index, (text, colour)) in labels.iter().enumerate() {
        svg += &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"{colour}\">{text}</text>\n",
            MARGIN + WIDTH - 10.0,
            MARGIN + HEIGHT - 34.0 + 20.0 * index as f64,
        );
    }
    svg + &format!(
        "<text x=\"{MARGIN}\" y=\"{:.1}\" font-weight=\"bold\">{system}: scaled return over n</text>\n",
        MARGIN - 20.0
    )
}

/// Mean over seeds as a line, their range as a band.
fn series(
    results: &Results,
    of: &dyn Fn(&(f64, f64)) -> f64,
    colour: &str,
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
) -> String {
    let point = |n: u32, value: f64| format!("{:.1},{:.1}", x(f64::from(n)), y(value));
    let summarise = |summary: &dyn Fn(Vec<f64>) -> f64| -> Vec<String> {
        let values = |pairs: &Vec<(f64, f64)>| pairs.iter().map(of).collect::<Vec<f64>>();
        results.iter().map(|(&n, pairs)| point(n, summary(values(pairs)))).collect()
    };
    let mean = summarise(&|values| values.iter().sum::<f64>() / values.len() as f64);
    let mut band = summarise(&|values| values.into_iter().fold(f64::INFINITY, f64::min));
    let highest = summarise(&|values| values.into_iter().fold(f64::NEG_INFINITY, f64::max));
    band.extend(highest.into_iter().rev());
    format!(
        "<polygon points=\"{}\" fill=\"{colour}\" fill-opacity=\"0.2\"/>\n\
         <polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
        band.join(" "),
        mean.join(" ")
    )
}
