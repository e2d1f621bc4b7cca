//! What a model says of transitions that it has not seen.

use ndarray::Array2;

use crate::dataset::{Batch, Dataset, Subset};
use crate::dynamics::ensemble::Bag;
use crate::dynamics::{Dynamics, Prediction};
use crate::error::Result;

/// Episodes that a model, or some of its members, were not fitted on.
#[derive(Debug, Clone)]
pub struct Unseen<'a> {
    data: Subset<'a>,
    bag: Option<&'a Bag>,
}

impl<'a> Unseen<'a> {
    /// Episodes that nobody has seen.
    pub fn by_all(data: Subset<'a>) -> Self {
        Self { data, bag: None }
    }

    /// Those of the episodes that at least one member has not seen.
    pub(crate) fn out_of_bag(data: &Subset<'a>, bag: &'a Bag) -> Self {
        let is_unseen = |episode| bag.unseen(episode).contains(&true);
        Self { data: data.only(is_unseen), bag: Some(bag) }
    }

    /// The episodes.
    pub fn data(&self) -> &Subset<'a> {
        &self.data
    }

    /// Who has not seen each of these rows of the dataset, `[rows, members]`; one column if that is the
    /// same for all members.
    pub(crate) fn of_rows(&self, dataset: &Dataset, rows: &[usize]) -> Array2<bool> {
        let unseen = |row: usize| {
            let episode = dataset.episode_of(row);
            match self.bag {
                Some(bag) => bag.unseen(episode),
                None => vec![self.data.episodes().binary_search(&episode).is_ok()],
            }
        };
        let flags: Vec<Vec<bool>> = rows.iter().map(|&row| unseen(row)).collect();
        let columns = flags.first().map_or(1, Vec::len);
        Array2::from_shape_fn((rows.len(), columns), |(row, member)| flags[row][member])
    }

    /// These rows of the dataset, and what those predict of them who have not seen them.
    pub(crate) fn predict(
        &self,
        dynamics: &dyn Dynamics,
        rows: &[usize],
    ) -> Result<(Batch, Prediction)> {
        let dataset = self.data.dataset();
        let batch = dataset.gather(rows);
        let prediction = dynamics.predict(batch.states.view(), batch.actions.view())?;
        let unseen = self.of_rows(dataset, rows);
        Ok((batch, prediction.by_those(unseen.view())))
    }
}
