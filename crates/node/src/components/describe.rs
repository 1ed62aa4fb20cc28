//! What the class of a component says of it, once it was created.

use stead_app::Durability;
use stead_app::components::Dependencies;
use stead_python::{Value as Plain, from_numpy_name};
use stead_tensor::DType;

/// What a component says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Described {
    /// `handler`, `model`, ...
    pub(super) kind: String,
    /// Where it wants to stand in chains.
    pub(super) dependencies: Dependencies,
    /// What a model takes.
    pub(super) inputs: Vec<Spec>,
    /// What a model gives.
    pub(super) outputs: Vec<Spec>,
    /// What a model of sequences hands from step to step.
    pub(super) state: Vec<Spec>,
    /// The most rows that a model takes at once; 0 where the first axis counts no rows.
    pub(super) max_batch: u32,
    /// What of the sequences of a model outlives the process.
    pub(super) durability: Durability,
}

/// An input, output or state of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) dtype: DType,
    /// `None` for any size.
    pub(super) shape: Vec<Option<usize>>,
}

impl Described {
    /// Reads a description.
    ///
    /// # Errors
    /// In words for who deploys the component.
    pub(super) fn read(description: Plain) -> Result<Described, String> {
        let mut found = Described::default();
        let Plain::Dict(members) = description else {
            return Err("it has no description".to_owned());
        };
        for (name, value) in members {
            match name.as_str() {
                "kind" => found.kind = text(value).unwrap_or_default(),
                "provides" => found.dependencies.provides = texts(value),
                "before" => found.dependencies.before = texts(value),
                "after" => found.dependencies.after = texts(value),
                "inputs" => found.inputs = specs("input", value)?,
                "outputs" => found.outputs = specs("output", value)?,
                "state" => found.state = specs("state", value)?,
                "max_batch" => found.max_batch = rows(&value)?,
                "durability" => found.durability = durability(&text(value).unwrap_or_default())?,
                _ => {}
            }
        }
        Ok(found)
    }

    /// What a model takes, gives and keeps, with what messages call these.
    pub(super) fn lists(&self) -> [(&'static str, &[Spec]); 3] {
        [("input", &self.inputs), ("output", &self.outputs), ("state", &self.state)]
    }
}

fn text(value: Plain) -> Option<String> {
    match value {
        Plain::Str(text) => Some(text),
        _ => None,
    }
}

fn texts(value: Plain) -> Vec<String> {
    match value {
        Plain::List(list) => list.into_iter().filter_map(text).collect(),
        _ => Vec::new(),
    }
}

fn rows(value: &Plain) -> Result<u32, String> {
    match value {
        Plain::Int(rows) if u32::try_from(*rows).is_ok() => Ok(*rows as u32),
        Plain::Int(rows) => {
            Err(format!("its max_batch is {rows}; expected a number of rows, or 0"))
        }
        _ => Ok(0),
    }
}

fn durability(name: &str) -> Result<Durability, String> {
    match name {
        "memory" => Ok(Durability::Memory),
        "snapshot" => Ok(Durability::Snapshot),
        "every_step" => Ok(Durability::EveryStep),
        other => Err(format!(
            "its durability is {other:?}; expected \"memory\", \"snapshot\" or \"every_step\""
        )),
    }
}

fn specs(what: &str, value: Plain) -> Result<Vec<Spec>, String> {
    let Plain::List(list) = value else { return Ok(Vec::new()) };
    let spec = |value: Plain| {
        let Plain::Dict(members) = value else { return Err(format!("an {what} has no name")) };
        let (mut name, mut dtype, mut shape) = (String::new(), String::new(), Vec::new());
        for (member, value) in members {
            match (member.as_str(), value) {
                ("name", Plain::Str(found)) => name = found,
                ("dtype", Plain::Str(found)) => dtype = found,
                ("shape", Plain::List(sizes)) => shape = sizes,
                _ => {}
            }
        }
        let dtype = match dtype.as_str() {
            "string" => Some(DType::String),
            numpy => from_numpy_name(numpy),
        }
        .ok_or_else(|| {
            format!("its {what} {name} is of the type {dtype:?}; expected string or the name of a type of numpy such as float32")
        })?;
        let size = |size: Plain| match size {
            Plain::Int(size) => Ok(usize::try_from(size).ok()),
            _ => Err(format!("its {what} {name} has a size that is no number")),
        };
        let shape = shape.into_iter().map(size).collect::<Result<_, _>>()?;
        Ok(Spec { name, dtype, shape })
    };
    list.into_iter().map(spec).collect()
}

#[cfg(test)]
mod tests {
    use super::super::plain::dict;
    use super::*;

    fn spec(name: &str, dtype: &str, shape: &[i64]) -> Plain {
        let shape = Plain::List(shape.iter().map(|n| (*n).into()).collect());
        dict([("name", name.into()), ("dtype", dtype.into()), ("shape", shape)])
    }

    #[test]
    fn descriptions_are_read() {
        let names = |list: &[&str]| Plain::List(list.iter().map(|n| Plain::from(*n)).collect());
        let found = Described::read(dict([
            ("kind", "model".into()),
            ("class", "a.B".into()),
            ("before", names(&["x", "y"])),
            ("inputs", Plain::List(vec![spec("x", "float32", &[-1, 3])])),
            ("outputs", Plain::List(vec![spec("t", "string", &[])])),
            ("state", Plain::List(Vec::new())),
            ("max_batch", 8.into()),
            ("durability", "every_step".into()),
        ]));
        let found = found.unwrap();
        assert_eq!((found.kind.as_str(), found.max_batch), ("model", 8));
        assert_eq!(found.durability, Durability::EveryStep);
        assert_eq!(found.dependencies.before, ["x", "y"]);
        let x = Spec { name: "x".to_owned(), dtype: DType::F32, shape: vec![None, Some(3)] };
        assert_eq!(found.inputs, [x]);
        assert_eq!((found.outputs[0].dtype, found.outputs[0].shape.len()), (DType::String, 0));
        for (label, description, expected) in [
            ("nothing", Plain::None, "it has no description"),
            (
                "rows below 0",
                dict([("max_batch", (-1).into())]),
                "its max_batch is -1; expected a number of rows, or 0",
            ),
            (
                "no durability",
                dict([("durability", "always".into())]),
                "its durability is \"always\"; expected \"memory\", \"snapshot\" or \"every_step\"",
            ),
            (
                "no type",
                dict([("inputs", Plain::List(vec![spec("x", "float31", &[])]))]),
                "its input x is of the type \"float31\"; expected string or the name of a type of numpy such as float32",
            ),
        ] {
            assert_eq!(Described::read(description).unwrap_err(), expected, "{label}");
        }
    }
}
