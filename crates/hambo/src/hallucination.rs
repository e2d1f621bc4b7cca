//! Transition models made of a learned one: what an adversary may do with it, and what nobody does.
//!
//! | variant | next state |
//! |---|---|
//! | CA | N(μ + β τ η σ_e, σ_a²); the adversary chooses η in [-1, 1]^d_s (`eq:hallucinated_model`) |
//! | DA1 | member k's Gaussian; the adversary chooses k in every step (`alg:hambo_da-1`) |
//! | DAinf | member k's Gaussian for the whole episode (`alg:hambo_dainf`) |
//! | DS | N(μ, σ_e² + σ_a²) |
//! | TS1 | a random member's Gaussian in every step |
//! | TSinf | a random member's Gaussian for the whole episode |
//!
//! Where outcomes were counted (`Counted`), members draw them from their counts, and CA and DS cannot play.
//!
//! The first three are HAMBO's; the last three are neutral and bound nothing. Where members decide,
//! each evaluates only the rows that are its own.
//!
//! A learned reward is one more output. Under CA the worst value inside its confidence interval is
//! known without an adversary, `r - β τ σ_e`; elsewhere it is the mean of whoever predicts. Its
//! Gaussian noise has mean zero and is left out, because it would only blur the return; errors that are
//! borrowed from the logs have means, and are not.

use std::fmt;

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rand::RngExt;
use rand_distr::StandardNormal;

use crate::dynamics::{Counted, Dynamics, MemberPrediction, check_batch};
use crate::error::{Error, Result};
use crate::rng::Stream;
use crate::rollout::{Moment, Outcome, TransitionModel};

/// Chooses where in the confidence box the next state lies.
pub trait ShiftAdversary: Sync {
    /// η in [-1, 1], a column for each of the next state that is predicted; more are ignored.
    fn shift(&self, at: &Moment<'_>, rng: &mut Stream) -> Result<Array2<f32>>;
}

/// No shift at all: CA's neutral counterpart.
pub(crate) struct Still;

impl ShiftAdversary for Still {
    fn shift(&self, at: &Moment<'_>, _rng: &mut Stream) -> Result<Array2<f32>> {
        Ok(Array2::zeros(at.states.raw_dim()))
    }
}

/// Chooses which member of the ensemble is right.
pub trait MemberAdversary: Sync {
    /// One member per row.
    fn pick(&self, at: &Moment<'_>, rng: &mut Stream) -> Result<Vec<usize>>;
}

/// Lends the errors that a model made on logged transitions.
pub trait Errors: Sync {
    /// One error for every row of `at` whose outcome is expected to be `expected`, `[rows, outputs]`.
    /// `draws` are uniform in [0, 1), one for every episode.
    fn lend(&self, at: &Moment<'_>, expected: ArrayView2<'_, f32>, draws: &[f64]) -> Array2<f32>;
}

/// What is added to what somebody predicts.
#[derive(Clone, Copy)]
pub enum Noise<'a> {
    /// Nothing.
    None,
    /// Their own Gaussian noise; a learned reward gets none.
    Gaussian,
    /// Errors on logged transitions, times a factor; a learned reward has its own.
    Borrowed {
        /// Whose they are.
        errors: &'a dyn Errors,
        /// The factor.
        scale: f32,
    },
}

impl fmt::Debug for Noise<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Gaussian => f.write_str("Gaussian"),
            Self::Borrowed { scale, .. } => write!(f, "{scale} of the errors on the logs"),
        }
    }
}

/// Who decides about the next state.
#[derive(Clone, Copy)]
pub enum Choice<'a> {
    /// CA.
    Shift(&'a dyn ShiftAdversary),
    /// DA1.
    MemberPerStep(&'a dyn MemberAdversary),
    /// DAinf, for one of the members.
    Member(usize),
    /// DS.
    Distribution,
    /// TS1.
    RandomMemberPerStep,
    /// TSinf.
    RandomMember,
}

impl fmt::Debug for Choice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shift(_) => f.write_str("CA"),
            Self::MemberPerStep(_) => f.write_str("DA1"),
            Self::Member(member) => write!(f, "DAinf({member})"),
            Self::Distribution => f.write_str("DS"),
            Self::RandomMemberPerStep => f.write_str("TS1"),
            Self::RandomMember => f.write_str("TSinf"),
        }
    }
}

/// A learned model in somebody's hands.
pub struct Hallucination<'a> {
    dynamics: &'a dyn Dynamics,
    choice: Choice<'a>,
    /// β τ_j, the half-width of the confidence box in epistemic stds, per output. Used by CA.
    radius: Array1<f32>,
    noise: Noise<'a>,
    /// Whether all members are asked how certain they are, also where one decides.
    asks_all: bool,
    /// The members that TSinf's episodes are committed to.
    committed: Vec<usize>,
}

impl fmt::Debug for Hallucination<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hallucination")
            .field("choice", &self.choice)
            .field("radius", &self.radius)
            .field("noise", &self.noise)
            .finish_non_exhaustive()
    }
}

impl<'a> Hallucination<'a> {
    /// `radius` is β τ_j for every output of the model.
    pub fn new(
        dynamics: &'a dyn Dynamics,
        choice: Choice<'a>,
        radius: Array1<f32>,
        noise: Noise<'a>,
    ) -> Result<Self> {
        if radius.len() != dynamics.outputs() {
            let (expected, found) = (dynamics.outputs(), radius.len());
            return Err(Error::Dimension { part: "radius of the confidence box", expected, found });
        }
        let needs_members = !matches!(choice, Choice::Shift(_) | Choice::Distribution);
        let members = dynamics.members();
        let missing = matches!(choice, Choice::Member(member) if member >= members);
        if dynamics.counted().is_some() && !needs_members {
            return Err(Error::Counted { variant: format!("{choice:?}") });
        }
        if needs_members && (members == 0 || missing) {
            return Err(Error::NoMembers { variant: format!("{choice:?}"), members });
        }
        Ok(Self { dynamics, choice, radius, noise, asks_all: false, committed: Vec::new() })
    }

    /// The same, with the epistemic std in every outcome, also where one member decides.
    pub(crate) fn asking_all(self) -> Self {
        Self { asks_all: true, ..self }
    }

    /// Who decides each row, where members do.
    fn picked(&mut self, at: &Moment<'_>, rng: &mut Stream) -> Result<Option<Vec<usize>>> {
        let k = self.dynamics.members();
        let of_rows = |of: &[usize]| at.episodes.iter().map(|&episode| of[episode]).collect();
        Ok(match self.choice {
            Choice::Shift(_) | Choice::Distribution => None,
            Choice::Member(member) => Some(vec![member; at.episodes.len()]),
            Choice::MemberPerStep(adversary) => Some(adversary.pick(at, rng)?),
            Choice::RandomMemberPerStep => {
                let drawn: Vec<usize> = (0..at.total).map(|_| rng.random_range(0..k)).collect();
                Some(of_rows(&drawn))
            }
            Choice::RandomMember => {
                if at.time == 0 {
                    self.committed = (0..at.total).map(|_| rng.random_range(0..k)).collect();
                }
                Some(of_rows(&self.committed))
            }
        })
    }

    /// Mean and std of the outputs of each row, and what the adversary chose.
    fn decide(
        &self,
        at: &Moment<'_>,
        picked: Option<&[usize]>,
        rng: &mut Stream,
    ) -> Result<Decision> {
        let d_s = self.dynamics.next_dim();
        match (self.choice, picked) {
            (Choice::Shift(adversary), _) => {
                let prediction = self.dynamics.predict(at.states, at.actions)?;
                let eta = adversary.shift(at, rng)?.slice_move(s![.., ..d_s]);
                let mut mean = prediction.mean;
                let box_size = &prediction.epistemic_std * &self.radius;
                let mut states = mean.slice_mut(s![.., ..d_s]);
                states += &(&eta * &box_size.slice(s![.., ..d_s]));
                let mut reward = mean.slice_mut(s![.., d_s..]);
                reward -= &box_size.slice(s![.., d_s..]);
                Ok(Decision {
                    mean,
                    std: prediction.aleatoric_std,
                    choices: Some(eta),
                    epistemic_std: Some(prediction.epistemic_std),
                })
            }
            (Choice::Member(member), _) => {
                let prediction = self.dynamics.predict_member(member, at.states, at.actions)?;
                Ok(Decision { epistemic_std: self.spread(at)?, ..prediction.into() })
            }
            (_, Some(picked)) => {
                let choices = self.choices(picked);
                Ok(Decision { choices, ..self.decide_by_members(at, picked)? })
            }
            (_, None) => {
                let prediction = self.dynamics.predict(at.states, at.actions)?;
                Ok(Decision {
                    std: prediction.total_std(),
                    mean: prediction.mean,
                    choices: None,
                    epistemic_std: Some(prediction.epistemic_std),
                })
            }
        }
    }

    /// What DA1's adversary chose; nothing of what chance did.
    fn choices(&self, picked: &[usize]) -> Option<Array2<f32>> {
        let column = || Array1::from_iter(picked.iter().map(|&m| m as f32)).insert_axis(Axis(1));
        matches!(self.choice, Choice::MemberPerStep(_)).then(column)
    }

    /// How far members disagree, if all of them are asked.
    fn spread(&self, at: &Moment<'_>) -> Result<Option<Array2<f32>>> {
        if !self.asks_all {
            return Ok(None);
        }
        Ok(Some(self.dynamics.predict(at.states, at.actions)?.epistemic_std))
    }

    /// Member `picked[i]` draws what follows row i from its counts.
    fn step_by_counts(
        &self,
        counted: &dyn Counted,
        picked: &[usize],
        at: &Moment<'_>,
        noise: &mut Stream,
    ) -> Result<Outcome> {
        check_batch(self.dynamics, at.states, at.actions)?;
        let all: Vec<f64> = (0..at.total).map(|_| noise.random()).collect();
        let draws: Vec<f64> = at.episodes.iter().map(|&episode| all[episode]).collect();
        let outcomes = counted.draw(picked, at.states, at.actions, &draws);
        let d_s = self.dynamics.next_dim();
        Ok(Outcome {
            next_states: outcomes.slice(s![.., ..d_s]).to_owned(),
            rewards: self.dynamics.predicts_reward().then(|| outcomes.column(d_s).to_owned()),
            choices: self.choices(picked),
            epistemic_std: self.spread(at)?,
        })
    }

    /// Member `picked[i]` predicts row i, and no other does.
    fn decide_by_members(&self, at: &Moment<'_>, picked: &[usize]) -> Result<Decision> {
        let shape = (picked.len(), self.dynamics.outputs());
        let (mut mean, mut std) = (Array2::zeros(shape), Array2::zeros(shape));
        for member in 0..self.dynamics.members() {
            let rows: Vec<usize> = (0..picked.len()).filter(|&row| picked[row] == member).collect();
            if rows.is_empty() {
                continue;
            }
            let of = |all: ArrayView2<'_, f32>| all.select(Axis(0), &rows);
            let (states, actions) = (of(at.states), of(at.actions));
            let prediction = self.dynamics.predict_member(member, states.view(), actions.view())?;
            for (from, &to) in rows.iter().enumerate() {
                mean.row_mut(to).assign(&prediction.mean.row(from));
                std.row_mut(to).assign(&prediction.std.row(from));
            }
        }
        Ok(Decision { mean, std, choices: None, epistemic_std: None })
    }
}

/// The Gaussian that a step is drawn from.
struct Decision {
    mean: Array2<f32>,
    std: Array2<f32>,
    choices: Option<Array2<f32>>,
    epistemic_std: Option<Array2<f32>>,
}

impl From<MemberPrediction> for Decision {
    fn from(prediction: MemberPrediction) -> Self {
        Self { mean: prediction.mean, std: prediction.std, choices: None, epistemic_std: None }
    }
}

impl TransitionModel for Hallucination<'_> {
    fn state_dim(&self) -> usize {
        self.dynamics.state_dim()
    }

    fn action_dim(&self) -> usize {
        self.dynamics.action_dim()
    }

    fn step(
        &mut self,
        at: &Moment<'_>,
        noise: &mut Stream,
        choices: &mut Stream,
    ) -> Result<Outcome> {
        let d_s = self.dynamics.next_dim();
        let picked = self.picked(at, choices)?;
        if let (Some(counted), Some(picked)) = (self.dynamics.counted(), &picked) {
            return self.step_by_counts(counted, picked, at, noise);
        }
        // Drawn for every episode: two adversaries then face the same noise.
        let (mut normal, mut uniform) = (None, None);
        match self.noise {
            Noise::None => {}
            Noise::Gaussian => {
                let drawn = || noise.sample::<f32, _>(StandardNormal);
                normal = Some(Array2::from_shape_simple_fn((at.total, d_s), drawn));
            }
            Noise::Borrowed { .. } => {
                uniform = Some((0..at.total).map(|_| noise.random()).collect::<Vec<f64>>());
            }
        }
        let decision = self.decide(at, picked.as_deref(), choices)?;
        let mut outcomes = decision.mean.clone();
        if let Some(normal) = normal {
            let normal = normal.select(Axis(0), at.episodes);
            let mut states = outcomes.slice_mut(s![.., ..d_s]);
            states += &(normal * decision.std.slice(s![.., ..d_s]));
        }
        if let (Noise::Borrowed { errors, scale }, Some(draws)) = (self.noise, uniform) {
            outcomes += &(errors.lend(at, decision.mean.view(), &draws) * scale);
        }
        let next_states = outcomes.slice(s![.., ..d_s]).to_owned();
        let rewards = self.dynamics.predicts_reward().then(|| outcomes.column(d_s).to_owned());
        let Decision { choices, epistemic_std, .. } = decision;
        Ok(Outcome { next_states, rewards, choices, epistemic_std })
    }
}
