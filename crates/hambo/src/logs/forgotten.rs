//! Does the state leave out something with a memory? Then the last steps tell more than the state does.
//!
//! Before any model is fitted: ridge regression on random features predicts how the state changes, from the state and
//! from more and more earlier steps, on episodes that it has not seen. More inputs make such a regression worse, unless
//! they tell something new.

use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef, Side};
use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate};
use rand::RngExt;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::dataset::{Batch, Dataset, History, Target};
use crate::rng::Seed;

/// Earlier steps that are tried.
const TRIED: [usize; 4] = [1, 2, 4, 8];

/// Transitions that it rests on at most, and at the least; episodes at the least.
const MOST_ROWS: usize = 6_000;
const LEAST_ROWS: usize = 500;
const LEAST_EPISODES: usize = 10;

/// Wider inputs would make the regression slow, and say little.
const MOST_INPUTS: usize = 500;

/// Random features, and the weight of the prior on standardised targets.
const FEATURES: usize = 200;
const RIDGE: f64 = 1e-5;

/// What is left unexplained matters above this share of a column's changes, and nothing is known of a column above the
/// other.
const MATTERS: f64 = 0.01;
const UNKNOWN: f64 = 0.9;

/// So much of the unexplained must be left at most.
const TELLING: f64 = 0.75;

/// Fewer steps that leave so little more are as good.
const AS_GOOD: f64 = 1.1;

/// Something that the state leaves out, and the last steps tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forgotten {
    /// The column of the state that they tell most about.
    pub column: usize,
    /// Earlier steps that it takes: `history` of the model's settings.
    pub steps: usize,
    /// Share of the variance of its changes that state and action leave unexplained.
    pub unexplained: f64,
    /// The same with the earlier steps.
    pub then: f64,
}

impl Forgotten {
    /// Looks for it in data. Columns that no action influences are nobody's to predict.
    pub fn in_data(data: &Dataset) -> Option<Self> {
        let data = sample(data)?;
        let present = unexplained(&data, data.state_dim())?;
        let mut tried = Vec::new();
        for steps in TRIED {
            let history = History::of(&data, steps);
            if history.columns() + data.action_dim() <= MOST_INPUTS {
                let found = unexplained(&history.remember(&data), data.state_dim())?;
                tried.push((steps, found));
            }
        }
        let of_column = |column: usize| {
            let least = tried.iter().map(|(_, found)| found[column]).fold(f64::INFINITY, f64::min);
            let is_enough = |(_, found): &&(usize, Array1<f64>)| found[column] <= AS_GOOD * least;
            let (steps, found) = tried.iter().find(is_enough)?;
            let (unexplained, then) = (present[column], found[column]);
            let is_telling = unexplained > MATTERS && least < UNKNOWN;
            let found = Self { column, steps: *steps, unexplained, then };
            (is_telling && then < TELLING * unexplained).then_some(found)
        };
        let own = (0..data.state_dim()).filter(|column| !data.exogenous().contains(column));
        let by_gain =
            |a: &Self, b: &Self| (b.then / b.unexplained).total_cmp(&(a.then / a.unexplained));
        own.filter_map(of_column).max_by(by_gain)
    }
}

/// Random episodes, as many as are looked at; `None` of data that is too small.
fn sample(data: &Dataset) -> Option<Dataset> {
    let order = crate::rng::some_of(
        data.episodes().len(),
        data.episodes().len(),
        &mut Seed(0).stream("forgotten: episodes"),
    );
    let mut rows = 0;
    let fits = |episode: &usize| {
        let more = data.episodes()[*episode].rows.len();
        let fits = rows + more <= MOST_ROWS;
        rows += if fits { more } else { 0 };
        fits
    };
    let mut kept: Vec<usize> = order.into_iter().filter(fits).collect();
    kept.sort_unstable();
    let is_enough = kept.len() >= LEAST_EPISODES && rows >= LEAST_ROWS;
    let is_kept = |episode: usize| kept.binary_search(&episode).is_ok();
    is_enough.then(|| data.all().only(is_kept).to_dataset())
}

/// Share of the variance of each column's changes that is left by a regression that has not seen them: on every second
/// episode by the others.
fn unexplained(data: &Dataset, columns: usize) -> Option<Array1<f64>> {
    let half = |rest: usize| data.all().only(|episode| episode % 2 == rest);
    let halves = [half(0), half(1)].map(|half| half.slice(0, half.rows()));
    let mut errors = Array1::<f64>::zeros(columns);
    let mut all = Array1::<f64>::zeros(columns);
    for (train, test) in [(&halves[0], &halves[1]), (&halves[1], &halves[0])] {
        let (of_train, of_test) = (changes(train, columns), changes(test, columns));
        let regression = Regression::fit(train.inputs().view(), &of_train)?;
        let left = &of_test - &regression.predict(test.inputs().view());
        errors += &left.mapv(|error| error * error).sum_axis(Axis(0));
        let mean = of_test.mean_axis(Axis(0))?;
        all += &(of_test - mean).mapv(|change| change * change).sum_axis(Axis(0));
    }
    Some(errors / all.mapv(|all| all.max(f64::MIN_POSITIVE)))
}

fn changes(batch: &Batch, columns: usize) -> Array2<f64> {
    batch.targets(Target::Difference, columns, false).mapv(f64::from)
}

/// Ridge regression on the inputs and random functions of them.
struct Regression {
    mean: Array1<f64>,
    std: Array1<f64>,
    directions: Array2<f64>,
    shifts: Array1<f64>,
    /// `[features, outputs]`
    weights: Array2<f64>,
}

impl Regression {
    /// `None` if the inputs are too much alike.
    fn fit(inputs: ArrayView2<'_, f32>, targets: &Array2<f64>) -> Option<Self> {
        let (inputs, width) = (inputs.mapv(f64::from), inputs.ncols());
        let rng = &mut Seed(0).stream("forgotten: features");
        let mut normal = || rng.sample::<f64, _>(StandardNormal);
        let scale = (width as f64).sqrt();
        let mut found = Self {
            mean: inputs.mean_axis(Axis(0))?,
            std: inputs.std_axis(Axis(0), 0.0).mapv(|std| if std > 0.0 { std } else { 1.0 }),
            directions: Array2::from_shape_simple_fn((width, FEATURES), || normal() / scale),
            shifts: Array1::from_shape_simple_fn(FEATURES, &mut normal),
            weights: Array2::zeros((0, 0)),
        };
        let features = found.features(&inputs);
        let mut squares = features.t().dot(&features);
        squares.diag_mut().map_inplace(|value| *value += RIDGE * features.nrows() as f64);
        let sums = features.t().dot(targets);
        let squares: Mat<f64> =
            Mat::from_fn(squares.nrows(), squares.ncols(), |i, j| squares[[i, j]]);
        let sums: Mat<f64> = Mat::from_fn(sums.nrows(), sums.ncols(), |i, j| sums[[i, j]]);
        let weights = squares.llt(Side::Lower).ok()?.solve(&sums);
        let weights: MatRef<'_, f64> = weights.as_ref();
        let shape = (weights.nrows(), weights.ncols());
        found.weights = Array2::from_shape_fn(shape, |(i, j)| weights[(i, j)]);
        Some(found)
    }

    fn features(&self, inputs: &Array2<f64>) -> Array2<f64> {
        let inputs = (inputs - &self.mean) / &self.std;
        let random = (inputs.dot(&self.directions) + &self.shifts).mapv(f64::tanh);
        let ones = Array2::ones((inputs.nrows(), 1));
        concatenate(Axis(1), &[ones.view(), inputs.view(), random.view()]).expect("one row each")
    }

    fn predict(&self, inputs: ArrayView2<'_, f32>) -> Array2<f64> {
        self.features(&inputs.mapv(f64::from)).dot(&self.weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Episode;

    /// Places of a cart, with its speed if that is logged: x' = x + v and v' = 0.8 v + a.
    fn cart(with_speed: bool, episodes: usize) -> Dataset {
        let rng = &mut Seed(1).stream("cart");
        let mut normal = || rng.sample::<f32, _>(StandardNormal);
        let columns = if with_speed { 2 } else { 1 };
        let episode = |_| {
            let (mut states, mut actions, mut nexts) = (Vec::new(), Vec::new(), Vec::new());
            let (mut x, mut v) = (normal(), normal());
            for _ in 0..30 {
                let a = normal();
                let (next_x, next_v) = (x + v + 0.1 * normal(), 0.8 * v + a);
                states.extend(&[x, v][..columns]);
                nexts.extend(&[next_x, next_v][..columns]);
                actions.push(a);
                (x, v) = (next_x, next_v);
            }
            let shaped = |values: Vec<f32>, width| Array2::from_shape_vec((30, width), values);
            Episode {
                states: shaped(states, columns).expect("so many"),
                actions: shaped(actions, 1).expect("so many"),
                rewards: Array1::zeros(30),
                next_states: shaped(nexts, columns).expect("so many"),
                terminated: false,
                truncated: true,
            }
        };
        Dataset::from_episodes((0..episodes).map(episode).collect()).expect("episodes")
    }

    #[test]
    fn a_speed_that_is_not_logged_is_found() {
        let found = Forgotten::in_data(&cart(false, 60)).expect("the speed is missing");
        assert_eq!(found.column, 0);
        // One step tells the speed; the noise of two more is averaged out.
        assert!(found.steps <= 2 && found.unexplained > 0.9 && found.then < 0.1, "{found:?}");
    }

    #[test]
    fn a_state_that_says_all_leaves_nothing_out() {
        assert_eq!(Forgotten::in_data(&cart(true, 60)), None);
    }

    #[test]
    fn little_data_tells_nothing() {
        assert_eq!(Forgotten::in_data(&cart(false, 9)), None);
    }
}
