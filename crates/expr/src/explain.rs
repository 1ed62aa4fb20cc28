//! Programs as lines for people: what is computed, how often, and what it cost.

use std::fmt;
use std::time::Duration;

use crate::ir::{Binary, Constant, Op, Place, Program, Rate, Step, Unary};
use crate::types::{CellType, TensorType};

/// The longest constant that is shown in full.
const MAX_SHOWN: usize = 40;

/// A step of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// How other lines refer to it: `%` and this number.
    pub number: usize,
    /// What it computes.
    pub text: String,
    /// The kernel that computes it in place of several steps.
    pub fused: Option<&'static str>,
    /// The type of its value.
    pub kind: TensorType,
    /// How often it is computed: once, for each query, or for each document.
    pub rate: Rate,
    /// The time it took in a run, all documents together; nothing if it was not measured.
    pub cost: Option<Duration>,
}

/// A program that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The steps, operands before those that use them; the last is the result.
    pub lines: Vec<Line>,
    /// How many documents there were.
    pub documents: usize,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{:<3} {:<9} {} = {}", self.number, self.rate, self.kind, self.text)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Rate::Constant => "constant",
            Rate::Query => "query",
            Rate::Document => "document",
        })
    }
}

impl fmt::Display for Explanation {
    /// A line for each step with its cost at the end, for steps of documents that for each document.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.lines.iter().map(Line::to_string).collect();
        let width = texts.iter().map(String::len).max().unwrap_or(0).min(100);
        for (line, text) in self.lines.iter().zip(texts) {
            match (line.cost, line.rate) {
                (Some(cost), Rate::Document) if self.documents > 0 => {
                    let nanos = cost.as_secs_f64() * 1e9 / self.documents as f64;
                    writeln!(f, "{text:<width$}  {nanos:10.1} ns/document")?;
                }
                (Some(cost), _) => {
                    let nanos = cost.as_secs_f64() * 1e9;
                    writeln!(f, "{text:<width$}  {nanos:10.1} ns")?;
                }
                (None, _) => writeln!(f, "{text}")?,
            }
        }
        Ok(())
    }
}

/// The lines of a program whose inputs have these names.
pub(crate) fn lines(program: &Program, names: &[String]) -> Vec<Line> {
    let line = |(number, step): (usize, &Step)| Line {
        number,
        text: text(program, step, names),
        fused: match &step.op {
            Op::Fused(fused) => Some(fused.name()),
            _ => None,
        },
        kind: step.kind.clone(),
        rate: step.rate,
        cost: None,
    };
    program.steps.iter().enumerate().map(line).collect()
}

/// What a step is: its function, and the inputs of the program that reach it.
pub(crate) fn origin(program: &Program, names: &[String], step: usize) -> String {
    let mut is_needed = vec![false; step + 1];
    is_needed[step] = true;
    for at in (0..=step).rev() {
        if is_needed[at] {
            program.steps[at].operands.iter().for_each(|o| is_needed[*o] = true);
        }
    }
    let input = |at: usize| match program.steps[at].op {
        Op::Input(number) => names.get(number).map(String::as_str),
        _ => None,
    };
    let inputs = (0..step).filter(|at| is_needed[*at]).filter_map(input);
    let inputs: Vec<&str> = inputs.collect();
    let function = function(&program.steps[step].op);
    if inputs.is_empty() {
        function.to_owned()
    } else {
        format!("{function} of {}", inputs.join(", "))
    }
}

/// The name of a function.
fn function(op: &Op) -> &'static str {
    match op {
        Op::Constant(_) => "a constant",
        Op::Input(_) => "a value",
        Op::Map(Unary::Known(function)) => function.name(),
        Op::Map(Unary::In(_)) => "in",
        Op::Map(Unary::Lambda(_)) => "map",
        Op::Join(Binary::Known(function)) | Op::Merge(Binary::Known(function)) => function.name(),
        Op::Join(Binary::Lambda(_)) => "join",
        Op::Merge(Binary::Lambda(_)) => "merge",
        Op::Reduce(aggregator) => aggregator.name(),
        Op::Rename(_) => "rename",
        Op::Concat(_) => "concat",
        Op::CellCast(_) => "cell_cast",
        Op::CellOrder { .. } => "cell_order",
        Op::UnpackBits { .. } => "unpack_bits",
        Op::Generate(_) | Op::Create(_) => "tensor",
        Op::Peek(_) => "a part",
        Op::MapSubspaces(_) => "map_subspaces",
        Op::FilterSubspaces(_) => "filter_subspaces",
        Op::If => "if",
        Op::Fused(fused) => fused.name(),
    }
}

fn text(program: &Program, step: &Step, names: &[String]) -> String {
    let list: Vec<String> = step.operands.iter().map(|o| format!("%{o}")).collect();
    let all = list.join(", ");
    let first = list.first().map_or("", String::as_str);
    match &step.op {
        Op::Constant(Constant(value)) => {
            let shown = value.to_string();
            match shown.len() {
                0..=MAX_SHOWN => shown,
                _ => format!("a constant of {} cells", value.cells().len()),
            }
        }
        Op::Input(number) => {
            names.get(*number).cloned().unwrap_or_else(|| format!("input {number}"))
        }
        Op::Map(Unary::Known(function)) => format!("{}({all})", function.name()),
        Op::Map(Unary::In(numbers)) => format!("{first} in [{} numbers]", numbers.len()),
        Op::Map(Unary::Lambda(inner)) => format!("map({all}, {})", lambda(inner)),
        Op::Join(Binary::Known(function)) => match (&list[..], function.name()) {
            ([a, b], name) if !name.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                format!("{a} {name} {b}")
            }
            (_, name) => format!("{name}({all})"),
        },
        Op::Join(Binary::Lambda(inner)) => format!("join({all}, {})", lambda(inner)),
        Op::Merge(Binary::Known(function)) => format!("merge({all}, {})", function.name()),
        Op::Merge(Binary::Lambda(inner)) => format!("merge({all}, {})", lambda(inner)),
        Op::Reduce(aggregator) => {
            let of = &program.steps[step.operands[0]].kind;
            let gone = of.dimensions().iter().filter(|d| step.kind.dimension(&d.name).is_none());
            let gone: String = gone.map(|d| format!(", {}", d.name)).collect();
            format!("reduce({all}, {}{gone})", aggregator.name())
        }
        Op::Rename(_) => format!("rename({all})"),
        Op::Concat(along) => format!("concat({all}, {along})"),
        Op::CellCast(cell) => format!("cell_cast({all}, {})", CellType::name(*cell)),
        Op::CellOrder { largest_first } => {
            format!("cell_order({all}, {})", if *largest_first { "max" } else { "min" })
        }
        Op::UnpackBits { .. } => format!("unpack_bits({all})"),
        Op::Generate(inner) => format!("{}({})", step.kind, lambda(inner)),
        Op::Create(cells) => format!("{} cells: {all}", cells.len()),
        Op::Peek(places) => {
            let of = &program.steps[step.operands[0]].kind;
            let place = |(number, place): &(usize, Place)| {
                let name = of.dimensions().get(*number).map_or("", |d| &*d.name);
                match place {
                    Place::Label(label) => format!("{name}:{}", label.label().text()),
                    Place::Index(index) => format!("{name}:{index}"),
                    Place::Operand(at) => format!("{name}:({})", list[*at]),
                }
            };
            let places: Vec<String> = places.iter().map(place).collect();
            format!("{first}{{{}}}", places.join(","))
        }
        Op::MapSubspaces(inner) => format!("map_subspaces({all}, {})", lambda(inner)),
        Op::FilterSubspaces(inner) => format!("filter_subspaces({all}, {})", lambda(inner)),
        Op::If => format!("if({all})"),
        Op::Fused(fused) => format!("[{}]({all})", fused.name()),
    }
}

fn lambda(program: &Program) -> String {
    format!("lambda of {} steps", program.steps.len())
}
