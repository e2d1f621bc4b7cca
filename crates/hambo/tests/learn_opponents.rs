//! Policies that are learned against an adversary, where the worst that it can do is known.

use std::sync::Arc;

use hambo::dataset::Batch;
use hambo::internals::{Arena, train};
use hambo::{
    BoxError, LearnAgainst, LearnSettings, LearnedPolicy, Policy, RowStreams, Seed, Silent, Stream,
    Termination, Transitions,
};
use ndarray::{Array1, Array2};
use rand::RngExt;

use crate::common::scalars::{HORIZON, Scalars, settings, task};

/// What an adversary may do with an action, in every step anew.
type Effects = [f32];

/// The least that feedback earns from ±1 and ±2 when every step's effect of actions is the worst for the rest:
/// backwards in time on a grid,
///
///   V_t(x) = -(x² + u² / 2) + min_b V_{t+1}(a x + b u)
fn least(feedback: &dyn Fn(f32) -> f32, effects: &Effects) -> f64 {
    const MOST: f32 = 6.0;
    const STEP: f32 = 0.01;
    let count = (2.0 * MOST / STEP) as usize + 1;
    let place = |index: usize| index as f32 * STEP - MOST;
    let actions: Vec<f32> = (0..count).map(|index| feedback(place(index))).collect();
    let mut values = vec![0.0_f64; count];
    let at = |values: &[f64], x: f32| {
        let index = ((x.clamp(-MOST, MOST) + MOST) / STEP).min((count - 2) as f32);
        let (low, share) = (index as usize, f64::from(index.fract()));
        values[low] * (1.0 - share) + values[low + 1] * share
    };
    for _ in 0..HORIZON {
        let value = |index: usize| {
            let (x, u) = (place(index), actions[index]);
            let rest = effects.iter().map(|b| at(&values, 1.1 * x + b * u));
            -f64::from(x * x + 0.5 * u * u) + rest.fold(f64::MAX, f64::min)
        };
        values = (0..count).map(value).collect();
    }
    [-2.0, -1.0, 1.0, 2.0].into_iter().map(|x| at(&values, x)).sum::<f64>() / 4.0
}

fn feedback(policy: &LearnedPolicy) -> impl Fn(f32) -> f32 {
    |x| {
        let draws = &mut RowStreams::new(&mut Seed(0).stream("none"), 1);
        policy.act(Array2::from_elem((1, 1), x).view(), draws).unwrap()[[0, 0]]
    }
}

fn learned(arena: &Arena<'_>, settings: &LearnSettings) -> LearnedPolicy {
    train(arena, settings, Seed(0), &Silent).unwrap().policy
}

const EFFECTS: [f32; 4] = [0.5, 0.9, 1.3, 1.7];

#[test]
fn against_a_learning_adversary_the_policy_is_nearly_as_safe_as_the_best_linear_one() {
    let (worlds, task) = (Scalars::of_effects(&EFFECTS), task());
    // The members' mean and std, as the shift's box has them with a radius of one.
    let std = 0.2_f32.sqrt();
    let box_of = [1.1 - std, 1.1 - std / 2.0, 1.1, 1.1 + std / 2.0, 1.1 + std];
    for (against, effects) in [(LearnAgainst::Da1, &EFFECTS[..]), (LearnAgainst::Ca, &box_of[..])] {
        let of_gain = |gain: f32| least(&|x| -gain * x, effects);
        let best = (20..150).map(|gain| of_gain(gain as f32 / 100.0)).fold(f64::MIN, f64::max);
        let mean_gain = of_gain(0.85);
        let policy = learned(&worlds.arena(&task), &settings(against));
        let found = least(&feedback(&policy), effects);
        println!("{against:?}: {found:.3}, best linear {best:.3}, the mean's {mean_gain:.3}");
        // Policy and adversary answer each other, and what they meet is a mixture of recent answers.
        assert!(found > best - 0.12 * best.abs(), "{against:?}: {found}, not {best}");
    }
}

#[test]
fn a_penalty_on_what_members_do_not_know_keeps_actions_small() {
    let (worlds, task) = (Scalars::of_effects(&EFFECTS), task());
    // Of the last round, because the best is chosen by the certificate's criterion, whatever was learned.
    let last = |penalty: f64| {
        let settings = LearnSettings { penalty, ..settings(LearnAgainst::Mopo) };
        let found = train(&worlds.arena(&task), &settings, Seed(0), &Silent).unwrap();
        found.rounds.last().unwrap().mean.mean
    };
    let (free, penalised) = (last(1e-6), last(5.0));
    println!("on average {free:.3}, with a penalty {penalised:.3}");
    assert!(free > -4.5 && penalised < free - 0.5, "{penalised}, without a penalty {free}");
}

/// Logged steps with so much noise that it is seen what every action does.
#[test]
fn logged_steps_alone_teach_what_is_best_in_the_world_that_they_are_of() {
    let (worlds, task) = (Scalars::of_effects(&[1.1; 4]), task());
    let mut arena = worlds.arena(&task);
    let rng = &mut Seed(0).stream("logs");
    let of = |rng: &mut Stream, most: f32| {
        Array2::from_shape_simple_fn((4_000, 1), || rng.random_range(-most..most))
    };
    let (states, actions) = (of(rng, 2.5), of(rng, 3.0));
    let next = |row: usize| worlds.next(0, states[[row, 0]], actions[[row, 0]]);
    let next_states = Array2::from_shape_fn((4_000, 1), |(row, _)| next(row));
    arena.logged = Batch { states, actions, rewards: Array1::zeros(4_000), next_states };
    // The critics' discount looks further than the ten steps that are played, where most is earned in the first.
    let settings = LearnSettings { leash: 3.0, ..settings(LearnAgainst::Logs) };
    let learned = train(&arena, &settings, Seed(0), &Silent).unwrap();
    let best =
        (20..150).map(|gain| least(&|x| -0.01 * gain as f32 * x, &[1.1])).fold(f64::MIN, f64::max);
    let (copy, found) = (learned.rounds[0].bound, least(&feedback(&learned.policy), &[1.1]));
    println!("copy {copy:.3}, found {found:.3}, best linear {best:.3}");
    assert!(found > best - 0.05 * best.abs(), "{found}, not {best}");
    assert!(copy < 2.0 * best, "nothing was left to learn");
}

#[test]
fn short_episodes_from_logged_states_teach_as_well() {
    let (worlds, task) = (Scalars::of_effects(&EFFECTS), task());
    let branched = LearnSettings { branch: Some(3), ..settings(LearnAgainst::Worlds) };
    let of = |settings: &LearnSettings| {
        let found = train(&worlds.arena(&task), settings, Seed(0), &Silent).unwrap();
        (found.rounds[0].bound, found.rounds[found.best_round].bound)
    };
    let ((copy, short), (_, whole)) = (of(&branched), of(&settings(LearnAgainst::Worlds)));
    println!("copy {copy:.3}, short {short:.3}, whole {whole:.3}");
    assert!(short > whole - 0.05 * whole.abs(), "{short}, not {whole}");
    assert!(copy < 2.0 * whole, "nothing was left to learn");
}

/// Every episode ends at once.
struct Always;

impl Termination for Always {
    fn terminated(&self, transitions: &Transitions<'_>) -> Result<Array1<bool>, BoxError> {
        Ok(Array1::from_elem(transitions.states.nrows(), true))
    }
}

#[test]
fn episodes_that_end_at_once_teach_little_and_break_nothing() {
    let (worlds, mut task) = (Scalars::of_effects(&EFFECTS), task());
    task.termination = Some(Arc::new(Always));
    use LearnAgainst::{Ca, Da1, Logs, Mopo, Worlds};
    for against in [Worlds, Ca, Da1, Mopo, Logs] {
        for branch in [None, Some(3), Some(1_000)] {
            let settings = LearnSettings {
                branch,
                episodes: 3,
                gradient_steps: 2,
                max_rounds: 2,
                clone_steps: 1,
                ..settings(against)
            };
            let found = train(&worlds.arena(&task), &settings, Seed(0), &Silent).unwrap();
            assert_eq!(found.rounds.len(), 3);
        }
    }
}

#[test]
fn logged_steps_teach_nobody_who_copies_nothing() {
    let (worlds, task) = (Scalars::of_effects(&EFFECTS), task());
    let settings = LearnSettings { clone_steps: 0, ..settings(LearnAgainst::Logs) };
    let error = train(&worlds.arena(&task), &settings, Seed(0), &Silent).unwrap_err();
    assert!(error.to_string().contains("clone_steps"), "{error}");
}
