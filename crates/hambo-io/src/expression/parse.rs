//! From text to a [`Program`].

use hambo::dataset::ColumnNames;
use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::{Pair, Pairs};

use super::error::{ExpressionError, MAX_CHARACTERS, MAX_NESTING};
use super::program::{self, Program, Source, Step};

#[derive(pest_derive::Parser)]
#[grammar = "expression/grammar.pest"]
struct Grammar;

pub(super) fn parse(text: &str, names: &ColumnNames) -> Result<Program, ExpressionError> {
    let found = text.chars().count();
    if found > MAX_CHARACTERS {
        return Err(ExpressionError::TooLong { found });
    }
    let found = nesting(text);
    if found > MAX_NESTING {
        return Err(ExpressionError::TooDeep { found });
    }
    let pairs = Grammar::parse(Rule::whole, text).map_err(|error| syntax(text, &error))?;
    let mut compiler = Compiler { text, names, program: Program::default() };
    for pair in pairs.filter(|pair| pair.as_rule() != Rule::EOI) {
        compiler.emit(pair)?;
    }
    Ok(compiler.program)
}

/// Most parentheses open at once.
fn nesting(text: &str) -> usize {
    let mut open = 0usize;
    let depths = text.chars().map(|character| {
        match character {
            '(' => open += 1,
            ')' => open = open.saturating_sub(1),
            _ => (),
        }
        open
    });
    depths.max().unwrap_or(0)
}

struct Compiler<'a> {
    text: &'a str,
    names: &'a ColumnNames,
    program: Program,
}

impl Compiler<'_> {
    fn emit(&mut self, pair: Pair<'_, Rule>) -> Result<(), ExpressionError> {
        match pair.as_rule() {
            Rule::number => {
                // Digits that the grammar has checked; too large a number is infinite.
                let value = pair.as_str().parse().unwrap_or(f64::NAN);
                self.push(Step::Constant(value));
            }
            Rule::name | Rule::verbatim => self.column(pair.as_str())?,
            Rule::call => self.call(pair.into_inner())?,
            Rule::power => self.power(pair.into_inner())?,
            Rule::signed | Rule::exponent | Rule::negation => self.prefixed(pair.into_inner())?,
            _ => self.operators(pair.into_inner())?,
        }
        Ok(())
    }

    fn push(&mut self, step: Step) {
        self.program.0.push(step);
    }

    /// Operands with binary operators between them, from the left.
    fn operators(&mut self, pairs: Pairs<'_, Rule>) -> Result<(), ExpressionError> {
        let mut waiting = None;
        for pair in pairs {
            match binary(&pair) {
                Some(function) => waiting = Some(function),
                None => {
                    self.emit(pair)?;
                    waiting.take().into_iter().for_each(|f| self.push(Step::Binary(f)));
                }
            }
        }
        Ok(())
    }

    /// Operators in front of an operand; the one next to it acts first.
    fn prefixed(&mut self, pairs: Pairs<'_, Rule>) -> Result<(), ExpressionError> {
        let mut functions = Vec::new();
        for pair in pairs {
            match pair.as_rule() {
                Rule::plus => (),
                Rule::minus => functions.push(negate as fn(f64) -> f64),
                Rule::not => functions.push(program::not),
                _ => self.emit(pair)?,
            }
        }
        functions.into_iter().rev().for_each(|function| self.push(Step::Unary(function)));
        Ok(())
    }

    /// `a ^ -b ^ c` is `a ^ (-(b ^ c))`: the operands in order, then what happens to them from the
    /// right.
    fn power(&mut self, pairs: Pairs<'_, Rule>) -> Result<(), ExpressionError> {
        let mut after = Vec::new();
        for pair in pairs {
            match pair.as_rule() {
                Rule::raise => after.push(Step::Binary(program::power)),
                Rule::exponent => {
                    for part in pair.into_inner() {
                        match part.as_rule() {
                            Rule::plus => (),
                            Rule::minus => after.push(Step::Unary(negate)),
                            _ => self.emit(part)?,
                        }
                    }
                }
                _ => self.emit(pair)?,
            }
        }
        after.into_iter().rev().for_each(|step| self.push(step));
        Ok(())
    }

    fn call(&mut self, mut pairs: Pairs<'_, Rule>) -> Result<(), ExpressionError> {
        let function = pairs.next().map_or("", |name| name.as_str());
        let arguments: Vec<_> = pairs.collect();
        let found = arguments.len();
        let expect = |fits: bool, expected| {
            let (text, function) = (self.text.to_owned(), function.to_owned());
            if fits {
                return Ok(());
            }
            Err(ExpressionError::Arguments { text, function, expected, found })
        };
        // What joins each argument after the first to those before it.
        let joins: Vec<fn(f64, f64) -> f64> = match function {
            "atan2" => {
                expect(found == 2, "two arguments, `atan2(y, x)`")?;
                vec![f64::atan2]
            }
            "clip" => {
                expect(found == 3, "three arguments, `clip(x, low, high)`")?;
                vec![program::maximum, program::minimum]
            }
            "min" | "max" => {
                expect(found >= 2, "two arguments or more")?;
                let join = if function == "min" { program::minimum } else { program::maximum };
                vec![join; found - 1]
            }
            _ if program::unary(function).is_some() => {
                expect(found == 1, "one argument")?;
                Vec::new()
            }
            _ => return Err(self.unknown_function(function)),
        };
        let joins = std::iter::once(None).chain(joins.into_iter().map(Some));
        for (argument, join) in arguments.into_iter().zip(joins) {
            self.emit(argument)?;
            join.into_iter().for_each(|join| self.push(Step::Binary(join)));
        }
        program::unary(function).into_iter().for_each(|function| self.push(Step::Unary(function)));
        Ok(())
    }

    fn column(&mut self, name: &str) -> Result<(), ExpressionError> {
        let find = |names: &[String], wanted: &str| names.iter().position(|name| name == wanted);
        let ColumnNames { states, actions } = self.names;
        let own = find(states, name)
            .map(|column| (Source::State, column))
            .or_else(|| find(actions, name).map(|column| (Source::Action, column)));
        let next = name.strip_prefix("next_").and_then(|name| find(states, name));
        let step = match (own, next.map(|column| (Source::NextState, column))) {
            (Some(_), Some(_)) => {
                let (text, name) = (self.text.to_owned(), name.to_owned());
                return Err(ExpressionError::Ambiguous { text, name });
            }
            (Some((source, column)), None) | (None, Some((source, column))) => {
                Step::Column(source, column)
            }
            (None, None) if name == "pi" => Step::Constant(std::f64::consts::PI),
            (None, None) => return Err(self.unknown_name(name)),
        };
        self.push(step);
        Ok(())
    }

    fn unknown_name(&self, name: &str) -> ExpressionError {
        let next = self.names.states.iter().map(|name| format!("next_{name}"));
        let own = self.names.states.iter().chain(&self.names.actions).cloned();
        let known: Vec<String> = own.chain(next).collect();
        let nearest = nearest(name, &known);
        ExpressionError::UnknownName {
            text: self.text.to_owned(),
            name: name.into(),
            nearest,
            known,
        }
    }

    fn unknown_function(&self, name: &str) -> ExpressionError {
        let known: Vec<String> = program::FUNCTIONS.iter().map(|&name| name.to_owned()).collect();
        let (text, nearest) = (self.text.to_owned(), nearest(name, &known));
        ExpressionError::UnknownFunction { text, name: name.into(), nearest, known }
    }
}

fn negate(value: f64) -> f64 {
    -value
}

fn binary(pair: &Pair<'_, Rule>) -> Option<fn(f64, f64) -> f64> {
    match pair.as_rule() {
        Rule::or => Some(program::either),
        Rule::and => Some(program::both),
        Rule::compare => program::comparison(pair.as_str()),
        Rule::plus => Some(|a, b| a + b),
        Rule::minus => Some(|a, b| a - b),
        Rule::times => Some(|a, b| a * b),
        Rule::divide => Some(|a, b| a / b),
        _ => None,
    }
}

/// Said of `a < b < c` and of `!a < b`.
const COMPARED_TWICE: &str = "no comparison can follow here; put parentheses around what is compared \
                              or negated before it, or join two comparisons by `&&`";

/// Whether the rule follows an operand; the end does too.
fn is_operator(rule: &Rule) -> bool {
    use Rule::{EOI, and, compare, divide, minus, or, plus, raise, times};
    matches!(rule, EOI | and | compare | divide | minus | or | plus | raise | times)
}

/// The grammar's complaint in words, with the place.
fn syntax(text: &str, error: &pest::error::Error<Rule>) -> ExpressionError {
    let byte = match error.location {
        InputLocation::Pos(start) | InputLocation::Span((start, _)) => start,
    };
    let (done, rest) = text.split_at_checked(byte).unwrap_or((text, ""));
    let operand_missing = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => !positives.iter().all(is_operator),
        ErrorVariant::CustomError { .. } => false,
    };
    let expected = match (rest.chars().next(), operand_missing) {
        (None, true) => "it ends where a number, a column or a `(` must follow",
        (None, false) => "it ends before every `(` is closed",
        (Some('{'), true) => "this `{` is not closed",
        (Some('}'), true) => "a name must stand between the braces",
        (Some(_), true) => "expected a number, a column, a function or a `(`",
        (Some('<' | '>' | '!'), false) => COMPARED_TWICE,
        (Some('='), false) if rest.starts_with("==") => COMPARED_TWICE,
        (Some('='), false) => "write `==` to compare",
        (Some('&' | '|'), false) => "write `&&` for both, `||` for either",
        (Some(')'), false) => "this `)` has no `(`",
        (Some(_), false) => {
            "expected an operator or the end; a name that is not one word must be in braces"
        }
    };
    let before = done.chars().count();
    // Tabs and line breaks would move the mark.
    let line: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let marked = format!("  {line}\n  {}^", " ".repeat(before));
    ExpressionError::Syntax { position: before + 1, expected: expected.into(), marked }
}

/// The known name that takes the fewest edits, if these are few.
fn nearest(name: &str, known: &[String]) -> Option<String> {
    let closest = known.iter().map(|candidate| (edits(name, candidate), candidate)).min()?;
    (closest.0 <= 1 + name.chars().count() / 4).then(|| closest.1.clone())
}

/// Fewest characters to insert, remove or replace to make one word of the other.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
