//! What can be typed after `hambo plan`.

use std::path::PathBuf;

use clap::Args;

use super::Settings;

#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Logged transitions, such as 1000000 or 1e6
    #[arg(long, value_name = "N", value_parser = count)]
    pub rows: usize,

    /// Columns of a state
    #[arg(long, value_name = "D")]
    pub states: usize,

    /// Columns of an action
    #[arg(long, value_name = "D")]
    pub actions: usize,

    /// Steps per evaluated episode
    #[arg(long, value_name = "T")]
    pub horizon: usize,

    /// Steps per logged episode [default: as many]
    #[arg(long, value_name = "T")]
    pub episode_steps: Option<usize>,

    /// Policies to evaluate
    #[arg(long, value_name = "N", value_parser = count, default_value = "1")]
    pub policies: usize,

    /// One of them, for states and actions of these widths [default: a network of 2 x 64 stands in]
    #[arg(long, value_name = "P.onnx")]
    pub policy: Option<PathBuf>,

    /// Hours that the evaluations may take; says how many machines that needs
    #[arg(long, value_name = "HOURS")]
    pub within: Option<f64>,

    /// Write the plan as JSON
    #[arg(long, value_name = "F")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub settings: Settings,
}

fn count(text: &str) -> Result<usize, String> {
    let plain = text.replace(['_', ','], "");
    match plain.parse::<f64>() {
        Ok(value) if (1.0..=1e15).contains(&value) && value.fract() == 0.0 => Ok(value as usize),
        _ => Err("give a whole number, such as 1000000 or 1e6".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_be_short() {
        assert_eq!(["1e6", "1_000_000", "1,000,000"].map(count), [(); 3].map(|()| Ok(1_000_000)));
        assert!(
            ["", "0", "1.5", "-3", "many", "1e300"].into_iter().all(|text| count(text).is_err())
        );
    }
}
