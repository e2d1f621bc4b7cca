//! `hambo explain`: what a warning means, in the words of the guide.

use crate::failure::{Exit, Failure, Result};
use crate::screen::{self, BOLD, styled, wrap};

/// The guide, whose table has one row per code.
/// A copy of `docs/warnings.md`: packages hold nothing from outside their own folder.
const GUIDE: &str = include_str!("../../assets/warnings.md");

/// What the guide says of a warning.
struct Entry<'a> {
    codes: Vec<&'a str>,
    found: &'a str,
    forbids: &'a str,
    advice: &'a str,
}

pub(crate) fn run(code: Option<&str>) -> Result<Exit> {
    let entries = entries();
    let Some(code) = code else {
        let line = |entry: &Entry<'_>| {
            let codes = styled(BOLD, &format!("{}:", entry.codes.join(", ")));
            format!("{}\n", wrap(&format!("{codes} {}", entry.found), 0, 2))
        };
        screen::print(&entries.iter().map(line).collect::<String>())?;
        return Ok(Exit::Done);
    };
    let asked = code.trim().to_lowercase().replace([' ', '-'], "_");
    let entry = entries.iter().find(|entry| entry.codes.contains(&asked.as_str()));
    let entry = entry.ok_or_else(|| unknown(code, &asked, &entries))?;
    screen::print(&describe(&asked, entry))?;
    Ok(Exit::Done)
}

fn describe(code: &str, entry: &Entry<'_>) -> String {
    let line = |what: &str, text: &str| {
        format!("{}\n", wrap(&format!("{} {}", styled(BOLD, what), text), 0, 2))
    };
    line(&format!("{code}:"), entry.found)
        + &line("does it forbid CERTIFIED?", entry.forbids)
        + &line("what to do:", entry.advice)
}

fn unknown(code: &str, asked: &str, entries: &[Entry<'_>]) -> Failure {
    let likeness = |name: &&str| (1000.0 * strsim::jaro_winkler(asked, name)) as u64;
    let all = entries.iter().flat_map(|entry| entry.codes.clone());
    let hint = match all.max_by_key(likeness).filter(|name| likeness(name) > 700) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "`hambo explain` lists all codes".into(),
    };
    Failure::input(format!("there is no warning `{code}`; {hint}"))
}

/// The rows of the guide's table.
fn entries() -> Vec<Entry<'static>> {
    let entry = |line: &'static str| {
        let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").map(str::trim).collect();
        let [codes, found, forbids, advice] = cells[..] else { return None };
        let codes: Vec<&str> = codes.split('`').skip(1).step_by(2).collect();
        (!codes.is_empty()).then_some(Entry { codes, found, forbids, advice })
    };
    GUIDE.lines().filter(|line| line.starts_with("| `")).filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_is_the_one_that_users_read() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/warnings.md");
        let guide = std::fs::read_to_string(file).unwrap();
        assert!(guide == GUIDE, "copy docs/warnings.md to crates/hambo-cli/assets");
    }

    #[test]
    fn every_warning_is_explained() {
        let known: Vec<&str> = entries().iter().flat_map(|entry| entry.codes.clone()).collect();
        for code in hambo::Warning::CODES {
            assert!(known.contains(&code), "{code} is not in docs/warnings.md");
        }
    }
}
