//! A frame with axes, and what is drawn into it, as SVG.
//!
//! Colours are classes of `figure.css`, so that one drawing serves a light page, a dark one and paper.

use super::text::{escape, shortened, tick_label};

/// Maps data to pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Data between `low` and `high` goes between the pixels `from` and `to`. A range without width
    /// gets one.
    pub(super) fn new((low, high): (f64, f64), from: f64, to: f64) -> Self {
        let (low, high) = match (low.is_finite() && high.is_finite(), high > low) {
            (false, _) => (0.0, 1.0),
            (true, true) => (low, high),
            (true, false) => (low - 0.5 * low.abs().max(1.0), low + 0.5 * low.abs().max(1.0)),
        };
        Self { low, high, from, to }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Round numbers inside the range, about `wanted` of them.
    pub(super) fn ticks(&self, wanted: usize) -> Vec<f64> {
        let raw = (self.high - self.low) / wanted.max(1) as f64;
        let power = 10f64.powf(raw.log10().floor());
        // The nearest of 1, 2, 5 and 10 as ratios go.
        let step = match raw / power {
            ratio if ratio < 2f64.sqrt() => power,
            ratio if ratio < 10f64.sqrt() => 2.0 * power,
            ratio if ratio < 50f64.sqrt() => 5.0 * power,
            _ => 10.0 * power,
        };
        let first = (self.low / step - 1e-9).ceil();
        // A range of floats so narrow that steps vanish has no ticks.
        let count = (((self.high / step + 1e-9).floor() - first) as usize).min(20);
        if step.is_nan() || step <= 0.0 || self.low + step == self.low {
            return Vec::new();
        }
        (0..=count).map(|index| (first + index as f64) * step).map(|tick| tick + 0.0).collect()
    }
}

/// The smallest range around all finite values, with a margin on both sides as a share of it.
pub(super) fn range(values: impl IntoIterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) = values
        .into_iter()
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let room = (high - low) * margin;
    (low - room, high + room)
}

/// One drawing.
#[derive(Debug, Clone)]
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    /// What it shows, for those who cannot see it.
    pub(super) title: String,
    pub(super) body: String,
}

impl Drawing {
    /// An `<svg>` element; `attributes` are its place in another one.
    pub(super) fn element(&self, attributes: &str) -> String {
        let Self { width, height, title, body } = self;
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" {attributes}>\
             <title>{}</title>{body}</svg>",
            escape(title)
        )
    }
}

/// Pixels between the frame and the drawing's edges: top, right, bottom, left.
pub(super) type Margins = [f64; 4];

/// A drawing in the making.
#[derive(Debug)]
pub(super) struct Plot {
    width: f64,
    height: f64,
    margins: Margins,
    pub(super) x: Scale,
    pub(super) y: Scale,
    body: String,
}

impl Plot {
    /// `x` and `y` are the ranges of the data.
    pub(super) fn new(
        [width, height]: [f64; 2],
        margins: Margins,
        x: (f64, f64),
        y: (f64, f64),
    ) -> Self {
        let [top, right, bottom, left] = margins;
        let x = Scale::new(x, left, width - right);
        let y = Scale::new(y, height - bottom, top);
        Self { width, height, margins, x, y, body: String::new() }
    }

    /// Pixels of the frame: left, right, top, bottom.
    fn frame(&self) -> [f64; 4] {
        let [top, right, bottom, left] = self.margins;
        [left, self.width - right, top, self.height - bottom]
    }

    /// A line across the frame at a value of y.
    pub(super) fn level(&mut self, class: &str, y: f64) {
        let [left, right, ..] = self.frame();
        self.segment(class, [left, self.y.at(y), right, self.y.at(y)]);
    }

    /// Ticks and a title below the frame.
    pub(super) fn x_axis(&mut self, title: &str, wanted: usize) {
        let [_, right, _, bottom] = self.frame();
        for tick in self.x.ticks(wanted) {
            let x = self.x.at(tick);
            self.segment("axis", [x, bottom, x, bottom + 4.0]);
            self.text("tick", [x, bottom + 16.0], "middle", &tick_label(tick));
        }
        self.text("label", [right, bottom + 32.0], "end", title);
    }

    /// Grid lines with their values left of the frame, and a title above it.
    pub(super) fn y_axis(&mut self, title: &str, wanted: usize) {
        let [left, right, top, _] = self.frame();
        for tick in self.y.ticks(wanted) {
            let y = self.y.at(tick);
            self.segment("grid", [left, y, right, y]);
            self.text("tick", [left - 6.0, y + 4.0], "end", &tick_label(tick));
        }
        self.text("label", [0.0, top - 12.0], "start", title);
    }

    /// A line through data; values that are no numbers leave gaps.
    pub(super) fn line(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let mut path = String::new();
        let mut pen = 'M';
        for (x, y) in points {
            if !(x.is_finite() && y.is_finite()) {
                pen = 'M';
                continue;
            }
            path += &format!("{pen}{:.1} {:.1}", self.x.at(x), self.y.at(y));
            pen = 'L';
        }
        if !path.is_empty() {
            self.body += &format!("<path class=\"{class}\" d=\"{path}\"/>");
        }
    }

    /// The area between two lines over the same x, as `(x, low, high)`.
    pub(super) fn area(&mut self, class: &str, points: &[(f64, f64, f64)]) {
        let finite = |p: &&(f64, f64, f64)| p.0.is_finite() && p.1.is_finite() && p.2.is_finite();
        let upper = points.iter().filter(finite).map(|&(x, _, high)| (x, high));
        let lower = points.iter().rev().filter(finite).map(|&(x, low, _)| (x, low));
        let corners: Vec<String> = upper
            .chain(lower)
            .map(|(x, y)| format!("{:.1} {:.1}", self.x.at(x), self.y.at(y)))
            .collect();
        if !corners.is_empty() {
            self.body += &format!("<path class=\"{class}\" d=\"M{}Z\"/>", corners.join("L"));
        }
    }

    /// A line between two points in pixels.
    pub(super) fn segment(&mut self, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
        if ![x1, y1, x2, y2].iter().all(|value| value.is_finite()) {
            return;
        }
        self.body += &format!("<path class=\"{class}\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>");
    }

    /// A rectangle in pixels: left, top, width, height.
    pub(super) fn rectangle(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        if ![x, y, width, height].iter().all(|value| value.is_finite()) {
            return;
        }
        let (width, height) = (width.max(0.0), height.max(0.0));
        self.body += &format!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\"/>"
        );
    }

    /// A dot in pixels.
    pub(super) fn dot(&mut self, class: &str, [x, y]: [f64; 2], radius: f64) {
        if x.is_finite() && y.is_finite() {
            self.body +=
                &format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>");
        }
    }

    /// Text at a place in pixels.
    pub(super) fn text(&mut self, class: &str, [x, y]: [f64; 2], anchor: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        self.body += &format!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escape(text)
        );
    }

    /// A dashed line across the frame with its name at the top; none if it lies outside.
    pub(super) fn vertical(&mut self, class: &str, at: f64, name: &str) {
        let [left, right, top, bottom] = self.frame();
        let x = self.x.at(at);
        if x >= left - 0.5 && x <= right + 0.5 {
            self.segment(class, [x, top - 4.0, x, bottom]);
            let half = 3.2 * name.chars().count() as f64;
            let text_x = x.clamp(left.min(half), (self.width - half).max(half));
            self.text("label", [text_x, top - 10.0], "middle", name);
        }
    }

    /// Names beside the right ends of lines, moved apart where they would overlap.
    pub(super) fn end_labels(&mut self, labels: &[(f64, &str, String)]) {
        let [_, right, top, bottom] = self.frame();
        let mut placed: Vec<(f64, &str, &str)> = labels
            .iter()
            .filter(|(value, ..)| value.is_finite())
            .map(|(value, class, text)| (self.y.at(*value), *class, text.as_str()))
            .collect();
        placed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let positions: Vec<f64> = placed.iter().map(|label| label.0).collect();
        for (y, (_, class, text)) in
            apart(&positions, 14.0, (top, bottom)).into_iter().zip(placed.clone())
        {
            self.text(class, [right + 6.0, y + 4.0], "start", &shortened(text, 18));
        }
    }

    pub(super) fn finish(self, title: impl Into<String>) -> Drawing {
        let Self { width, height, body, .. } = self;
        Drawing { width, height, title: title.into(), body }
    }
}

/// Sorted positions, moved as little as a simple sweep can so that neighbours keep a distance.
fn apart(positions: &[f64], distance: f64, (low, high): (f64, f64)) -> Vec<f64> {
    let mut moved = positions.to_vec();
    for _ in 0..50 {
        for index in 1..moved.len() {
            let overlap = distance - (moved[index] - moved[index - 1]);
            if overlap > 0.0 {
                moved[index - 1] -= overlap / 2.0;
                moved[index] += overlap / 2.0;
            }
        }
        if let Some(first) = moved.first_mut() {
            *first = first.max(low);
        }
        if let Some(last) = moved.last_mut() {
            *last = last.min(high);
        }
    }
    // Too many labels for the space go on below it, in order.
    for index in 1..moved.len() {
        moved[index] = moved[index].max(moved[index - 1] + distance - 0.5);
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let ticks = |low, high| Scale::new((low, high), 0.0, 100.0).ticks(5);
        assert_eq!(ticks(0.0, 10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(-430.0, -180.0), [-400.0, -350.0, -300.0, -250.0, -200.0]);
        assert_eq!(Scale::new((-9.0, 9.0), 0.0, 100.0).ticks(3), [-5.0, 0.0, 5.0]);
        for (low, high) in [(1e-9, 3e-9), (-1e12, 1e12), (0.1, 0.1), (1e8, 1e8 + 1e-9)] {
            assert!(ticks(low, high).len() <= 21);
        }
    }

    #[test]
    fn a_range_without_width_still_maps_to_numbers() {
        for range in [(3.0, 3.0), (f64::INFINITY, f64::NEG_INFINITY), (0.0, f64::NAN)] {
            assert!(Scale::new(range, 0.0, 10.0).at(3.0).is_finite());
        }
    }

    #[test]
    fn labels_keep_their_distance_and_their_order() {
        let moved = apart(&[10.0, 11.0, 12.0, 80.0], 14.0, (0.0, 100.0));
        assert!(moved.windows(2).all(|pair| pair[1] - pair[0] > 13.0), "{moved:?}");
        assert!((moved[3] - 80.0).abs() < 1.0, "what has space stays: {moved:?}");
    }

    #[test]
    fn what_is_not_a_number_is_not_drawn() {
        let mut plot = Plot::new([10.0, 10.0], [0.0; 4], (0.0, 1.0), (0.0, 1.0));
        plot.line("x", [(0.0, f64::NAN), (0.5, f64::INFINITY)]);
        plot.segment("x", [f64::NAN, 0.0, 1.0, 1.0]);
        plot.rectangle("x", [0.0, 0.0, f64::INFINITY, 1.0]);
        plot.dot("x", [f64::NAN, 0.0], 1.0);
        assert_eq!(plot.finish("").body, "");
    }
}
