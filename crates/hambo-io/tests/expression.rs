//! Expressions mean what a reader of Python takes them to mean, or are refused.

use hambo::Transitions;
use hambo::dataset::ColumnNames;
use hambo::task::{Reward, Termination};
use hambo_io::expression::{Expression, ExpressionError, MAX_CHARACTERS, MAX_NESTING};
use ndarray::{Array1, Array2, array};
use proptest::prelude::*;

fn names(states: &[&str], actions: &[&str]) -> ColumnNames {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    ColumnNames { states: owned(states), actions: owned(actions) }
}

/// Two states, one action.
fn pendulum() -> ColumnNames {
    names(&["theta", "theta_dot"], &["torque"])
}

/// The value at theta = 3, theta_dot = -2, torque = 0.5, next state (7, 11).
fn value(text: &str) -> f32 {
    let expression = Expression::parse(text, &pendulum()).unwrap();
    let (states, next_states) = (array![[3.0, -2.0]], array![[7.0, 11.0]]);
    expression
        .reward(&Transitions {
            states: states.view(),
            actions: array![[0.5]].view(),
            next_states: next_states.view(),
        })
        .unwrap()[0]
}

fn error(text: &str) -> ExpressionError {
    Expression::parse(text, &pendulum()).expect_err(text)
}

#[test]
fn values_are_those_computed_by_hand() {
    for (text, expected) in [
        ("-(theta^2) - 0.1*theta_dot^2", -9.4),
        ("theta + theta_dot * torque", 2.0),
        ("(theta + theta_dot) * torque", 0.5),
        ("next_theta - theta", 4.0),
        ("next_theta_dot", 11.0),
        ("1e-3 + 2.5E2 + .5 + 1.", 251.501),
        ("abs(theta_dot) + sqrt(16) + exp(0) + ln(1)", 7.0),
        ("sin(pi/2) + cos(pi) + tan(0) + tanh(0)", 0.0),
        ("asin(1) + acos(1) + atan(1)", 2.3561945),
        ("atan2(1, -1)", 2.3561945),
        ("floor(-1.5) + 10*ceil(-1.5)", -12.0),
        ("sign(-3) + 10*sign(0) + 100*sign(0.1)", 99.0),
        ("clip(theta, -1, 1) + 10*clip(theta_dot, -1, 1) + 100*clip(torque, -1, 1)", 41.0),
        ("min(theta, theta_dot) + 10*max(theta, theta_dot)", 28.0),
        ("max(1, min(5, 3), 2)", 3.0),
        ("max(min(1, 2), min(5, 4))", 4.0),
        ("{theta}+\t{next_theta_dot}\n", 14.0),
    ] {
        assert!((value(text) - expected).abs() < 1e-5, "{text} is {}", value(text));
    }
}

#[test]
fn operators_bind_as_they_do_in_python() {
    for (text, expected) in [
        ("-theta^2", -9.0),
        ("-theta**2", -9.0),
        ("2^-1", 0.5),
        ("2^3^2", 512.0),
        ("2^-1^2", 0.5),
        ("-2^-2", -0.25),
        ("--theta", 3.0),
        ("3 - -2", 5.0),
        ("2*-3", -6.0),
        ("-abs(theta_dot)^2", -4.0),
        ("1 - 2 - 3", -4.0),
        ("8/4/2", 1.0),
        ("8/4*2", 4.0),
        ("2*8/4", 4.0),
        ("2 + 3*4^2", 50.0),
        ("1 + 1 < 3", 1.0),
        ("1 < 2 == 1", f32::NAN),
        ("0 && 0 || 1", 1.0),
        ("1 || 0 && 0", 1.0),
        ("(1 || 0) && 0", 0.0),
        ("1 < 2 && 3 < 2", 0.0),
        ("3 < 2 or 1 < 2", 1.0),
        ("not (3 < 2) and !0", 1.0),
        ("!!5", 1.0),
        ("-(1 < 2)", -1.0),
        ("5*(theta > 2) - 1", 4.0),
        ("2 <= 2 && 2 >= 2 && 2 == 2 && !(2 != 2)", 1.0),
    ] {
        // Python chains comparisons, C does not; here they are refused.
        if expected.is_nan() {
            assert!(matches!(error(text), ExpressionError::Syntax { .. }), "{text}");
        } else {
            assert_eq!(value(text), expected, "{text}");
        }
    }
}

#[test]
fn names_that_begin_like_words_of_the_language_are_names() {
    let states = ["max_speed", "sinus", "pi", "order", "android", "notch", "e", "e1", "längs"];
    let columns = names(&states, &["min"]);
    for (index, name) in states.iter().chain(&["min"]).enumerate() {
        let expression = Expression::parse(&format!("1 + {name} * 1"), &columns).unwrap();
        let states = Array2::from_shape_fn((1, 9), |(_, column)| column as f32);
        let found = expression
            .reward(&Transitions {
                states: states.view(),
                actions: array![[9.0]].view(),
                next_states: states.view(),
            })
            .unwrap()[0];
        assert_eq!(found, 1.0 + index as f32, "{name}");
    }
}

#[test]
fn any_name_can_stand_in_braces() {
    let columns = names(&["x-velocity", "0"], &["cos(angle)"]);
    let text = "{x-velocity} + 10*{0} + 100*{cos(angle)} + 1000*{next_x-velocity}";
    let expression = Expression::parse(text, &columns).unwrap();
    let (states, next_states) = (array![[1.0, 2.0]], array![[4.0, 5.0]]);
    let found = expression
        .reward(&Transitions {
            states: states.view(),
            actions: array![[3.0]].view(),
            next_states: next_states.view(),
        })
        .unwrap();
    assert_eq!(found[0], 4321.0);
}

#[test]
fn without_names_columns_are_numbered() {
    let expression =
        Expression::parse("state_0 - 2*action_1", &ColumnNames::numbered(1, 2)).unwrap();
    let states = array![[1.0], [2.0]];
    let actions = array![[0.0, 3.0], [0.0, 4.0]];
    let found = expression
        .reward(&Transitions {
            states: states.view(),
            actions: actions.view(),
            next_states: states.view(),
        })
        .unwrap();
    assert_eq!(found, array![-5.0, -6.0]);
}

#[test]
fn a_datasets_own_names_are_used() {
    let episode = hambo::dataset::Episode {
        states: array![[1.0], [2.0]],
        actions: array![[0.0], [1.0]],
        rewards: Array1::zeros(2),
        next_states: array![[2.0], [3.0]],
        terminated: false,
        truncated: true,
    };
    let dataset = hambo::Dataset::from_episodes(vec![episode]).unwrap();
    assert_eq!(dataset.names_or_numbers(), ColumnNames::numbered(1, 1));
    let named = dataset.with_names(names(&["height"], &["force"])).unwrap();
    assert_eq!(named.names_or_numbers(), names(&["height"], &["force"]));
}

#[test]
fn long_batches_give_every_row_its_own_value() {
    let rows = 1000;
    let expression = Expression::parse("theta + 1000*next_theta_dot", &pendulum()).unwrap();
    let states = Array2::from_shape_fn((rows, 2), |(row, column)| (row * (1 - column)) as f32);
    let next_states = Array2::from_shape_fn((rows, 2), |(row, column)| (row % 7 * column) as f32);
    let actions = Array2::zeros((rows, 1));
    let found = expression
        .reward(&Transitions {
            states: states.view(),
            actions: actions.view(),
            next_states: next_states.view(),
        })
        .unwrap();
    for (row, value) in found.iter().enumerate() {
        assert_eq!(*value, (row + 1000 * (row % 7)) as f32);
    }
}

fn terminated(text: &str, state: f32) -> Result<bool, String> {
    let expression = Expression::parse(text, &names(&["z"], &["a"])).unwrap();
    let states = array![[state]];
    let ended = expression.terminated(&Transitions {
        states: states.view(),
        actions: array![[0.0]].view(),
        next_states: states.view(),
    });
    ended.map(|ended| ended[0]).map_err(|error| error.to_string())
}

#[test]
fn terminations_are_true_where_the_value_is_not_zero() {
    assert_eq!(terminated("z < 0.7 || abs(z) > 2", 0.5), Ok(true));
    assert_eq!(terminated("z < 0.7 || abs(z) > 2", 1.0), Ok(false));
    assert_eq!(terminated("z < 0.7 || abs(z) > 2", 2.5), Ok(true));
    assert_eq!(terminated("z", -0.1), Ok(true));
    assert_eq!(terminated("z", 0.0), Ok(false));
}

#[test]
fn comparisons_have_the_precision_of_the_columns() {
    // 0.7 as f32 is a little less than 0.7 as f64, 0.1 a little more.
    assert_eq!(terminated("z < 0.7", 0.7), Ok(false));
    assert_eq!(terminated("z >= 0.7", 0.7), Ok(true));
    assert_eq!(terminated("z == 0.1", 0.1), Ok(true));
    assert_eq!(terminated("z > 0.1", 0.1), Ok(false));
    assert_eq!(terminated("z > 0.1", 0.1f32.next_up()), Ok(true));
}

#[test]
fn what_is_not_a_number_never_passes_for_false() {
    for text in [
        "sqrt(z)",
        "sqrt(z) < 1",
        "sqrt(z) != 1",
        "!(sqrt(z) < 1)",
        "max(sqrt(z), 1) < 2",
        "min(1, sqrt(z)) < 2",
        "clip(sqrt(z), 0, 1) > 2",
        "sign(sqrt(z)) == 5",
        "sqrt(z) < 1 || z > 0",
        "sqrt(z) < 1 && z < 0",
    ] {
        let message = terminated(text, -1.0).expect_err(text);
        assert!(message.contains("row 0") && message.contains("guard it"), "{message}");
    }
    // A guard decides, on either side.
    assert_eq!(terminated("z > 0 && sqrt(z) < 1", -1.0), Ok(false));
    assert_eq!(terminated("sqrt(z) < 1 && z > 0", -1.0), Ok(false));
    assert_eq!(terminated("z < 0 || sqrt(z) < 1", -1.0), Ok(true));
}

#[test]
fn rewards_pass_on_what_is_not_finite_for_the_caller_to_find() {
    assert!(value("ln(theta_dot)").is_nan());
    assert_eq!(value("1/0"), f32::INFINITY);
}

#[test]
fn unknown_names_are_listed_with_the_nearest() {
    let message = error("theta_dott^2").to_string();
    assert!(message.contains("no column `theta_dott`, did you mean `theta_dot`?"), "{message}");
    assert!(message.contains("`theta`, `theta_dot`, `torque`, `next_theta`"), "{message}");
    let message = error("speed").to_string();
    assert!(message.contains("no column `speed`; the columns are"), "{message}");
    let message = error("next_torque").to_string();
    assert!(message.contains("no column `next_torque`"), "{message}");
    let message = error("sine(theta)").to_string();
    assert!(message.contains("no function `sine`, did you mean `sin`?"), "{message}");
    let message = error("theta(2)").to_string();
    assert!(message.contains("no function `theta`"), "{message}");
    for text in ["sin()", "sin(1, 2)", "atan2(1)", "min(1)", "clip(1, 2)", "max(1, 2, )"] {
        let found = error(text);
        let is_located =
            matches!(found, ExpressionError::Arguments { .. } | ExpressionError::Syntax { .. });
        assert!(is_located, "{text}: {found}");
    }
}

#[test]
fn a_name_with_two_meanings_is_refused() {
    let columns = names(&["x", "next_x"], &["a"]);
    let found = Expression::parse("next_x", &columns).unwrap_err();
    assert!(
        matches!(&found, ExpressionError::Ambiguous { name, .. } if name == "next_x"),
        "{found}"
    );
    assert!(Expression::parse("x + next_next_x", &columns).is_ok());
}

#[test]
fn what_cannot_be_understood_is_marked() {
    for (text, position, word) in [
        ("", 1, "ends where"),
        ("   ", 4, "ends where"),
        ("theta +", 8, "ends where"),
        ("theta + * 2", 9, "expected a number"),
        ("theta theta_dot", 7, "expected an operator"),
        ("2theta", 2, "expected"),
        ("(theta", 7, "closed"),
        ("theta)", 6, "has no `(`"),
        ("theta < torque < 1", 16, "join two comparisons"),
        ("!theta < 1", 8, "put parentheses"),
        ("theta = 1", 7, "write `==`"),
        ("theta & 1", 7, "write `&&`"),
        ("1..2", 3, "expected"),
        ("theta ; 1", 7, "expected an operator"),
        ("{theta", 1, "not closed"),
        ("{}", 2, "between the braces"),
        ("über + ß", 1, "no column"),
    ] {
        let found = error(text);
        println!("{found}");
        match &found {
            ExpressionError::Syntax { position: at, .. } => {
                assert_eq!(*at, position, "{text}: {found}");
            }
            other => assert_eq!(word, "no column", "{text}: {other}"),
        }
        assert!(found.to_string().contains(word), "{text}: {found}");
    }
    let message = error("theta + * 2").to_string();
    assert!(message.ends_with("\n  theta + * 2\n          ^"), "{message}");
}

#[test]
fn rows_of_another_width_are_an_error() {
    let expression = Expression::parse("theta", &pendulum()).unwrap();
    let (states, actions) = (Array2::zeros((3, 2)), Array2::zeros((3, 1)));
    for (states, actions, next_states) in [
        (Array2::zeros((3, 1)), actions.clone(), states.clone()),
        (states.clone(), Array2::zeros((3, 2)), states.clone()),
        (states.clone(), actions.clone(), Array2::zeros((2, 2))),
    ] {
        let found = expression.reward(&Transitions {
            states: states.view(),
            actions: actions.view(),
            next_states: next_states.view(),
        });
        assert!(found.unwrap_err().to_string().contains("2 state and 1 action columns"));
    }
    assert!(
        expression
            .reward(&Transitions {
                states: states.view(),
                actions: actions.view(),
                next_states: states.view()
            })
            .is_ok()
    );
}

#[test]
fn long_and_deep_texts_are_refused_before_they_can_overflow_the_stack() {
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(value(&nested(MAX_NESTING)), 1.0);
    assert_eq!(
        error(&nested(MAX_NESTING + 1)),
        ExpressionError::TooDeep { found: MAX_NESTING + 1 }
    );
    assert!(matches!(error(&"(".repeat(1000)), ExpressionError::TooDeep { .. }));
    assert!(matches!(error(&nested(1_000_000)), ExpressionError::TooLong { .. }));
    let functions = format!("{}1{}", "abs(".repeat(MAX_NESTING), ")".repeat(MAX_NESTING));
    assert_eq!(value(&functions), 1.0);
    // What is not in parentheses may be as long as the text.
    assert_eq!(value(&format!("{}1", "-".repeat(MAX_CHARACTERS - 1))), -1.0);
    assert_eq!(value(&format!("{}1", "!".repeat(MAX_CHARACTERS - 2))), 1.0);
    assert_eq!(value(&format!("1{}", "^1".repeat(999))), 1.0);
    assert_eq!(value(&format!("1{}", "+1".repeat(999))), 1000.0);
}

proptest! {
    #[test]
    fn any_text_is_an_expression_or_an_error(text in ".{0,200}") {
        let _ = Expression::parse(&text, &pendulum());
    }

    #[test]
    fn any_row_of_tokens_is_an_expression_or_an_error(
        tokens in prop::collection::vec(prop::sample::select(vec![
            "theta", "torque", "1", "2.5", "1e3", "(", "(", ")", ")", "+", "-", "*", "/", "^", "**",
            "<", ">=", "==", "!", "&&", "||", "and", "not", "min(", "sin(", "clip(", ",", " ", "{", "}",
        ]), 0..80),
    ) {
        let text = tokens.concat();
        if let Ok(expression) = Expression::parse(&text, &pendulum()) {
            let rows = Array2::ones((2, 2));
            let found = expression.reward(&Transitions { states: rows.view(), actions: Array2::ones((2, 1)).view(), next_states: rows.view() });
            prop_assert_eq!(found.unwrap().len(), 2);
        }
    }

    /// Sums, differences, products and quotients of whole numbers, against a second way to the value.
    #[test]
    fn arithmetic_agrees_with_a_calculation_from_the_left(
        first in 1i32..10,
        rest in prop::collection::vec((prop::sample::select(vec!['+', '-', '*', '/']), 1i32..10), 0..12),
    ) {
        let mut text = first.to_string();
        let (mut sum, mut term) = (0.0, f64::from(first));
        for (operator, number) in rest {
            text.push_str(&format!(" {operator} {number}"));
            let number = f64::from(number);
            match operator {
                '*' => term *= number,
                '/' => term /= number,
                _ => {
                    sum += term;
                    term = if operator == '+' { number } else { -number };
                }
            }
        }
        let (found, expected) = (value(&text), (sum + term) as f32);
        prop_assert!((found - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{text}");
    }
}
