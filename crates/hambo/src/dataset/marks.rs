//! Episodes told apart by their content, whatever file they are in.

use std::collections::HashMap;

use blake3::Hasher;

use super::Dataset;

/// One mark per episode, the same for the same states, actions and rewards. Where those are few, episodes are alike by
/// chance, so that the second copy in a dataset has a mark of its own, and so on; a part of a dataset keeps its marks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EpisodeMarks {
    /// Increasing.
    marks: Vec<u64>,
}

impl EpisodeMarks {
    /// Of all episodes.
    pub fn of(data: &Dataset) -> Self {
        Self::new(data.marks().to_vec())
    }

    /// Of marks that were kept.
    pub(crate) fn new(mut marks: Vec<u64>) -> Self {
        marks.sort_unstable();
        Self { marks }
    }

    /// All of them, in increasing order.
    pub(crate) fn as_slice(&self) -> &[u64] {
        &self.marks
    }

    /// As text, for a file that is not ours; see [`from_text`](Self::from_text).
    pub fn to_text(&self) -> String {
        self.marks.iter().map(|mark| format!("{mark:016x}")).collect()
    }

    /// What [`to_text`](Self::to_text) wrote; `None` if it did not.
    pub fn from_text(text: &str) -> Option<Self> {
        let is_whole = text.is_ascii() && text.len().is_multiple_of(16);
        let marks = (0..text.len() / 16)
            .map(|index| u64::from_str_radix(&text[16 * index..16 * (index + 1)], 16).ok());
        is_whole.then(|| marks.collect::<Option<Vec<u64>>>())?.map(Self::new)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// How many of them are among `others`.
    pub fn among(&self, others: &Self) -> usize {
        self.marks.iter().filter(|mark| others.holds(**mark)).count()
    }

    fn holds(&self, mark: u64) -> bool {
        self.marks.binary_search(&mark).is_ok()
    }
}

impl Dataset {
    /// A copy without the marked episodes. `None` if nothing would be left.
    pub fn without(&self, marks: &EpisodeMarks) -> Option<Self> {
        let others = self.all().only(|episode| !marks.holds(self.marks()[episode]));
        (!others.episodes().is_empty()).then(|| others.to_dataset())
    }

    /// One per episode.
    pub(super) fn marks(&self) -> &[u64] {
        self.marks.get_or_init(|| {
            let mut copies: HashMap<u64, u64> = HashMap::new();
            let of_copy = |episode: usize| {
                let content = content(self, episode);
                let earlier = copies.entry(content).or_default();
                *earlier += 1;
                copy(content, *earlier - 1)
            };
            (0..self.episodes.len()).map(of_copy).collect()
        })
    }
}

/// The mark of a copy, counted from zero.
fn copy(content: u64, number: u64) -> u64 {
    match number {
        0 => content,
        _ => {
            first_bytes(Hasher::new().update(&content.to_le_bytes()).update(&number.to_le_bytes()))
        }
    }
}

fn content(data: &Dataset, episode: usize) -> u64 {
    let rows = data.episodes()[episode].rows.clone();
    let mut hasher = Hasher::new();
    let mut add = |buffer: &[f32], width: usize| {
        for value in &buffer[rows.start * width..rows.end * width] {
            // A negative zero is a zero.
            hasher.update(&(value + 0.0).to_le_bytes());
        }
    };
    add(&data.states, data.state_dim);
    add(&data.actions, data.action_dim);
    add(&data.rewards, 1);
    first_bytes(&hasher)
}

fn first_bytes(hasher: &Hasher) -> u64 {
    let mut mark = [0; 8];
    mark.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(mark)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::dataset::Episode;

    fn episode(start: f32) -> Episode {
        Episode {
            states: array![[start], [start + 1.0]],
            actions: array![[0.5], [-0.5]],
            rewards: array![1.0, 2.0],
            next_states: array![[start + 1.0], [start + 2.0]],
            terminated: false,
            truncated: true,
        }
    }

    fn data(starts: &[f32]) -> Dataset {
        Dataset::from_episodes(starts.iter().map(|&start| episode(start)).collect()).unwrap()
    }

    #[test]
    fn episodes_are_the_same_wherever_they_are() {
        let (all, some) = (data(&[0.0, 1.0, 2.0, 3.0]), data(&[3.0, -0.0, 7.0]));
        let (all_marks, some_marks) = (EpisodeMarks::of(&all), EpisodeMarks::of(&some));
        assert_eq!((all_marks.len(), all_marks.among(&some_marks)), (4, 2));
        let left = all.without(&some_marks).unwrap();
        assert_eq!(left.states(), data(&[1.0, 2.0]).states());
        assert_eq!(left.identity(), data(&[1.0, 2.0]).identity());
        assert!(all.without(&all_marks).is_none());
    }

    #[test]
    fn episodes_that_are_alike_by_chance_are_left_out_one_by_one() {
        let all = data(&[0.0, 1.0, 0.0, 0.0]);
        let part = all.all().only(|episode| episode == 0 || episode == 2).to_dataset();
        let rest = all.without(&EpisodeMarks::of(&part)).unwrap();
        assert_eq!(rest.states(), data(&[1.0, 0.0]).states());
        assert_eq!(EpisodeMarks::of(&rest).among(&EpisodeMarks::of(&part)), 0);
        // Nobody knows where this one is from.
        assert_eq!(EpisodeMarks::of(&data(&[0.0])).among(&EpisodeMarks::of(&part)), 1);
    }

    #[test]
    fn a_copy_keeps_names_and_sources_of_its_episodes() {
        let names = ["a", "b", "a", "c"].map(String::from).to_vec();
        let all = data(&[0.0, 1.0, 2.0, 3.0]).with_sources(names).unwrap();
        let left = all.without(&EpisodeMarks::of(&data(&[1.0]))).unwrap();
        let sources = left.sources().unwrap();
        assert_eq!(sources.names(), ["a", "c"]);
        assert_eq!((0..3).map(|e| sources.of(e)).collect::<Vec<_>>(), [0, 0, 1]);
    }
}
