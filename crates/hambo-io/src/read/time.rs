//! Times as logs write them.

use chrono::{DateTime, NaiveDate, NaiveDateTime};

/// Formats without a time zone, the most common first. Dates such as 01/11/2025 00:15 are left out: nobody can tell
/// the day from the month, unless an hour of twelve says that it is American.
const FORMATS: [&str; 10] = [
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%d.%m.%Y %H:%M:%S%.f",
    "%d.%m.%Y %H:%M",
    "%Y/%m/%d %H:%M:%S%.f",
    "%Y/%m/%d %H:%M",
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %I:%M %p",
];

const DATES: [&str; 2] = ["%Y-%m-%d", "%d.%m.%Y"];

/// Milliseconds since 1970, in the time of the text itself: a day of the log is a day of the clock on its wall.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    // Most cells of a table are numbers, which these two never are.
    if !text.contains(['-', '.', '/']) || text.len() < 8 {
        return None;
    }
    let plain = FORMATS.iter().find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    let zoned = || {
        let spaced = DateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f%:z");
        DateTime::parse_from_rfc3339(text).or(spaced).ok().map(|time| time.naive_local())
    };
    let date = || {
        let date = DATES.iter().find_map(|format| NaiveDate::parse_from_str(text, format).ok());
        date.and_then(|date| date.and_hms_opt(0, 0, 0))
    };
    plain.or_else(zoned).or_else(date).map(|time| time.and_utc().timestamp_millis())
}

/// Whether a text is a time in a format that is not read.
pub(crate) fn looks_like_one(text: &str) -> bool {
    let text = text.trim();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let is_other = |c: char| !c.is_ascii_digit() && !" :/-.,TZ+AMPampm".contains(c);
    digits >= 6
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.contains(['/', ':', '-'])
        && !text.contains(is_other)
        && parse(text).is_none()
}

/// A moment, as it is written in messages.
pub(crate) fn moment(milliseconds: i64) -> String {
    match DateTime::from_timestamp_millis(milliseconds) {
        Some(time) => time.format("%Y-%m-%d %H:%M:%S").to_string(),
        None => format!("{milliseconds} ms"),
    }
}

/// How long so many milliseconds are, in the largest unit of which they are a whole number.
pub(crate) fn duration(milliseconds: i64) -> String {
    const UNITS: [(i64, &str); 4] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let whole = UNITS.iter().find(|(unit, _)| milliseconds % unit == 0 && milliseconds != 0);
    let largest = UNITS.iter().find(|(unit, _)| milliseconds >= *unit);
    match (whole, largest) {
        (Some((unit, name)), _) if milliseconds / unit < 1_000 => {
            format!("{} {name}", milliseconds / unit)
        }
        (_, Some((unit, name))) => format!("{:.1} {name}", milliseconds as f64 / *unit as f64),
        _ => format!("{milliseconds} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_moment_in_many_hands() {
        let expected = parse("2025-11-01 00:15:00");
        assert_eq!(expected, Some(1_761_956_100_000));
        for text in [
            "2025-11-01T00:15:00",
            "2025-11-01 00:15",
            "2025-11-01T00:15:00Z",
            "2025-11-01T00:15:00+02:00",
            "2025-11-01 00:15:00.000+00:00",
            " 01.11.2025 00:15 ",
            "11/01/2025 12:15 AM",
            "2025/11/01 00:15",
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        assert_eq!(parse("2025-11-01").map(|time| time + 900_000), expected);
    }

    #[test]
    fn numbers_and_doubtful_dates_are_no_times() {
        for text in ["20.5", "-12345678.25", "01/11/2025 00:15", "1e-10", "A-7", "2025-13-01", ""] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_short() {
        let of = |seconds: i64| duration(1_000 * seconds);
        assert_eq!([900, 3_600, 90, 86_400].map(of), ["15 min", "1 h", "90 s", "1 d"]);
        assert_eq!(of(25_935 * 60), "18.0 d");
        assert!(looks_like_one("01/11/2025 00:15") && !looks_like_one("A-2025-11-01"));
        assert!(!looks_like_one("2025-11-01 00:15") && !looks_like_one("20.5"));
        assert_eq!(moment(1_761_956_100_000), "2025-11-01 00:15:00");
    }
}
