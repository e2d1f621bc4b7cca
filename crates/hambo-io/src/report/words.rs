//! What a report says in plain words.

use hambo::{StateLimits, Variant, Verdict};

use super::contents::Contents;
use super::text::{as_given, confidence, fixed, number, percent, rounded_down};
use super::worlds;

/// What a variant does, in three or four words.
pub(super) fn of_variant(variant: Variant) -> &'static str {
    match variant {
        Variant::Worlds => "limit over all members",
        Variant::Ca => "adversary shifts states",
        Variant::Da1 => "adversary picks members",
        Variant::DaInf => "worst member throughout",
        Variant::Ds => "neutral, total variance",
        Variant::Ts1 => "neutral, member per step",
        Variant::TsInf => "neutral, one member",
    }
}

/// The verdict as one sentence.
pub(super) fn of_verdict(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let bound = evaluation.lower_bound.map(|bound| rounded_down(bound, contents.decimals));
    let threshold = contents.options.threshold.map(as_given);
    let steps = evaluation.horizon;
    // Without a threshold the verdict is about the improvement.
    let asked = match &threshold {
        Some(_) => &contents.verdict,
        None => &Verdict::NoThreshold,
    };
    let threshold = threshold.unwrap_or_default();
    match (asked, bound) {
        (_, None) => "Only neutral variants ran. They estimate the return, but bound nothing: run \
                      the default, or one of worlds, CA, DA1 and DAinf."
            .into(),
        (Verdict::Certified { weaker }, Some(bound)) => format!(
            "Over {steps} steps the policy’s expected return is at least {bound}, and so reaches \
             the threshold of {threshold}{}{}.",
            if evaluation.constraints.is_empty() { "" } else { "; every constraint holds" },
            match weaker.is_empty() {
                true => String::new(),
                false => format!(
                    ". Weaker settings than the defaults were accepted for this: {}",
                    weaker.join(", ")
                ),
            }
        ),
        (Verdict::NotCertified, Some(bound)) => {
            let unproven: Vec<&str> = evaluation
                .constraints
                .iter()
                .filter(|c| !c.lower_bound.is_none_or(|bound| bound >= 0.0))
                .map(|c| c.name.as_str())
                .collect();
            let reaches = evaluation.lower_bound >= contents.options.threshold;
            match reaches {
                true if unproven.is_empty() => {
                    format!("Over {steps} steps the policy’s expected return is at least {bound}.")
                }
                true => format!(
                    "The return is at least {bound}, but the data does not prove that the policy \
                     keeps this constraint: {}.",
                    unproven.join(", ")
                ),
                false => format!(
                    "The data does not prove that the policy’s return reaches {threshold}: over \
                     {steps} steps the bound is {bound}. That is no proof that the policy is bad."
                ),
            }
        }
        (Verdict::Inconclusive { warnings }, Some(bound)) => format!(
            "The bound of {bound} reaches the threshold of {threshold}, but {} it may be too high: \
             see the warnings below.",
            match warnings.len() {
                0 => "not everything was bounded, and".to_owned(),
                1 => "there is a reason why".to_owned(),
                n => format!("there are {n} reasons why"),
            }
        ),
        (Verdict::NoThreshold, Some(bound)) if contents.is_doubtful() => format!(
            "Over {steps} steps the bound on the policy’s expected return is {bound}, which may be too high: see \
             the warnings below."
        ),
        (Verdict::NoThreshold, Some(bound)) => {
            format!("Over {steps} steps the policy’s expected return is at least {bound}.")
        }
    }
}

/// How much better the policy is, if it was compared with something.
pub(super) fn of_improvement(contents: &Contents<'_>) -> Option<String> {
    let found = contents.evaluation.improvement.as_ref()?;
    let decimals = contents.decimals;
    let bound = rounded_down(found.lower_bound, decimals);
    let against =
        format!("{} ({} over the horizon)", found.against, fixed(found.baseline.mean, decimals));
    Some(match found.margin {
        None => format!("Its improvement on {against} is at least {bound}."),
        Some(margin) if found.lower_bound >= margin => format!(
            "Its improvement on {against} is at least {bound}, and so reaches the margin of {}.",
            as_given(margin)
        ),
        Some(margin) => format!(
            "The data does not prove that its improvement on {against} reaches the margin of {}: the bound is \
             {bound}.",
            as_given(margin)
        ),
    })
}

/// How close the verdict was, if it is about a threshold.
pub(super) fn how_close(contents: &Contents<'_>) -> Option<String> {
    let threshold = contents.options.threshold?;
    let (tipping, factor) = contents.evaluation.tipping_factor(threshold)?;
    let (tipping, factor) = (fixed(tipping, 1), fixed(factor, 1));
    let times = contents.evaluation.times_as_many_episodes(threshold);
    Some(match (&contents.verdict, times) {
        (Verdict::NotCertified, Some(times)) => format!(
            "A factor of {tipping} on the worlds’ disagreement would have been small enough; the logs demand \
             {factor}. About {times} times as many logged episodes would do, if the worlds stayed as they are."
        ),
        (Verdict::NotCertified, None) => format!(
            "A factor of {tipping} on the worlds’ disagreement would have been small enough; it is {factor}. More \
             episodes alone will not do: the worlds themselves must come to agree."
        ),
        _ => format!(
            "The threshold is reached up to a factor of {tipping} on the worlds’ disagreement; it is {factor}."
        ),
    })
}

/// The bound against what the logs earned, as a share of that.
pub(super) fn against_logs(contents: &Contents<'_>) -> Option<(String, String)> {
    let replay = worlds::limit(contents)?.replay.as_ref()?;
    let (earned, bound) = (replay.earned?.mean, contents.evaluation.lower_bound?);
    let share = 100.0 * (bound - earned).abs() / earned.abs();
    let side = if bound < earned { "below" } else { "above" };
    let more = match share.is_finite() {
        true => format!("{} % {side}", fixed(share, 0)),
        false => side.into(),
    };
    Some((fixed(earned, contents.decimals), more))
}

/// What holds with which probability.
pub(super) fn of_confidence(contents: &Contents<'_>) -> String {
    let evaluation = contents.evaluation;
    let covers = evaluation.delta_covers.replace('\'', "’");
    let confidence = confidence(evaluation.delta);
    match contents.is_doubtful() {
        true => format!(
            "Confidence: {confidence}, if what speaks against the number did not matter. It covers {covers}."
        ),
        false => format!("Confidence {confidence}. It covers {covers}."),
    }
}

/// Everything that is taken for granted, each with what would break it.
pub(super) fn assumptions(contents: &Contents<'_>) -> Vec<String> {
    let evaluation = contents.evaluation;
    let settings = &evaluation.settings;
    let mut said = vec![
        "The system behaves as it did when the data was logged: same machine, same environment, same \
         meaning of every number."
            .to_owned(),
        "The next state depends on the present state and action only. What the state leaves out, the \
         model takes for noise."
            .into(),
    ];
    said.push(match &evaluation.guarantee {
        Some(_) => "Every output of the system is a function of its kernel’s space with the norm \
                    that is stated, and its noise is Gaussian. If so, the confidence region holds \
                    the truth."
            .into(),
        None if worlds::limit(contents).is_some() => format!(
            "Measured in the spread of the {} worlds, the model errs no more about this policy’s return \
             than about those of the logged episodes. Nothing proves this for a policy that goes elsewhere; \
             the share of steps outside the data is the evidence.",
            evaluation.members
        ),
        None => format!(
            "Where the hallucinated episodes go, the spread of the {} members, calibrated on {} \
             points that they were not fitted on, is as large as their error. Nothing proves this; \
             calibration and the share of steps outside the data are the evidence.",
            evaluation.members,
            fixed(evaluation.calibration.points as f64, 0)
        ),
    });
    if worlds::limit(contents).is_none() {
        said.push(
            "The trained adversaries come close to the worst case that the model allows. A stronger one \
             could only lower the bound; the learning curves show whether more training still did."
                .into(),
        );
    }
    if let Some(estimate) = evaluation.variants.first().map(|variant| variant.estimate) {
        said.push(match estimate.independent < settings.episodes {
            true => format!(
                "Future episodes start like the {} logged starts, which the error counts as a \
                 sample of so many.",
                fixed(estimate.independent as f64, 0)
            ),
            false => "Future episodes start as the task’s initial states say.".into(),
        });
    }
    said.push(match evaluation.reward_limits.is_some() {
        true => format!(
            "The reward was learned from the data, with an uncertainty of its own{}; the ends of \
             episodes are as the task states them.",
            evaluation.reward_limits.map_or(String::new(), |limits| format!(
                ", and stays between {} and {}",
                number(f64::from(limits.low)),
                number(f64::from(limits.high))
            ))
        ),
        false => "The reward and the ends of episodes are exactly as the task states them.".into(),
    });
    if let Some(floor) = evaluation.floor {
        said.push(format!(
            "No step ever earns less than {}, the task’s floor: that is what every step of an episode earns \
             after it has left the data.",
            number(f64::from(floor))
        ));
    }
    said.push(match &evaluation.state_limits {
        StateLimits::Task => {
            "No state ever lies outside the limits that the task declares: hallucinated states are \
             moved back into them."
                .into()
        }
        StateLimits::Data { widened, extended } => format!(
            "No state ever lies outside the data’s range widened by {} of its width on both sides{}: \
             hallucinated states are moved back into it.",
            percent(f64::from(*widened)),
            match extended.is_empty() {
                true => String::new(),
                false => format!(", or, for {}, as far as episodes end", extended.join(", ")),
            }
        ),
    });
    said.extend(evaluation.invariants.sentences());
    if settings.beta != 1.0 {
        said.push(format!(
            "The adversary’s confidence box was scaled by β = {}, which {} caution.",
            number(f64::from(settings.beta)),
            if settings.beta < 1.0 { "takes away" } else { "adds" }
        ));
    }
    if !settings.noise {
        said.push("The system’s own noise does not matter: rollouts drew none.".into());
    }
    said
}
