//! What a column usually holds.

/// Columns with fewer values are left alone.
const LEAST: usize = 200;

/// Values are far from the usual ones if they are farther than so many times their width.
const FAR: f32 = 10.0;

/// Numbers that loggers write for what is missing, with either sign, need not be as far.
const KNOWN_MARKS: [f32; 4] = [999.0, 9_999.0, 99_999.0, 999_999.0];
const FAR_OF_MARK: f32 = 1.0;

/// What stands for a missing value is at most this share of all.
const MOST_MARKED: f64 = 0.05;

/// What a column usually holds: all but the lowest and the highest hundredth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usual {
    /// The smallest.
    pub low: f32,
    /// The largest.
    pub high: f32,
}

impl Usual {
    /// `None` if nearly all values are the same, or if there are few. What is not finite does not count, and neither
    /// does a number like no other that comes again and again: it marks what is missing.
    pub fn of(values: impl Iterator<Item = f32>) -> Option<Self> {
        let values: Vec<f32> = values.filter(|value| value.is_finite()).collect();
        let lowest = values.iter().copied().min_by(f32::total_cmp)?;
        let highest = values.iter().copied().max_by(f32::total_cmp)?;
        for end in [lowest, highest] {
            let others: Vec<f32> = values.iter().copied().filter(|&value| value != end).collect();
            let times = values.len() - others.len();
            if times > 1
                && times as f64 <= MOST_MARKED * values.len() as f64
                && let Some(usual) = Self::of_all(others)
                && usual.is_far(end)
            {
                return Some(usual);
            }
        }
        Self::of_all(values)
    }

    fn of_all(mut values: Vec<f32>) -> Option<Self> {
        if values.len() < LEAST {
            return None;
        }
        let last = values.len() - 1;
        let mut at = |share: f64| {
            let index = (share * last as f64).round() as usize;
            *values.select_nth_unstable_by(index, f32::total_cmp).1
        };
        let (low, high) = (at(0.01), at(0.99));
        (low < high).then_some(Self { low, high })
    }

    /// How far beyond the usual a value is, in widths; negative within.
    pub fn beyond(&self, value: f32) -> f32 {
        (self.low - value).max(value - self.high) / (self.high - self.low)
    }

    /// Whether a value is like nothing else in the column.
    pub fn is_far(&self, value: f32) -> bool {
        let far = if KNOWN_MARKS.contains(&value.abs()) { FAR_OF_MARK } else { FAR };
        self.beyond(value) > far
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_odd_values_change_nothing() {
        let plain = || (0..1000).map(|index| 20.0 + (index % 10) as f32 / 10.0);
        let usual = Usual::of(plain().chain([850.0, f32::NAN])).unwrap();
        assert_eq!([usual.low, usual.high], [20.0, 20.9]);
        assert!(usual.is_far(850.0) && usual.is_far(-40.0) && !usual.is_far(25.0));
        let marked = plain().chain(std::iter::repeat_n(-999.0, 40));
        assert_eq!(Usual::of(marked), Usual::of(plain()));
        // Radiation: nothing at night, hundreds by day, and a mark that is not far beyond that.
        let light = (0..1000).map(|hour| 500.0 * (hour as f32).sin().max(0.0));
        let usual = Usual::of(light.chain([-999.0, -999.0])).unwrap();
        assert!(usual.low == 0.0 && usual.is_far(-999.0) && !usual.is_far(-998.0), "{usual:?}");
        assert_eq!(Usual::of(plain().take(100)), None);
        assert_eq!(Usual::of((0..1000).map(|index| f32::from(u8::from(index == 5)))), None);
    }
}
