//! The policies that made the logs, learned from them.
//!
//! They are not evaluated. They say how the logged policy would have corrected the course, so that a
//! logged episode can be played again in a world that drifts away from it.

use ndarray::{Array2, ArrayView2, Axis};

use crate::dataset::Standardizer;
use crate::logs::LoggedEpisodes;
use crate::nn::{Adam, Device, Layout, Mlps};
use crate::rng::Seed;
use rand::RngExt;

/// With more sources than this, one network learns what all of them did.
const MOST_NETWORKS: usize = 8;

const HIDDEN: [usize; 2] = [64, 64];
const STEPS: usize = 1_000;
const BATCH: usize = 256;
const RATE: f64 = 3e-3;

pub(super) struct Behaviour {
    /// One per source, or one for all.
    networks: Mlps,
    /// The network that learned from each row.
    of_rows: Vec<usize>,
    states: Standardizer,
    actions: Standardizer,
}

impl Behaviour {
    pub(super) fn learn(episodes: &LoggedEpisodes, seed: Seed) -> Self {
        let logged = &episodes.transitions;
        let standard = |columns: &Array2<f32>| {
            Standardizer::fit(columns.ncols(), std::iter::once(columns.clone()))
        };
        let (states, actions) = (standard(&logged.states), standard(&logged.actions));
        let (inputs, targets) =
            (states.apply(logged.states.view()), actions.apply(logged.actions.view()));
        let count = networks(episodes);
        let of_rows: Vec<usize> = (0..episodes.len())
            .flat_map(|episode| vec![network_of(episodes, episode); episodes.rows(episode).len()])
            .collect();
        let rng = &mut seed.stream("behaviour: networks");
        let layout = Layout::new(inputs.ncols(), &HIDDEN, targets.ncols());
        let mut networks = Mlps::random(layout, count, Device::Cpu, rng);
        let (mut adam, rng) = (Adam::default(), &mut seed.stream("behaviour: mini-batches"));
        for step in 0..STEPS {
            let rows: Vec<usize> = (0..BATCH).map(|_| rng.random_range(0..of_rows.len())).collect();
            let mine = Array2::from_shape_fn((count, BATCH), |(network, index)| {
                f32::from(of_rows[rows[index]] == network)
            });
            let of = |all: &Array2<f32>| Device::Cpu.tensor(all.select(Axis(0), &rows).view());
            let (targets, mine) = (of(&targets), Device::Cpu.tensor(mine.view()));
            let gradient = networks.gradient(of(&inputs), |outputs| {
                let errors = outputs - targets.autodiff().unsqueeze_dim::<3>(0);
                (errors.square() * mine.autodiff().unsqueeze_dim::<3>(2)).sum() / BATCH as f64
            });
            let rate = RATE * (1.0 - step as f64 / STEPS as f64);
            networks.update_params(|params| adam.step(params, gradient, rate));
        }
        Self { networks, of_rows, states, actions }
    }

    /// What is done on average in each state `[states, d_s]`, by the policy in the given logged rows.
    pub(super) fn act(&self, states: ArrayView2<'_, f32>, rows: &[usize]) -> Array2<f32> {
        let found = self.networks.predict(self.states.apply(states).view());
        let columns = found.len_of(Axis(2));
        let of_own = Array2::from_shape_fn((states.nrows(), columns), |(row, column)| {
            found[[self.of_rows[rows[row]], row, column]]
        });
        of_own * self.actions.std() + self.actions.mean()
    }
}

fn networks(episodes: &LoggedEpisodes) -> usize {
    let sources = episodes.sources.as_ref().map_or(1, |sources| sources.names().len());
    if sources > MOST_NETWORKS { 1 } else { sources }
}

/// The network that learns from an episode.
fn network_of(episodes: &LoggedEpisodes, episode: usize) -> usize {
    match &episodes.sources {
        Some(sources) if networks(episodes) > 1 => sources.of(episode),
        _ => 0,
    }
}
