//! A figure as an SVG file of its own: white paper, its own colours, its heading and its caption.

use super::figure::{Figure, STYLE, WIDTH};
use crate::report::text::escape;

/// Space around drawings and between panels.
const GAP: f64 = 20.0;
const HEADING: f64 = 34.0;
const LINE: f64 = 16.0;

/// Width that a letter of the caption takes in the widest of the usual fonts.
const LETTER: f64 = 6.3;

/// Captions of narrow figures are still as wide as a figure of one drawing.
const LEAST_WIDTH: f64 = WIDTH + 2.0 * GAP;

impl Figure {
    /// The file's content.
    pub(in crate::report) fn standalone(&self) -> String {
        // Panels in a shape that is rather wide than tall.
        let columns = match self.drawings.len() {
            2 | 4 => 2,
            ..=9 => 3,
            _ => 4,
        };
        let (mut width, mut bottom) = (LEAST_WIDTH, HEADING);
        let mut placed = String::new();
        for (index, drawing) in self.drawings.iter().enumerate() {
            let x = GAP + (index % columns) as f64 * (drawing.width + GAP);
            let y = GAP + HEADING + (index / columns) as f64 * (drawing.height + GAP);
            (width, bottom) = (width.max(x + drawing.width + GAP), y + drawing.height);
            placed += &format!(
                "<g transform=\"translate({x} {y})\"><title>{}</title>{}</g>",
                escape(&drawing.title),
                drawing.body
            );
        }
        let lines = wrapped(&self.caption, ((width - 2.0 * GAP) / LETTER) as usize);
        let mut caption = String::new();
        for (index, line) in lines.iter().enumerate() {
            let y = bottom + GAP + LINE * (index as f64 + 0.75);
            caption +=
                &format!("<text class=\"label\" x=\"{GAP}\" y=\"{y}\">{}</text>", escape(line));
        }
        let height = bottom + GAP + LINE * lines.len() as f64 + GAP;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\"><title>{heading}</title>\
             <style>{}</style><rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\
             <text class=\"heading\" x=\"{GAP}\" y=\"{}\">{heading}</text>{placed}{caption}</svg>\n",
            own_style(),
            GAP + 14.0,
            heading = escape(self.heading),
        )
    }
}

/// The figures' style sheet in its light colours, without variables and conditions, which many
/// programs that draw SVG do not know.
fn own_style() -> String {
    let palette = STYLE.lines().next().unwrap_or_default();
    let palette = palette.trim_start_matches(":root{").trim_end_matches('}');
    let mut rules: String = STYLE.lines().filter(|line| line.starts_with("svg ")).collect();
    for (name, colour) in palette.split(';').filter_map(|part| part.split_once(':')) {
        rules = rules.replace(&format!("var({name})"), colour);
    }
    rules.replace("svg ", "").replace("font-family:", "font-family:Inter,")
}

/// Lines of at most so many letters, broken between words.
fn wrapped(text: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let fits = |line: &&mut String| line.chars().count() + 1 + word.chars().count() <= letters;
        match lines.last_mut().filter(fits) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_of_a_file_needs_no_variables() {
        let style = own_style();
        assert!(style.contains(".paper{fill:#fff}"), "{style}");
        for foreign in ["var(", "@media", ":root", "svg "] {
            assert!(!style.contains(foreign), "{foreign}: {style}");
        }
    }

    #[test]
    fn lines_keep_to_their_width_and_lose_no_word() {
        let text = "a caption of several words and onesinglewordthatistoolong at its end";
        let lines = wrapped(text, 20);
        assert!(lines.iter().all(|line| line.len() <= 20 || !line.contains(' ')), "{lines:?}");
        assert_eq!(lines.join(" "), text);
    }
}
