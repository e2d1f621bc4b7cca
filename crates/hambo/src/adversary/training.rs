//! Rounds of rollouts and gradient steps, judged on common random numbers.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::replay::{Replay, ReplayBatch};
use super::{AdversarySettings, Game, Learner, Round, Scales, Trained, inputs};
use crate::bound::{Estimate, paired_difference};
use crate::dataset::Standardizer;
use crate::error::{Error, Result};
use crate::hallucination::Choice;
use crate::progress::{Event, Observer, report};
use crate::rng::{Seed, Stream};
use crate::rollout::{Step, Streams};

/// Trains an adversary against `neutral`, which stands for doing nothing. After divergence it begins
/// again with a third of the learning rate.
pub(super) fn train<L: Learner>(
    game: &Game<'_>,
    neutral: Choice<'_>,
    choices: usize,
    settings: &AdversarySettings,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Trained<L>> {
    settings.validate()?;
    // Everything is judged on these numbers.
    let judge = Streams::new(seed, "adversary: judging");
    let mut survey = Survey::default();
    let neutral_returns =
        game.play(neutral, settings.episodes, &mut judge.clone(), |step| survey.add(step))?.returns;
    let scales = survey.scales();
    let mut settings = settings.clone();
    for restart in 0..=settings.max_restarts {
        let rng = &mut seed.stream(&format!("adversary: learning {restart}"));
        let learner = L::new(scales.clone(), choices, &settings, rng);
        let mut training =
            Training { game, settings: &settings, seed, observer, judge: &judge, restart };
        match training.run(learner, &neutral_returns, rng)? {
            Some(trained) => return Ok(trained),
            None => settings.learning_rate /= 3.0,
        }
    }
    let (metric, value) = ("adversary's parameters", f64::NAN);
    Err(Error::Diverged { step: settings.max_restarts, metric, value })
}

/// One attempt at training.
struct Training<'a> {
    game: &'a Game<'a>,
    settings: &'a AdversarySettings,
    seed: Seed,
    observer: &'a dyn Observer,
    judge: &'a Streams,
    restart: usize,
}

impl Training<'_> {
    /// The trained adversary, or `None` if training diverged.
    fn run<L: Learner>(
        &mut self,
        mut learner: L,
        neutral_returns: &[f64],
        rng: &mut Stream,
    ) -> Result<Option<Trained<L>>> {
        let Self { game, settings, .. } = *self;
        let input_dim = game.dynamics.state_dim() + game.dynamics.action_dim() + 1;
        let choice_dim = match learner.choice() {
            Choice::Shift(_) => game.dynamics.state_dim(),
            _ => 1,
        };
        let mut replay = Replay::new(settings.replay_capacity, input_dim, choice_dim);
        let mut trained = Trained {
            adversary: learner.greedy(),
            neutral: Estimate::of(neutral_returns),
            rounds: Vec::new(),
            best_round: None,
            converged: false,
            restarts: self.restart,
        };
        let mut best_returns = neutral_returns.to_vec();
        let mut rounds_since_best = 0;
        for round in 0..settings.max_rounds {
            self.explore(&learner, round, &mut replay)?;
            for step in 0..settings.gradient_steps {
                learner.learn(&replay.sample(settings.batch_size, rng), rng);
                if step % 20 == 0 {
                    self.report(round, &trained)?;
                }
            }
            if !learner.is_finite() {
                return Ok(None);
            }
            let greedy = learner.greedy();
            let mut streams = self.judge.clone();
            let returns = game
                .play(greedy.choice(), settings.episodes, &mut streams, |_| {
                    self.report(round, &trained)
                })?
                .returns;
            trained.rounds.push(Round {
                attained: Estimate::of(&returns),
                effect: paired_difference(&returns, neutral_returns),
            });
            let gain = paired_difference(&returns, &best_returns);
            rounds_since_best += 1;
            if gain.mean < 0.0 {
                // A lower return is always kept, but a negligible gain is no reason to go on.
                let effect = paired_difference(&best_returns, neutral_returns).mean;
                if -gain.mean > gain.std_error.max(settings.tolerance * effect.abs()) {
                    rounds_since_best = 0;
                }
                trained.adversary = greedy;
                trained.best_round = Some(round);
                best_returns = returns;
            }
            if rounds_since_best >= settings.patience {
                trained.converged = true;
                break;
            }
        }
        Ok(Some(trained))
    }

    /// Rolls out the exploring adversary and remembers what it did.
    fn explore<L: Learner>(&self, learner: &L, round: usize, replay: &mut Replay) -> Result<()> {
        let mut streams = Streams::new(self.seed, &format!("adversary: exploring {round}"));
        let mut waiting: Option<Waiting> = None;
        let exploring = learner.exploring(round);
        self.game.play(exploring.choice(), self.settings.episodes, &mut streams, |step| {
            let inputs = inputs_of_step(step);
            if let Some(earlier) = waiting.take() {
                replay.extend(&earlier.complete(step.episodes, inputs.view()));
            }
            waiting = Some(Waiting::new(step, inputs));
            Ok(())
        })?;
        // No reward follows the horizon, as none follows termination. A critic that looked beyond
        // it would prepare for steps that never come.
        if let Some(mut last) = waiting {
            last.ended.fill(true);
            let none = Array2::zeros((0, last.inputs.ncols()));
            replay.extend(&last.complete(&[], none.view()));
        }
        Ok(())
    }

    fn report<L>(&self, round: usize, trained: &Trained<L>) -> Result<()> {
        let metric = trained.rounds.last().map(|round| ("attained return", round.attained.mean));
        let of = self.settings.max_rounds;
        report(self.observer, &Event { stage: "adversary", step: round, of, metric })
    }
}

/// Steps that wait for the action that follows them.
struct Waiting {
    episodes: Vec<usize>,
    inputs: Array2<f32>,
    choices: Array2<f32>,
    rewards: Array1<f32>,
    ended: Array1<bool>,
}

impl Waiting {
    fn new(step: &Step<'_>, inputs: Array2<f32>) -> Self {
        Self {
            episodes: step.episodes.to_vec(),
            inputs,
            choices: step.choices.expect("an adversary was in control").clone(),
            rewards: step.rewards.clone(),
            ended: step.terminated.clone(),
        }
    }

    /// With what followed: the episodes that went on, and their next inputs row by row. Steps that
    /// ended an episode need none.
    fn complete(self, went_on: &[usize], inputs: ArrayView2<'_, f32>) -> ReplayBatch {
        let mut next_inputs = Array2::zeros(self.inputs.raw_dim());
        let mut following = went_on.iter().zip(inputs.rows()).peekable();
        for (&episode, mut next) in self.episodes.iter().zip(next_inputs.rows_mut()) {
            if let Some((_, inputs)) = following.next_if(|&(&other, _)| other == episode) {
                next.assign(&inputs);
            }
        }
        ReplayBatch {
            inputs: self.inputs,
            choices: self.choices,
            rewards: self.rewards,
            next_inputs,
            goes_on: self.ended.mapv(|ended| f32::from(!ended)),
        }
    }
}

/// What the neutral rollouts tell about the units of a game.
#[derive(Default)]
struct Survey {
    inputs: Vec<Array2<f32>>,
    rewards: Vec<Array2<f32>>,
}

impl Survey {
    fn add(&mut self, step: &Step<'_>) -> Result<()> {
        self.inputs.push(inputs_of_step(step));
        self.rewards.push(step.rewards.clone().insert_axis(Axis(1)));
        Ok(())
    }

    fn scales(self) -> Scales {
        let columns = self.inputs.first().map_or(0, |inputs| inputs.ncols());
        let rewards = Standardizer::fit(1, self.rewards.into_iter());
        let inputs = Standardizer::fit(columns, self.inputs.into_iter());
        Scales { inputs, reward: rewards.std()[0].recip() }
    }
}

fn inputs_of_step(step: &Step<'_>) -> Array2<f32> {
    inputs(step.states.view(), step.actions.view(), step.time, step.horizon)
}
