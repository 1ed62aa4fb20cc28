//! The syntax tree of the indexing language.

use crate::package::Place;

/// Statements, each of which begins anew.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Where it begins.
    pub place: Place,
    /// In the order in which they are written.
    pub statements: Vec<Statement>,
}

/// Steps, each of which takes what the one before it gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// In order; never empty.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Where it begins.
    pub place: Place,
    /// What it does.
    pub operation: Operation,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// A value that is written out.
    Literal(Literal),
    /// The value that the step was given: `_`.
    Value,
    /// A word of the language with what stands behind it.
    Call(&'static str, Vec<Argument>),
    /// `a || b`: the first that has a value.
    Choice(Vec<Step>),
    /// `a . b`: texts in a row.
    Concat(Vec<Step>),
    /// `a + b`
    Arithmetic(Box<Step>, Operator, Box<Step>),
    /// `if (a < b) { ... } else { ... }`
    If {
        /// The left value.
        left: Box<Step>,
        /// How both are compared.
        comparison: Comparison,
        /// The right value.
        right: Box<Step>,
        /// What happens if the comparison holds.
        then: Script,
        /// What happens if not.
        otherwise: Option<Script>,
    },
    /// `for_each { ... }`: each element of the value.
    ForEach(Statement),
    /// `switch { case "a": ...; default: ...; }`
    Switch {
        /// Texts with what happens for them.
        cases: Vec<(String, Statement)>,
        /// What happens for all others.
        default: Option<Statement>,
    },
    /// `select_input { field: ...; }`: the first field that has a value.
    SelectInput(Vec<(String, Statement)>),
    /// `guard { ... }`: only if a field that is read is part of an update.
    Guard(Script),
    /// `{ ... }`
    Script(Script),
    /// `( ... )`
    Group(Statement),
}

/// A value that is written out.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `"text"`
    Text(String),
    /// `3`, `0x1f`
    Integer(i64),
    /// `0.5`
    Number(f64),
    /// `true`
    Bool(bool),
}

/// What stands behind a word of the language.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// A field, a variable, a component or a flag.
    Name(String),
    /// A setting such as `stem: "best"`.
    Setting(&'static str, Literal),
    /// A text or number.
    Literal(Literal),
}

/// Arithmetic of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

/// Comparisons of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<=`
    AtMost,
    /// `<`
    Less,
    /// `>=`
    AtLeast,
    /// `>`
    Greater,
}

impl Script {
    /// Every step, those within others too, in the order in which they are written.
    #[must_use]
    pub fn steps(&self) -> Vec<&Step> {
        let mut found = Vec::new();
        let mut open: Vec<&Step> = Vec::new();
        push_script(&mut open, self);
        while let Some(step) = open.pop() {
            found.push(step);
            match &step.operation {
                Operation::Literal(_) | Operation::Value | Operation::Call(..) => {}
                Operation::Choice(steps) | Operation::Concat(steps) => {
                    open.extend(steps.iter().rev());
                }
                Operation::Arithmetic(left, _, right) => open.extend([&**right, &**left]),
                Operation::If { left, right, then, otherwise, .. } => {
                    if let Some(script) = otherwise {
                        push_script(&mut open, script);
                    }
                    push_script(&mut open, then);
                    open.extend([&**right, &**left]);
                }
                Operation::ForEach(statement) | Operation::Group(statement) => {
                    open.extend(statement.steps.iter().rev());
                }
                Operation::Switch { cases, default } => {
                    open.extend(default.iter().flat_map(|s| s.steps.iter().rev()));
                    open.extend(cases.iter().rev().flat_map(|(_, s)| s.steps.iter().rev()));
                }
                Operation::SelectInput(cases) => {
                    open.extend(cases.iter().rev().flat_map(|(_, s)| s.steps.iter().rev()));
                }
                Operation::Guard(script) | Operation::Script(script) => {
                    push_script(&mut open, script);
                }
            }
        }
        found
    }

    /// Whether another script says the same, wherever both stand.
    #[must_use]
    pub fn is_like(&self, other: &Script) -> bool {
        let (steps, others) = (self.steps(), other.steps());
        let same = |(a, b): (&&Step, &&Step)| is_like(&a.operation, &b.operation);
        lengths(self) == lengths(other)
            && steps.len() == others.len()
            && steps.iter().zip(&others).all(same)
    }

    /// Whether a step of this word is in it.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.calls(word).next().is_some()
    }

    /// The steps of a word with what stands behind it.
    pub fn calls(&self, word: &str) -> impl Iterator<Item = (&Step, &[Argument])> {
        self.steps().into_iter().filter_map(move |step| match &step.operation {
            Operation::Call(name, arguments) if *name == word => Some((step, arguments.as_slice())),
            _ => None,
        })
    }
}

/// Whether two operations are the same but for the steps within them, of which they have as many.
fn is_like(a: &Operation, b: &Operation) -> bool {
    use Operation::{
        Arithmetic, Call, Choice, Concat, ForEach, Group, Guard, If, SelectInput, Switch,
    };
    let cases = |list: &[(String, Statement)]| -> Vec<(String, usize)> {
        list.iter().map(|(name, s)| (name.clone(), s.steps.len())).collect()
    };
    match (a, b) {
        (Operation::Literal(a), Operation::Literal(b)) => a == b,
        (Call(a, with), Call(b, other)) => a == b && with == other,
        (Choice(a), Choice(b)) | (Concat(a), Concat(b)) => a.len() == b.len(),
        (Arithmetic(_, a, _), Arithmetic(_, b, _)) => a == b,
        (
            If { comparison: a, then, otherwise, .. },
            If { comparison: b, then: other_then, otherwise: other, .. },
        ) => {
            a == b
                && lengths(then) == lengths(other_then)
                && otherwise.as_ref().map(lengths) == other.as_ref().map(lengths)
        }
        (ForEach(a), ForEach(b)) | (Group(a), Group(b)) => a.steps.len() == b.steps.len(),
        (Switch { cases: a, default: x }, Switch { cases: b, default: y }) => {
            let length = |s: &Option<Statement>| s.as_ref().map(|s| s.steps.len());
            cases(a) == cases(b) && length(x) == length(y)
        }
        (SelectInput(a), SelectInput(b)) => cases(a) == cases(b),
        (Guard(a), Guard(b)) | (Operation::Script(a), Operation::Script(b)) => {
            lengths(a) == lengths(b)
        }
        _ => matches!((a, b), (Operation::Value, Operation::Value)),
    }
}

fn lengths(script: &Script) -> Vec<usize> {
    script.statements.iter().map(|s| s.steps.len()).collect()
}

fn push_script<'s>(open: &mut Vec<&'s Step>, script: &'s Script) {
    open.extend(script.statements.iter().rev().flat_map(|s| s.steps.iter().rev()));
}
