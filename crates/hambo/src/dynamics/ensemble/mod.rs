//! A Bayesian neural network as K particles: the model of the paper's appendix A.2.
//!
//! Member k predicts a Gaussian over the standardised state difference (and reward, if learned):
//!
//!   s' - s ~ N(h_k(s, a), ν_k(s, a)²)      ν = softplus(raw) + 1e-3
//!
//! Departures, all of them options: the paper predicts the next state itself ([`Target`]), fits all
//! members on the same rows, and adds no frozen random function to them; see NOTATION.md.

mod bag;
mod best;
mod cost;
mod half;
mod likelihood;
mod saved;

use ndarray::{ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

pub use bag::Bag;
pub use cost::FitCost;
pub use saved::SavedEnsemble;

use self::best::Best;
use self::half::{Half, LOOKS, Training};
use self::likelihood::{Likelihood, heads, log_likelihoods};
use super::svgd::{self, SteinKernel};
use super::{Dynamics, MemberPrediction, Members, Prediction, check_batch};
use crate::dataset::{self, Batch, Dataset, Standardizer, Subset, Target};
use crate::error::{Error, Result};
use crate::exchange::Keeper;
use crate::nn::{Activation, Device, Layout, Mlps, Tensor, array};
use crate::progress::{Event, Observer, report};
use crate::rng::Seed;
use crate::warning::WeakerSetting;

/// Hidden layers of the frozen random networks.
const RANDOM_HIDDEN: [usize; 2] = [32, 32];

/// How an ensemble is fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct EnsembleSettings {
    /// Networks, K; at least one.
    pub members: usize,
    /// Every member sees its own draw of the episodes, or of the sources if there are enough of
    /// them, with replacement. All rows are then fitted on, and each is judged by the members that
    /// did not see it.
    pub bootstrap: bool,
    /// Whether states are names, such as fields of a board, and not numbers. Outcomes are then counted for
    /// every pair of a state and an action instead of predicted. Needs `bootstrap`.
    pub tables: bool,
    /// Size of the frozen random function that each member is added to, in standard deviations of
    /// the target; zero for none. Members agree where the data makes them, and nowhere else.
    pub random_functions: f64,
    /// Widths of the hidden layers; none makes the model linear. With fewer units in all than by default nothing is
    /// certified, unless that is accepted by name.
    pub hidden: Vec<usize>,
    /// What hidden layers do with their sums.
    pub activation: Activation,
    /// How errors are weighed, from 0, by maximum likelihood, to 1, by least squares. The likelihood alone
    /// is content to call a rare kind of transition noise; see NOTATION.md.
    pub least_squares: f64,
    /// Weight of the standard normal prior against the mean log-likelihood; not negative. By default it falls
    /// as data grows, see [`prior`](Self::prior).
    pub prior_temperature: Option<f64>,
    /// Keeps the members apart: `k(θ, θ') = exp(-‖θ - θ'‖² / (2 ℓ))`.
    pub kernel: SteinKernel,
    /// What the networks learn to predict of the next state.
    pub target: Target,
    /// Adam's step at the start; it falls to zero along a cosine.
    pub learning_rate: f64,
    /// Rows per step.
    pub batch_size: usize,
    /// Most gradient steps; by default they grow with the data, see [`steps`](Self::steps). With fewer than that
    /// nothing is certified, unless it is accepted by name.
    pub max_steps: Option<usize>,
    /// Steps between two looks at the held-out likelihood.
    pub evaluate_every: usize,
    /// Looks without improvement before fitting stops.
    pub patience: usize,
    /// Share of the rows that fitting is stopped by; in (0, 1). With `bootstrap`, random ones, each for the
    /// members that have not seen it; otherwise whole episodes that are held out.
    pub held_out: f64,
    /// Learn the reward as one more output, for tasks that give none.
    pub learn_reward: bool,
    /// Where the networks are trained and evaluated, and those of adversaries and learned policies.
    pub device: Device,
}

impl Default for EnsembleSettings {
    fn default() -> Self {
        Self {
            members: 10,
            bootstrap: true,
            tables: false,
            random_functions: 0.3,
            hidden: vec![256; 4],
            activation: Activation::Silu,
            least_squares: 0.5,
            prior_temperature: None,
            kernel: SteinKernel::default(),
            target: Target::default(),
            learning_rate: 4e-3,
            batch_size: 256,
            max_steps: None,
            evaluate_every: 200,
            patience: 20,
            held_out: 0.1,
            learn_reward: true,
            device: Device::Cpu,
        }
    }
}

impl EnsembleSettings {
    /// Most gradient steps on so many rows: 2,500 for 10,000 of them and otherwise in proportion to the
    /// square root, but not below 1,000 nor above 25,000.
    pub fn steps(&self, rows: usize) -> usize {
        self.max_steps.unwrap_or_else(|| Self::usual_steps(rows))
    }

    fn usual_steps(rows: usize) -> usize {
        let grown = (25.0 * (rows as f64).sqrt()) as usize;
        grown.clamp(1_000, 25_000)
    }

    /// What of these settings makes networks on so many rows know less than the default's. Such networks are smooth
    /// where the truth is not, and agree on it: neither their disagreement nor a replay of the logs tells where a
    /// policy falls.
    fn weaker(&self, rows: usize) -> Vec<WeakerSetting> {
        let (steps, usual_steps) = (self.steps(rows), Self::usual_steps(rows));
        let (hidden, usual_hidden) = (&self.hidden, &Self::default().hidden);
        let units = |hidden: &[usize]| hidden.iter().sum::<usize>();
        let mut weaker = Vec::new();
        if steps < usual_steps {
            weaker.push(WeakerSetting::new("max_steps", steps, usual_steps));
        }
        if units(hidden) < units(usual_hidden) {
            let [hidden, usual] = [hidden, usual_hidden].map(|hidden| format!("{hidden:?}"));
            weaker.push(WeakerSetting::new("hidden", hidden, usual));
        }
        weaker
    }

    /// Weight of the prior against the mean log-likelihood of so many rows: ten rows' worth, as a posterior has
    /// it, but at most as for 10,000 rows.
    pub fn prior(&self, rows: usize) -> f64 {
        self.prior_temperature.unwrap_or(10.0 / rows.max(10_000) as f64)
    }

    /// Whether the settings are usable; the error names the first that is not.
    pub fn validate(&self) -> Result<()> {
        let positive = [
            ("members", self.members),
            ("batch_size", self.batch_size),
            ("max_steps", self.max_steps.unwrap_or(1)),
            ("evaluate_every", self.evaluate_every),
            ("patience", self.patience),
            ("hidden", self.hidden.iter().copied().min().unwrap_or(1)),
        ];
        for (name, value) in positive {
            if value == 0 {
                let value = value.to_string();
                return Err(Error::Setting { name, value, expected: "at least one" });
            }
        }
        let finite = |name, value: f64, expected, good: bool| {
            if good && value.is_finite() {
                return Ok(());
            }
            Err(Error::Setting { name, value: value.to_string(), expected })
        };
        let (rate, prior) = (self.learning_rate, self.prior_temperature.unwrap_or(0.0));
        finite("learning_rate", rate, "greater than zero", rate > 0.0)?;
        finite("prior_temperature", prior, "not negative", prior >= 0.0)?;
        let random = self.random_functions;
        finite("random_functions", random, "not negative", random >= 0.0)?;
        if let SteinKernel::LengthScale(scale) = self.kernel {
            finite("kernel.length_scale", scale, "greater than zero", scale > 0.0)?;
        }
        let squares = self.least_squares;
        finite("least_squares", squares, "between 0 and 1", (0.0..=1.0).contains(&squares))?;
        let held_out = self.held_out;
        finite("held_out", held_out, "between 0 and 1", held_out > 0.0 && held_out < 1.0)?;
        self.device.check()
    }
}

/// A fitted ensemble.
#[derive(Debug, Clone)]
pub struct Ensemble {
    networks: Mlps,
    /// Added to the means of the networks, in standardised units; never trained.
    random: Option<Mlps>,
    inputs: Standardizer,
    targets: Standardizer,
    target: Target,
    state_dim: usize,
    predicts_reward: bool,
}

/// How the fitting went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnsembleReport {
    /// Steps taken.
    pub steps: usize,
    /// The step whose parameters were kept.
    pub best_step: usize,
    /// Held-out log-likelihood per row in standardised units, averaged over members, at each look.
    pub held_out: Vec<(usize, f64)>,
    /// Settings with which the networks know less than with the default's.
    #[serde(default)]
    pub weaker: Vec<WeakerSetting>,
}

impl Ensemble {
    /// Fits an ensemble by SVGD on mini-batches, with Adam on the Stein direction, and keeps the
    /// parameters of every member with the best likelihood of rows that it has not seen.
    pub fn fit(
        data: &Subset<'_>,
        settings: &EnsembleSettings,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<(Self, EnsembleReport)> {
        let bag = Bag::draw(data, settings, seed)?;
        Self::fit_on(data, &bag, settings, seed, observer)
    }

    /// As [`fit`](Self::fit), with the members' shares of the data given.
    pub(crate) fn fit_on(
        data: &Subset<'_>,
        bag: &Bag,
        settings: &EnsembleSettings,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<(Self, EnsembleReport)> {
        settings.validate()?;
        let train = data.only(|episode| bag.is_seen(episode));
        let looked_at = bag.rows_to_look_at(data, settings.held_out, seed);
        let mut model = Self::untrained(&train, settings, seed);
        let mut half = Half {
            step: 0,
            training: Training::default(),
            best: Best::new(&model.networks),
            history: Vec::new(),
            rng: seed.stream("fit: mini-batches"),
        };
        let (of, episodes) = (data.dataset().identity().fingerprint, data.episodes());
        let about = format!("{of} {episodes:?} {} {settings:?}", seed.0);
        let keeper = Keeper::new("fit", &about, observer);
        keeper.go_on(&mut half.of(&mut model.networks))?;
        let most = settings.steps(train.rows());
        while half.step < most && half.best.looks_since < settings.patience {
            let rows = train.sample(settings.batch_size, &mut half.rng);
            let rate = cosine(settings.learning_rate, half.step, most);
            model.step(train.dataset(), &rows, bag, &mut half.training, settings, rate);
            half.step += 1;
            let Half { step, best, history, .. } = &mut half;
            let step = *step;
            if step % settings.evaluate_every == 0 || step == most {
                let mut members = model.log_likelihoods_unseen(train.dataset(), &looked_at, bag);
                let known: Vec<f64> = members.iter().copied().flatten().collect();
                let value = known.iter().sum::<f64>() / known.len().max(1) as f64;
                if !value.is_finite() {
                    let metric = "held-out log-likelihood";
                    return Err(Error::Diverged { step, metric, value });
                }
                history.push((step, value));
                if bag.is_shared() {
                    members.fill(Some(value));
                }
                best.look(step, &members, &model.networks);
            }
            let last = half.history.last();
            let metric = last.map(|&(_, value)| ("held-out log-likelihood", value));
            let event = Event { stage: "fit", step, of: most, metric };
            let stopped = report(observer, &event).err();
            let is_due = stopped.is_some() || step.is_multiple_of(LOOKS * settings.evaluate_every);
            if is_due {
                keeper.keep(&mut half.of(&mut model.networks))?;
            }
            if let Some(stopped) = stopped {
                return Err(stopped);
            }
        }
        let Half { step, best, history, .. } = half;
        let best_step = best.steps.iter().copied().max().unwrap_or(0);
        model.networks.set_params(settings.device.tensor(best.params.view()));
        let weaker = settings.weaker(train.rows());
        Ok((model, EnsembleReport { steps: step, best_step, held_out: history, weaker }))
    }

    fn untrained(train: &Subset<'_>, settings: &EnsembleSettings, seed: Seed) -> Self {
        const ROWS: usize = 4096;
        let dataset = train.dataset();
        let input_dim = dataset.state_dim() + dataset.action_dim();
        let next_dim = dataset.next_dim();
        let output_dim = next_dim + usize::from(settings.learn_reward);
        let layout =
            Layout::new(input_dim, &settings.hidden, 2 * output_dim).with(settings.activation);
        let rng = &mut seed.stream("fit: initial networks");
        let inputs = train.batches(ROWS).map(|batch| batch.inputs());
        let (target, learn_reward) = (settings.target, settings.learn_reward);
        let targets =
            train.batches(ROWS).map(|batch| batch.targets(target, next_dim, learn_reward));
        let (members, device) = (settings.members, settings.device);
        let inputs = Standardizer::fit(input_dim, inputs);
        let random = (settings.random_functions > 0.0).then(|| {
            let rng = &mut seed.stream("fit: random functions");
            let layout =
                Layout::new(input_dim, &RANDOM_HIDDEN, output_dim).with(settings.activation);
            let random = Mlps::random(layout, members, device, rng);
            let rows = train.sample(ROWS, rng);
            let seen = random.predict(inputs.apply(dataset.gather(&rows).inputs().view()).view());
            let size = seen.mapv(f64::from).std(0.0).max(f64::MIN_POSITIVE);
            random.scaled(settings.random_functions / size)
        });
        Self {
            networks: Mlps::random(layout, members, device, rng),
            random,
            inputs,
            targets: Standardizer::fit(output_dim, targets),
            target: settings.target,
            state_dim: dataset.state_dim(),
            predicts_reward: settings.learn_reward,
        }
    }

    /// One SVGD step.
    fn step(
        &mut self,
        dataset: &Dataset,
        rows: &[usize],
        bag: &Bag,
        training: &mut Training,
        settings: &EnsembleSettings,
        rate: f64,
    ) {
        let batch = dataset.gather(rows);
        let inputs = self.inputs.apply(batch.inputs().view());
        let targets = batch.targets(self.target, self.next_dim(), self.predicts_reward);
        let likelihood = Likelihood {
            targets: self.targets.apply(targets.view()),
            random: self.random.as_ref().map(|random| random.predict(inputs.view())),
            weights: (!bag.is_shared()).then(|| bag.weights(dataset, rows)),
            beta: settings.least_squares as f32,
        };
        let (members, prior) = (self.networks.members(), settings.prior(dataset.rows()));
        let Training { adam, buffers } = training;
        // Members do not share parameters, so the gradient of the sum is every member's own.
        self.networks.descend(inputs.view(), &likelihood, buffers, |params, gradient| {
            let direction = svgd::direction(params, members, prior, settings.kernel);
            // Adam descends; a negative rate climbs.
            adam.step_mixed(params, gradient, &direction, -rate);
        });
    }

    /// Each member's log-likelihood per row in standardised units, over those of the rows that it
    /// has not seen; none if it has seen all of them.
    fn log_likelihoods_unseen(
        &self,
        dataset: &Dataset,
        rows: &[usize],
        bag: &Bag,
    ) -> Vec<Option<f64>> {
        const ROWS: usize = 4096;
        let mut sums = vec![(0.0, 0_usize); self.networks.members()];
        for rows in rows.chunks(ROWS) {
            let (inputs, targets) = self.standardized(&dataset.gather(rows));
            let found = array(log_likelihoods(self.networks.outputs(inputs), targets));
            let weights = bag.weights(dataset, rows);
            for ((found, weights), (sum, count)) in
                found.rows().into_iter().zip(weights.rows()).zip(&mut sums)
            {
                for (&found, _) in found.iter().zip(weights).filter(|(_, weight)| **weight == 0.0) {
                    *sum += f64::from(found);
                    *count += 1;
                }
            }
        }
        let mean = |(sum, count): (f64, usize)| (count > 0).then(|| sum / count as f64);
        sums.into_iter().map(mean).collect()
    }

    /// What the given networks predict, in the units of the data.
    fn predict_with(
        &self,
        networks: &Mlps,
        random: Option<&Mlps>,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Members> {
        check_batch(self, states, actions)?;
        let inputs = self.inputs.apply(dataset::inputs(states, actions).view());
        let inputs = networks.device().tensor(inputs.view());
        let (means, stds) = heads(networks.outputs(inputs.clone()), self.outputs());
        let means = match random {
            Some(random) => means + random.outputs(inputs),
            None => means,
        };
        let (mut means, mut stds) = (array(means), array(stds));
        means *= self.targets.std();
        means += self.targets.mean();
        stds *= self.targets.std();
        if self.target == Target::Difference {
            let predicted = self.next_dim();
            let mut next_states = means.slice_mut(s![.., .., ..predicted]);
            next_states += &states.slice(s![.., ..predicted]);
        }
        Ok(Members { means, stds })
    }

    /// What the networks see, `[rows, inputs]`, and what each of them should say, `[K, rows, outputs]`,
    /// or `[1, rows, outputs]` if that is the same for all.
    fn standardized(&self, batch: &Batch) -> (Tensor<2>, Tensor<3>) {
        let device = self.networks.device();
        let inputs = self.inputs.apply(batch.inputs().view());
        let targets = batch.targets(self.target, self.next_dim(), self.predicts_reward);
        let targets = self.targets.apply(targets.view());
        let inputs = device.tensor(inputs.view());
        let targets = device.tensor(targets.view()).unsqueeze_dim::<3>(0);
        let targets = match &self.random {
            Some(random) => targets - random.outputs(inputs.clone()),
            None => targets,
        };
        (inputs, targets)
    }

    /// The members.
    pub fn networks(&self) -> &Mlps {
        &self.networks
    }
}

/// Falls from `rate` at step 0 to zero at `steps`.
fn cosine(rate: f64, step: usize, steps: usize) -> f64 {
    rate * 0.5 * (1.0 + (std::f64::consts::PI * step as f64 / steps as f64).cos())
}

impl Dynamics for Ensemble {
    fn device(&self) -> Device {
        self.networks.device()
    }

    fn state_dim(&self) -> usize {
        self.state_dim
    }

    fn action_dim(&self) -> usize {
        self.inputs.mean().len() - self.state_dim
    }

    fn next_dim(&self) -> usize {
        self.targets.mean().len() - usize::from(self.predicts_reward)
    }

    fn predicts_reward(&self) -> bool {
        self.predicts_reward
    }

    fn predict(
        &self,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Prediction> {
        let members = self.predict_with(&self.networks, self.random.as_ref(), states, actions)?;
        Ok(Prediction::of_members(members))
    }

    fn members(&self) -> usize {
        self.networks.members()
    }

    fn predict_member(
        &self,
        member: usize,
        states: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<MemberPrediction> {
        if member >= self.members() {
            let variant = format!("member {member}");
            return Err(Error::NoMembers { variant, members: self.members() });
        }
        let networks = self.networks.member(member);
        let random = self.random.as_ref().map(|random| random.member(member));
        let Members { means, stds } =
            self.predict_with(&networks, random.as_ref(), states, actions)?;
        Ok(MemberPrediction {
            mean: means.index_axis_move(Axis(0), 0),
            std: stds.index_axis_move(Axis(0), 0),
        })
    }
}

#[cfg(test)]
mod tests;
