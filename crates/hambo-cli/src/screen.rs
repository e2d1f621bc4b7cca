//! Text on the terminal: 80 columns, colours only where they are wanted.

use std::io::{ErrorKind, Write};

use anstyle::{AnsiColor, Style};

use crate::failure::{Failure, Result};

pub(crate) const WIDTH: usize = 80;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const NOTICE: Style = AnsiColor::Yellow.on_default().bold();

/// `text` in a style; `anstream` removes it where no colours are wanted.
pub(crate) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Prints to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::ReaderGone),
        Err(error) => Err(Failure::Internal(format!("cannot write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Says why the command could not do what it was asked to.
pub(crate) fn failure(failure: &Failure) {
    let text = match failure {
        Failure::ReaderGone => return,
        Failure::Input(message) | Failure::Internal(message) => {
            format!("{} {message}", styled(BAD, "error:"))
        }
        Failure::Interrupted(message) => message.clone(),
    };
    // Nobody is left to tell if this fails, too.
    let _ = writeln!(anstream::stderr(), "{}", wrap(&text, 0, 2));
}

/// Breaks long lines; the first line of each is indented by `first`, the others by `rest`.
pub(crate) fn wrap(text: &str, first: usize, rest: usize) -> String {
    let (first, rest) = (" ".repeat(first), " ".repeat(rest));
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(&first)
        .subsequent_indent(&rest)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    text.lines().map(|line| textwrap::fill(line, &options)).collect::<Vec<_>>().join("\n")
}

/// A table with right-aligned columns, except for the first `left` ones.
pub(crate) fn table(rows: &[Vec<String>], left: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let space = " ".repeat(widths[column] - cell.chars().count());
            let gap = if column > 0 { "  " } else { "" };
            match column < left {
                true => line += &format!("{gap}{cell}{space}"),
                false => line += &format!("{gap}{space}{cell}"),
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// `12,345`
pub(crate) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// About five significant digits.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        0.0 => "0".into(),
        size if !(1e-4..1e7).contains(&size) => format!("{value:.3e}"),
        _ => {
            let decimals = (4 - size.log10().floor() as i32).clamp(0, 7) as usize;
            let text = format!("{value:.decimals$}");
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').into(),
                false => text,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_keep_five_digits() {
        let shown = [0.0, 1.0, -417.3951, 0.001, 12345678.0, 99999.9, 0.00001].map(number);
        assert_eq!(shown, ["0", "1", "-417.4", "0.001", "1.235e7", "100000", "1.000e-5"]);
    }

    #[test]
    fn counts_have_separators() {
        assert_eq!([7, 1000, 1234567].map(count), ["7", "1,000", "1,234,567"]);
    }

    #[test]
    fn long_lines_are_broken_before_the_eightieth_column() {
        let text = wrap(&"word ".repeat(60), 0, 2);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("  word"));
    }

    #[test]
    fn a_table_is_aligned() {
        let rows = [["a", "1.5"], ["long", "22.5"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(table(&rows, 1), "a      1.5\nlong  22.5\n");
    }
}
