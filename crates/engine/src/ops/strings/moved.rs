//! Operators that only move elements, over strings: they move the numbers of the strings, and those are picked in the end.
//!
//! So each operator has one form for all types, and what is known of the places where elements go is known without the strings.

use crate::error::LoadError;
use crate::ir::{FunctionBody, Typed, ValueId};
use crate::ops::{Build, OpDef};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Tensor};

/// Which inputs of an operator have the elements that it moves.
#[derive(Debug, Clone, Copy)]
enum Moved {
    All,
    At(&'static [usize]),
}

impl Moved {
    fn has(self, input: usize) -> bool {
        match self {
            Moved::All => true,
            Moved::At(list) => list.contains(&input),
        }
    }
}

const FIRST: Moved = Moved::At(&[0]);

/// The operators, in the order of their names.
const OPERATORS: [(&str, Moved); 15] = [
    ("Compress", FIRST),
    ("Concat", Moved::All),
    ("Expand", FIRST),
    ("Gather", FIRST),
    ("GatherElements", FIRST),
    ("GatherND", FIRST),
    ("Pad", Moved::At(&[0, PADDING])),
    ("ReverseSequence", FIRST),
    ("ScatterElements", Moved::At(&[0, 2])),
    ("ScatterND", Moved::At(&[0, 2])),
    ("Slice", FIRST),
    ("Split", FIRST),
    ("Tile", FIRST),
    ("Transpose", FIRST),
    ("Where", Moved::At(&[1, 2])),
];

/// The input of Pad that says what is put around.
const PADDING: usize = 2;

/// Whether an operator moves strings of an input, though its definition has none.
pub fn takes(def: &OpDef, input: usize) -> bool {
    let is_it = |(name, moved): &(&str, Moved)| *name == def.name && moved.has(input);
    could(def) && OPERATORS.iter().any(is_it)
}

/// Whether strings fit a definition: not where what is put around is a number in an attribute, nor before opset 7.
fn could(def: &OpDef) -> bool {
    let knows_padding = def.name != "Pad" || def.inputs.len() > PADDING;
    def.domain.is_empty() && matches!(def.build, Build::Op(_)) && knows_padding
}

/// Which inputs have strings that an operator moves; nothing if it is none of those, or if anything else of it is of another type.
fn moved(op: &str, inputs: &[Option<Typed>]) -> Option<Vec<usize>> {
    let (_, moved) = OPERATORS.iter().find(|(name, _)| *name == op)?;
    let there = (0..inputs.len()).filter(|at| inputs[*at].is_some());
    let (data, others): (Vec<usize>, Vec<usize>) = there.partition(|at| moved.has(*at));
    let is_string = |at: &usize| inputs[*at] == Some(Typed::tensor(DType::String));
    (!data.is_empty() && data.iter().all(is_string) && !others.iter().any(is_string))
        .then_some(data)
}

/// Whether a definition is one of an operator that moves strings here, as these inputs are.
pub fn applies(def: &OpDef, inputs: &[Option<Typed>]) -> bool {
    could(def) && moved(def.name, inputs).is_some()
}

/// Writes the call of an operator for which [`applies`] holds.
///
/// # Errors
/// [`LoadError`] of the operator, and reductions of strings.
pub fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let mut inputs: Vec<_> = (0..f.input_count()).map(|input| f.optional(input)).collect();
    let types: Vec<_> = inputs.iter().map(|id| id.map(|id| Typed::tensor(f.dtype(id)))).collect();
    let mut data = moved(f.op_type(), &types).unwrap_or_default();
    if f.op_type().starts_with("Scatter")
        && f.attributes().string_or("reduction", "none")? != "none"
    {
        return Err(f.refuse("a reduction of strings; supported: none"));
    }
    if f.op_type() == "Pad" && !data.contains(&PADDING) {
        inputs.resize(inputs.len().max(PADDING + 1), None);
        inputs[PADDING] = Some(f.constant_of(Tensor::from_strings(vec![Vec::new()], &[])?));
        data.push(PADDING);
    }
    let sources: Vec<ValueId> = data.iter().filter_map(|at| inputs[*at]).collect();
    let mut next = f.scalar(0_i64)?;
    for (at, source) in data.iter().zip(&sources) {
        let (numbers, end) = numbered(f, *source, next)?;
        (inputs[*at], next) = (Some(numbers), end);
    }
    for (output, numbers) in f.again(inputs)?.into_iter().enumerate() {
        if let Some(numbers) = numbers {
            let picked =
                std::iter::once(numbers).chain(sources.iter().copied()).map(Some).collect();
            let picked = f.call_of(("stead", "Pick"), picked, &[])?;
            f.give(output, picked);
        }
    }
    Ok(())
}

/// Numbers from one on in the shape of a tensor, and the number behind them.
fn numbered(
    f: &mut FunctionBody<'_>,
    of: ValueId,
    from: ValueId,
) -> Result<(ValueId, ValueId), LoadError> {
    let (shape, count) = (f.call("Shape", &[of], &[])?, f.call("Size", &[of], &[])?);
    let (end, one) = (f.call("Add", &[from, count], &[])?, f.scalar(1_i64)?);
    let numbers = f.call("Range", &[from, end, one], &[])?;
    let keeps_zeros = [("allowzero", AttributeValue::Int(1))];
    Ok((f.call("Reshape", &[numbers, shape], &keeps_zeros)?, end))
}
