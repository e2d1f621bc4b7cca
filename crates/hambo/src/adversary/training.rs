//! Rounds of rollouts and gradient steps, judged on common random numbers.

use ndarray::{Array2, Axis};

use super::learner::{Learner, Scales, inputs};
use super::plateau::Plateau;
use super::settings::AdversarySettings;
use super::trained::{Round, Trained};
use crate::bound::{Estimate, paired_difference};
use crate::dataset::Standardizer;
use crate::error::{Error, Result};
use crate::experience::{Recorder, Replay};
use crate::game::Game;
use crate::hallucination::Choice;
use crate::nn::Device;
use crate::progress::{Event, Observer, report};
use crate::rng::{Seed, Stream};
use crate::rollout::{Step, Streams};

/// Gradient steps between two looks at the observer, who may want to stop: a fraction of a second.
const STEPS_PER_REPORT: usize = 5;

/// Trains an adversary. `simple` are choices that need no training: the first stands for doing
/// nothing, and what the trained adversary costs is measured against it; the most harmful of them is
/// what training has to surpass. After divergence it begins again with a third of the learning rate.
pub(super) fn train<L: Learner>(
    game: &Game<'_>,
    simple: &[Choice<'_>],
    choices: usize,
    settings: &AdversarySettings,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Trained<L>> {
    settings.validate()?;
    // Everything is judged on these numbers.
    let judge = Streams::new(seed, "adversary: judging");
    let mut survey = Survey::default();
    let mut judged = Vec::new();
    for (index, &choice) in simple.iter().enumerate() {
        let watch = |step: &Step<'_>| {
            let of = settings.max_rounds;
            report(observer, &Event { stage: "adversary", step: 0, of, metric: None })?;
            if index == 0 { survey.add(step) } else { Ok(()) }
        };
        judged.push(game.play(choice, settings.episodes, &mut judge.clone(), watch)?.returns);
    }
    // A task that discounts more than the critics would is seen as it is.
    let discount = game.task.discount.min(settings.discount);
    let scales = survey.scales(discount, game.dynamics.device());
    let mut settings = settings.clone();
    for restart in 0..=settings.max_restarts {
        let rng = &mut seed.stream(&format!("adversary: learning {restart}"));
        let learner = L::new(scales.clone(), choices, &settings, rng);
        let mut training =
            Training { game, settings: &settings, seed, observer, judge: &judge, restart };
        match training.run(learner, &judged, rng)? {
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
        simple: &[Vec<f64>],
        rng: &mut Stream,
    ) -> Result<Option<Trained<L>>> {
        let Self { game, settings, .. } = *self;
        let input_dim = game.dynamics.state_dim() + game.dynamics.action_dim() + 1;
        let choice_dim = match learner.choice() {
            Choice::Shift(_) => game.dynamics.next_dim(),
            _ => 1,
        };
        let mut replay = Replay::new(settings.replay_capacity, input_dim, choice_dim);
        let neutral_returns = &simple[0];
        let most_harmful = (1..simple.len()).fold(0, |worst, index| {
            if total(&simple[index]) < total(&simple[worst]) { index } else { worst }
        });
        let mut trained = Trained {
            adversary: learner.greedy(),
            simple: most_harmful,
            rounds: Vec::new(),
            best_round: None,
            converged: false,
            restarts: self.restart,
        };
        let mut best_return = total(&simple[most_harmful]);
        // Of the learner itself: it has not converged while it still catches up with a simple choice.
        let mut plateau = Plateau::new(settings, neutral_returns);
        for round in 0..settings.max_rounds {
            self.explore(&learner, round, &trained, &mut replay)?;
            for step in 0..settings.gradient_steps {
                learner.learn(&replay.sample(settings.batch_size, rng), rng);
                if step % STEPS_PER_REPORT == 0 {
                    self.report(round, &trained)?;
                }
            }
            if !learner.is_finite() {
                return Ok(None);
            }
            let greedy = learner.greedy();
            let returns = self.judged(&greedy, round, &trained)?;
            trained.rounds.push(Round {
                attained: Estimate::of(&returns),
                effect: paired_difference(&returns, neutral_returns),
            });
            if total(&returns) < best_return {
                trained.adversary = greedy;
                trained.best_round = Some(round);
                best_return = total(&returns);
            }
            // The edge is a second candidate; rounds are compared by what they learned.
            if let Some(edge) = learner.at_the_edge() {
                let returns = self.judged(&edge, round, &trained)?;
                if total(&returns) < best_return {
                    trained.adversary = edge;
                    trained.best_round = Some(round);
                    best_return = total(&returns);
                }
            }
            if plateau.is_reached_by(&returns) {
                trained.converged = true;
                break;
            }
        }
        Ok(Some(trained))
    }

    /// What an adversary leaves to the policy, on the numbers that everything is judged on.
    fn judged<L: Learner>(
        &self,
        adversary: &L,
        round: usize,
        trained: &Trained<L>,
    ) -> Result<Vec<f64>> {
        let (streams, episodes) = (&mut self.judge.clone(), self.settings.episodes);
        let watch = |_: &Step<'_>| self.report(round, trained);
        Ok(self.game.play(adversary.choice(), episodes, streams, watch)?.returns)
    }

    /// Rolls out the exploring adversary and remembers what it did.
    fn explore<L: Learner>(
        &self,
        learner: &L,
        round: usize,
        trained: &Trained<L>,
        replay: &mut Replay,
    ) -> Result<()> {
        let mut streams = Streams::new(self.seed, &format!("adversary: exploring {round}"));
        let mut recorder = Recorder::default();
        let rng = &mut self.seed.stream(&format!("adversary: ways of exploring {round}"));
        let exploring = learner.exploring(round, self.settings.episodes, rng);
        self.game.play(exploring.choice(), self.settings.episodes, &mut streams, |step| {
            self.report(round, trained)?;
            let choices = step.choices.expect("an adversary was in control").clone();
            recorder.add(step, inputs_of_step(step), choices, replay);
            Ok(())
        })?;
        recorder.finish(replay);
        Ok(())
    }

    fn report<L>(&self, round: usize, trained: &Trained<L>) -> Result<()> {
        let metric = trained.rounds.last().map(|round| ("attained return", round.attained.mean));
        let of = self.settings.max_rounds;
        report(self.observer, &Event { stage: "adversary", step: round, of, metric })
    }
}

fn total(returns: &[f64]) -> f64 {
    returns.iter().sum()
}

/// What the neutral rollouts tell about the units of a game.
#[derive(Default)]
pub(crate) struct Survey {
    inputs: Vec<Array2<f32>>,
    rewards: Vec<Array2<f32>>,
}

impl Survey {
    pub(crate) fn add(&mut self, step: &Step<'_>) -> Result<()> {
        self.inputs.push(inputs_of_step(step));
        self.rewards.push(step.rewards.clone().insert_axis(Axis(1)));
        Ok(())
    }

    pub(crate) fn scales(self, discount: f32, device: Device) -> Scales {
        let columns = self.inputs.first().map_or(0, |inputs| inputs.ncols());
        let rewards = Standardizer::fit(1, self.rewards.into_iter());
        let inputs = Standardizer::fit(columns, self.inputs.into_iter());
        Scales { inputs, reward: rewards.std()[0].recip(), discount, device }
    }
}

pub(crate) fn inputs_of_step(step: &Step<'_>) -> Array2<f32> {
    inputs(step.states.view(), step.actions.view(), step.time, step.horizon)
}
