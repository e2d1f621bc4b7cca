//! What would have been certified of logged episodes, had they been the policy, and what they earned.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

use super::demand::Demand;
use super::replayed::{AtHorizon, ReplayedGroup};
use crate::bound::students_quantile;

/// Episodes that last for less of a horizon, on average, do not test it.
const LASTING: f64 = 0.9;

/// Standard errors within which a bias, or a miss, may be chance.
pub(super) const CHANCE: f64 = 3.0;

/// Claims about groups of logged episodes, none of which was used for the claim about it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Backtest {
    /// Whether worlds were fitted without the group. Otherwise each episode was played by those that had
    /// not seen it, and what the limit needs was learned from the other groups.
    pub refitted: bool,
    /// How often a claim may fail.
    pub delta: f64,
    /// By horizon, then by group.
    pub claims: Vec<Claim>,
    /// The longest horizon up to which all claims held and episodes last long enough.
    pub vouched: Option<usize>,
    /// What it comes to.
    pub outcome: Outcome,
    /// All of that in one sentence.
    pub summary: String,
}

/// What would have been claimed about a group over a horizon, and what it earned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The group.
    pub group: String,
    /// Its episodes.
    pub episodes: usize,
    /// Whether these are pieces of them that do not start where they did.
    pub is_later: bool,
    /// Steps.
    pub horizon: usize,
    /// How much of the horizon the pieces last, on average.
    pub covered: f64,
    /// The lower bound on what the group earns.
    pub claimed: f64,
    /// The same without what other groups demand: Student's factor alone.
    pub by_student: f64,
    /// What the worlds say without any caution.
    pub estimate: f64,
    /// What the group earned, on average.
    pub earned: f64,
    /// Standard error of the difference between the two.
    pub std_error: f64,
    /// Whether the group earned what was claimed.
    pub held: bool,
}

/// What a backtest comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every claim over the whole horizon held.
    Held,
    /// One did not.
    Failed,
    /// None failed, but episodes are too short to test the whole horizon.
    #[default]
    TooShort,
}

impl Outcome {
    /// A word or two in capitals.
    pub fn word(self) -> &'static str {
        match self {
            Self::Held => "HELD",
            Self::Failed => "DID NOT HOLD",
            Self::TooShort => "LOGS TOO SHORT",
        }
    }
}

impl Claim {
    /// By how much it was too high.
    fn miss(&self) -> f64 {
        self.claimed - self.earned
    }

    fn relative_miss(&self) -> f64 {
        self.miss() / self.std_error.max(f64::MIN_POSITIVE)
    }

    pub(crate) fn new(
        group: &ReplayedGroup,
        at: &AtHorizon,
        others: &Demand,
        members: usize,
        delta: f64,
    ) -> Self {
        let student = students_quantile(members, delta);
        let spread = (1.0 + 1.0 / members as f64).sqrt() * group.spread;
        let of_chance = group.largest_bias_at(delta) - group.bias;
        let of_others = match others.episodes {
            0 | 1 => 0.0,
            episodes => students_quantile(episodes, delta) * others.unresolved,
        };
        let estimate = group.earned + group.bias;
        let of_worlds = student.max(others.factor) * spread;
        let claimed = estimate - others.offset - of_worlds.hypot(of_chance).hypot(of_others);
        Self {
            group: group.name.clone(),
            episodes: group.episodes,
            is_later: group.is_later,
            horizon: at.horizon,
            covered: at.covered,
            claimed,
            held: claimed <= group.earned,
            by_student: estimate - (student * spread).hypot(of_chance),
            estimate,
            earned: group.earned,
            std_error: group.std_error,
        }
    }
}

impl Backtest {
    /// Of what worlds claimed about parts that they were fitted without, see [`backtest_part`](crate::backtest_part).
    pub fn of_claims(claims: Vec<Claim>, delta: f64) -> Self {
        Self::new(claims, true, delta)
    }

    pub(crate) fn new(mut claims: Vec<Claim>, refitted: bool, delta: f64) -> Self {
        claims.sort_by_key(|claim| claim.horizon);
        let is_vouched = |horizon: usize| {
            let mut at = claims.iter().filter(|claim| claim.horizon == horizon);
            at.all(|claim| claim.held && claim.covered >= LASTING)
        };
        let mut horizons: Vec<usize> = claims.iter().map(|claim| claim.horizon).collect();
        horizons.dedup();
        let vouched = horizons.into_iter().take_while(|&horizon| is_vouched(horizon)).last();
        let outcome = Outcome::Held;
        let mut found = Self { refitted, delta, claims, vouched, outcome, summary: String::new() };
        let lasts = found.over_all().all(|claim| claim.covered >= LASTING);
        found.outcome = match (found.failed(), lasts) {
            (0, true) => Outcome::Held,
            (0, false) => Outcome::TooShort,
            _ => Outcome::Failed,
        };
        found.summary = found.in_words();
        found
    }

    fn in_words(&self) -> String {
        let all = self.over_all().count();
        let steps = self.over_all().next().map_or(0, |claim| claim.horizon);
        let vouched = match self.vouched {
            Some(vouched) if vouched == steps => String::new(),
            Some(vouched) => format!("; the logs vouch for {vouched} steps"),
            None => "; the logs vouch for no horizon".into(),
        };
        let worst = self.over_all().max_by(|a, b| a.relative_miss().total_cmp(&b.relative_miss()));
        match (self.outcome, worst) {
            (Outcome::Failed, Some(worst)) => {
                let chance = match worst.miss() < CHANCE * worst.std_error {
                    true => ", a miss so small that it may be chance",
                    false => "",
                };
                format!(
                    "{} of {all} claims about the logs themselves did not hold over {steps} steps: `{}` earned \
                     {:.4} where {:.4} was claimed{chance}{vouched}",
                    self.failed(),
                    worst.group,
                    worst.earned,
                    worst.claimed
                )
            }
            (Outcome::TooShort, Some(claim)) => format!(
                "logged episodes last for {:.0} % of {steps} steps on average, too short to test them{vouched}",
                100.0 * claim.covered
            ),
            _ => match all {
                1 => format!("the one claim about the logs themselves held over {steps} steps"),
                2 => format!("both claims about the logs themselves held over {steps} steps"),
                _ => format!("all {all} claims about the logs themselves held over {steps} steps"),
            },
        }
    }

    /// Each group against what the others demand, in the same worlds.
    pub(super) fn within(horizons: &[AtHorizon], members: usize, delta: f64) -> Self {
        let mut claims = Vec::new();
        for at in horizons {
            for group in &at.groups {
                let is_other =
                    |other: &&ReplayedGroup| !std::ptr::eq(*other, group) && !related(other, group);
                let others: Vec<&ReplayedGroup> = at.groups.iter().filter(is_other).collect();
                let demand = Demand::of(&others, members);
                claims.push(Claim::new(group, at, &demand, members, delta));
            }
        }
        Self::new(claims, false, delta)
    }

    /// Over the whole horizon.
    pub fn over_all(&self) -> impl Iterator<Item = &Claim> + Clone {
        let longest = self.claims.iter().map(|claim| claim.horizon).max();
        self.claims.iter().filter(move |claim| Some(claim.horizon) == longest)
    }

    /// How many claims over the whole horizon did not hold.
    pub fn failed(&self) -> usize {
        self.over_all().filter(|claim| !claim.held).count()
    }

    /// The probability that as many fail, or more, if each does with probability δ by itself.
    pub fn chance(&self) -> f64 {
        let (claims, failed) = (self.over_all().count() as u64, self.failed() as u64);
        match (failed, Binomial::new(self.delta, claims)) {
            (0, _) | (_, Err(_)) => 1.0,
            (failed, Ok(binomial)) => binomial.sf(failed - 1),
        }
    }
}

/// First and later pieces of the same episodes.
fn related(a: &ReplayedGroup, b: &ReplayedGroup) -> bool {
    let (first, later) = if a.is_later { (b, a) } else { (a, b) };
    later.name.strip_suffix(", later") == Some(&first.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, bias: f64, spread: f64) -> ReplayedGroup {
        ReplayedGroup {
            name: name.into(),
            episodes: 50,
            is_later: name.ends_with(", later"),
            earned: 10.0,
            bias,
            std_error: 0.1,
            skewness: 0.0,
            absolute_error: bias.abs(),
            spread,
            largest_bias: bias + 0.2,
        }
    }

    fn backtest(groups: Vec<ReplayedGroup>, covered: f64) -> Backtest {
        let at = |horizon, covered| AtHorizon { horizon, covered, groups: groups.clone() };
        Backtest::within(&[at(10, 1.0), at(100, covered)], 10, 0.05)
    }

    #[test]
    fn a_claim_rests_on_the_other_groups_alone() {
        // By hand: Student's t with 9 degrees of freedom at 95 % is 1.8331, with 49 it is 1.6766. The
        // other group demands (2 + .2) / (√1.1 · .5) = 4.195.
        let found = backtest(vec![group("a", 0.0, 0.5), group("b", 2.0, 0.5)], 1.0);
        let spread = 1.1_f64.sqrt() * 0.5;
        let chance = 1.6766 * 0.1;
        let of_a = (4.1952 * spread).hypot(chance).hypot(chance);
        let a = &found.claims[0];
        assert!((a.claimed - (10.0 - of_a)).abs() < 1e-3, "{a:?}");
        let by_student = (1.8331 * spread).hypot(chance);
        assert!((a.by_student - (10.0 - by_student)).abs() < 1e-3, "{a:?}");
        // Nobody told the claim about b that worlds can be so wrong.
        let b = &found.claims[1];
        assert!((b.claimed - (12.0 - by_student.hypot(chance))).abs() < 1e-3, "{b:?}");
        assert!(a.held && !b.held);
        assert_eq!((found.failed(), found.vouched, found.outcome), (1, None, Outcome::Failed));
        assert!(found.summary.contains("`b` earned 10.0000 where 11."), "{}", found.summary);
        assert!(!found.summary.contains("chance"), "{}", found.summary);
        // One or two of two, each with probability .05.
        assert!((found.chance() - (1.0 - 0.95 * 0.95)).abs() < 1e-9);
    }

    #[test]
    fn later_pieces_say_nothing_about_the_first_of_the_same_episodes() {
        let apart = backtest(vec![group("a", 0.0, 0.5)], 1.0);
        let both = backtest(vec![group("a", 0.0, 0.5), group("a, later", 2.0, 0.5)], 1.0);
        assert_eq!(apart.claims[0], both.claims[0]);
    }

    #[test]
    fn logs_vouch_for_what_held_and_for_what_they_last() {
        let groups = || vec![group("a", 0.0, 0.5), group("b", 0.1, 0.5)];
        assert_eq!(backtest(groups(), 1.0).vouched, Some(100));
        let short = backtest(groups(), 0.8);
        assert_eq!((short.vouched, short.outcome), (Some(10), Outcome::TooShort));
        assert!(short.summary.contains("80 % of 100 steps"), "{}", short.summary);
        assert_eq!(backtest(groups(), 1.0).chance(), 1.0);
    }
}
