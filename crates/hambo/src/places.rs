//! Where the worlds disagree: places to collect data.

use crate::dataset::ColumnNames;
use crate::evidence::Place;
use crate::logs::LoggedSample;

/// Parts of a column's visited values, each with as many steps as the others.
const PARTS: usize = 5;

/// Places that are told, at most.
const MOST_PLACES: usize = 5;

/// How much more than its share of the steps a place must have of the disagreement.
const TELLING: f64 = 1.5;

/// Steps, and how much the worlds disagree about them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doubts {
    /// States and actions, side by side.
    rows: Vec<Vec<f32>>,
    scores: Vec<f64>,
}

impl Doubts {
    pub(crate) fn add(&mut self, row: Vec<f32>, score: f64) {
        self.rows.push(row);
        self.scores.push(score);
    }

    /// The part of each column with the most disagreement, if that is telling, the most telling first.
    pub(crate) fn places(&self, logged: &LoggedSample, names: &ColumnNames) -> Vec<Place> {
        let columns = names.states.iter().chain(&names.actions).enumerate();
        let mut found: Vec<Place> =
            columns.filter_map(|(index, name)| self.place(index, name, logged)).collect();
        found.sort_by(|a, b| (b.disagreement / b.steps).total_cmp(&(a.disagreement / a.steps)));
        found.truncate(MOST_PLACES);
        found
    }

    fn place(&self, column: usize, name: &str, logged: &LoggedSample) -> Option<Place> {
        let total: f64 = self.scores.iter().sum();
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by(|&a, &b| self.rows[a][column].total_cmp(&self.rows[b][column]));
        if order.len() < PARTS || total.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
            return None;
        }
        let parts = order.chunks(order.len().div_ceil(PARTS));
        let score = |part: &[usize]| part.iter().map(|&row| self.scores[row]).sum::<f64>();
        let most = parts.max_by(|a, b| score(a).total_cmp(&score(b)))?;
        let value = |row: Option<&usize>| row.map(|&row| self.rows[row][column]);
        let (low, high) = (value(most.first())?, value(most.last())?);
        let within = |value: f32| (low..=high).contains(&value);
        // Of values that are all alike every part is the same.
        let mine = (0..self.rows.len()).filter(|&row| within(self.rows[row][column]));
        let mine: Vec<usize> = mine.collect();
        let (steps, disagreement) =
            (mine.len() as f64 / self.rows.len() as f64, score(&mine) / total);
        let place = Place {
            column: name.to_owned(),
            low,
            high,
            steps,
            disagreement,
            logged: logged.share(column, within),
        };
        (disagreement > TELLING * steps).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_with_the_most_disagreement_is_found() {
        let mut doubts = Doubts::default();
        for index in 0..100 {
            let (x, y) = (index as f32, (index % 10) as f32);
            doubts.add(vec![x, y], if x >= 80.0 { 9.0 } else { 1.0 });
        }
        let logged = LoggedSample::none(1, 1);
        let names = ColumnNames { states: vec!["x".into()], actions: vec!["y".into()] };
        let found = doubts.places(&logged, &names);
        assert_eq!(found.len(), 1, "{found:?}");
        let place = &found[0];
        assert_eq!((place.column.as_str(), place.low, place.high), ("x", 80.0, 99.0));
        // 20 of 100 steps; 180 of 260 of the disagreement.
        assert!(
            (place.steps - 0.2).abs() < 1e-9 && (place.disagreement - 180.0 / 260.0).abs() < 1e-9
        );
    }

    #[test]
    fn certain_or_constant_steps_have_no_places() {
        let names = ColumnNames { states: vec!["x".into()], actions: Vec::new() };
        let logged = LoggedSample::none(1, 0);
        let (mut certain, mut constant) = (Doubts::default(), Doubts::default());
        for index in 0..50 {
            certain.add(vec![index as f32], 0.0);
            constant.add(vec![1.0], f64::from(index));
        }
        assert!(certain.places(&logged, &names).is_empty());
        assert!(constant.places(&logged, &names).is_empty());
        assert!(Doubts::default().places(&logged, &names).is_empty());
    }
}
