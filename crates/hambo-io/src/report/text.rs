//! Numbers and names as a page shows them.

use hambo::Evaluation;

/// Text that HTML and SVG take literally, in content and in quoted attributes. Control characters,
/// which XML forbids even escaped, are left out.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            '\u{fffe}' | '\u{ffff}' => {}
            other if other.is_control() => {}
            other => escaped.push(other),
        }
    }
    escaped
}

/// With a capital, a full stop, and true apostrophes.
pub(super) fn sentence(text: &str) -> String {
    let text = &text.replace('\'', "’");
    let mut rest = text.trim_end_matches('.').chars();
    match rest.next() {
        Some(first) => first.to_uppercase().collect::<String>() + rest.as_str() + ".",
        None => String::new(),
    }
}

/// The first `most` characters, with a sign that some are missing.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A command in lines that a shell puts together again, broken before its flags.
pub(super) fn in_lines(command: &str, most: usize) -> String {
    let mut quote = None;
    let mut words = vec![String::new()];
    let mut letters = command.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, ' ') if letters.peek() == Some(&'-') => words.push(String::new()),
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
        if let Some(word) = words.last_mut().filter(|word| !(word.is_empty() && letter == ' ')) {
            word.push(letter);
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        let indent = if lines.is_empty() { "" } else { "    " };
        let fits = |line: &&mut String| line.chars().count() + 1 + word.chars().count() <= most;
        match lines.last_mut().filter(fits) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(format!("{indent}{word}")),
        }
    }
    lines.join(" \\\n")
}

/// A number with so many decimals, a true minus sign, and groups of three digits.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        let text = if value.is_nan() { "–" } else { ["∞", "−∞"][usize::from(value < 0.0)] };
        return text.into();
    }
    if value != 0.0 && (value.abs() >= 1e9 || value.abs() < 1e-6) {
        return sign(&format!("{value:.2e}"));
    }
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let negative = whole.starts_with('-');
    let nonzero = text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let digits = whole.trim_start_matches('-');
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        // Four digits need no groups.
        if index > 0 && digits.len() > 4 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    let sign = if negative && nonzero { "−" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{fraction}")
}

/// The same, rounded towards minus infinity: no bound may grow by being printed.
pub(super) fn rounded_down(value: f64, decimals: usize) -> String {
    let floor = floor(value, decimals);
    fixed(if floor.is_finite() && value.abs() < 1e9 { floor } else { value }, decimals)
}

/// Most decimals that a number is rounded to; beyond, it is left as it is.
const MOST_DECIMALS: usize = 12;

/// A number rounded towards minus infinity: a bound must not look higher than it is.
pub fn floor(value: f64, decimals: usize) -> f64 {
    if decimals > MOST_DECIMALS {
        return value;
    }
    let factor = 10f64.powi(decimals as i32);
    (value * factor).floor() / factor
}

/// Decimals with which an evaluation's returns are shown: two digits of the smallest standard error,
/// and more if the bound, rounded down, would otherwise seem to lie on the other side of the
/// threshold.
pub fn decimals(evaluation: &Evaluation, threshold: Option<f64>) -> usize {
    let errors = evaluation.variants.iter().map(|variant| variant.estimate.std_error);
    let least = decimals_for(errors);
    let Some((bound, threshold)) = evaluation.lower_bound.zip(threshold) else { return least };
    let keeps_side =
        |decimals: &usize| (floor(bound, *decimals) >= threshold) == (bound >= threshold);
    (least..=MOST_DECIMALS).find(keeps_side).unwrap_or(MOST_DECIMALS + 4)
}

/// A number of no particular kind, with three or four significant digits.
pub(super) fn number(value: f64) -> String {
    let magnitude = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    let decimals = if magnitude.is_finite() { (2.0 - magnitude).clamp(0.0, 6.0) } else { 0.0 };
    let text = fixed(value, decimals as usize);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A round number beside an axis, where there is little room.
pub(super) fn tick_label(value: f64) -> String {
    if value == 0.0 || value.abs() >= 1e-3 {
        return number(value);
    }
    let text = format!("{value:.2e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    sign(&format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.')))
}

/// A number as it was given.
pub(super) fn as_given(value: f64) -> String {
    sign(&value.to_string())
}

/// Decimals that show two digits of the smallest of these errors.
pub(super) fn decimals_for(errors: impl Iterator<Item = f64>) -> usize {
    let smallest = errors.filter(|error| *error > 0.0 && error.is_finite()).reduce(f64::min);
    smallest.map_or(2, |error| (1.0 - error.log10().floor()).clamp(0.0, 6.0) as usize)
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    let decimals = usize::from(value != 0.0 && value.abs() < 10.0);
    format!("{}\u{202f}%", fixed(value, decimals))
}

/// `1 - delta` in percent, with as many digits as it needs.
pub(super) fn confidence(delta: f64) -> String {
    let value = (100.0 * (1.0 - delta) * 1e6).round() / 1e6;
    format!("{value}\u{202f}%")
}

fn sign(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_true_minus_groups_and_no_negative_zero() {
        assert_eq!(fixed(-1234567.891, 2), "−1\u{2009}234\u{2009}567.89");
        assert_eq!(fixed(1234.0, 0), "1234");
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(fixed(f64::NAN, 2), "–");
        assert_eq!(fixed(f64::NEG_INFINITY, 2), "−∞");
        assert_eq!(number(0.0123456), "0.0123");
        assert_eq!(number(12.0), "12");
        assert_eq!(number(-250.0), "−250");
        assert_eq!(number(2.5e12), "2.50e12");
    }

    #[test]
    fn small_numbers_beside_an_axis_are_short() {
        assert_eq!([0.0, 0.25, 1.5e-5, -5e-6].map(tick_label), ["0", "0.25", "1.5e−5", "−5e−6"]);
    }

    #[test]
    fn a_bound_never_grows_by_being_printed() {
        assert_eq!(rounded_down(-312.41, 1), "−312.5");
        assert_eq!(rounded_down(312.49, 1), "312.4");
    }

    #[test]
    fn decimals_follow_the_error() {
        assert_eq!(decimals_for([0.034, 2.0].into_iter()), 3);
        assert_eq!(decimals_for([14.0].into_iter()), 0);
        assert_eq!(decimals_for(std::iter::empty()), 2);
    }

    #[test]
    fn escaped_text_has_no_markup_left() {
        assert_eq!(escape("<a href='x'>&\"\u{0}\u{1b}"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
    }

    #[test]
    fn a_long_command_is_broken_before_its_flags_and_never_inside_quotes() {
        assert_eq!(in_lines("hambo fit a.csv --out m", 80), "hambo fit a.csv --out m");
        let long = "hambo fit 'a -b.csv' --out model --seed 3";
        assert_eq!(in_lines(long, 22), "hambo fit 'a -b.csv' \\\n    --out model \\\n    --seed 3");
    }

    #[test]
    fn long_names_are_shortened_by_characters_not_bytes() {
        assert_eq!(shortened("äöü-äöü-äöü", 5), "äöü-…");
        assert_eq!(shortened("short", 5), "short");
    }
}
