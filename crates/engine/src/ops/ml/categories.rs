//! CategoryMapper, and LabelEncoder as it was in version 1: tables of names and numbers, read either way.

use super::ML;
use crate::error::{BuildError, LoadError};
use crate::ir::FunctionBody;
use crate::ops::{OpDef, Out, Param, TypeSet, types};
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::DType;

const INPUTS: &[Param] = &[Param::required(0, TypeSet::of(&[DType::I64]).or(types::STRING))];
const OUTPUTS: &[Out] = &[Out::Of(the_other)];

/// CategoryMapper, LabelEncoder of version 1.
pub const OPS: &[OpDef] = &[
    OpDef::function("CategoryMapper", INPUTS, OUTPUTS, |f| {
        let numbers = f.attributes().ints("cats_int64s")?.unwrap_or_default().to_vec();
        mapped(f, "cats_strings", numbers)
    })
    .domain(ML),
    OpDef::function("LabelEncoder", INPUTS, OUTPUTS, |f| {
        let count = f.attributes().bytes_list("classes_strings")?.unwrap_or_default().len();
        mapped(f, "classes_strings", (0..count as i64).collect())
    })
    .domain(ML)
    .until(1),
];

/// Names become numbers, and numbers names.
fn the_other(_: &Attributes, inputs: &[Option<DType>]) -> Result<DType, BuildError> {
    Ok(match inputs.first() {
        Some(Some(DType::String)) => DType::I64,
        _ => DType::String,
    })
}

/// The call as a LabelEncoder of today, by the names of an attribute and a number for each.
fn mapped(f: &mut FunctionBody<'_>, names: &str, numbers: Vec<i64>) -> Result<(), LoadError> {
    let names = f.attributes().bytes_list(names)?.unwrap_or_default().to_vec();
    if names.len() != numbers.len() {
        return Err(f.refuse(format!("{} names for {} numbers", names.len(), numbers.len())));
    }
    let x = f.input(0)?;
    let (names, numbers) = (AttributeValue::Strings(names), AttributeValue::Ints(numbers));
    let attributes = match f.dtype(x) {
        DType::String => {
            let default = f.attributes().int_or("default_int64", -1)?;
            [
                ("keys_strings", names),
                ("values_int64s", numbers),
                ("default_int64", AttributeValue::Int(default)),
            ]
        }
        _ => {
            let default = f.attributes().string_or("default_string", "_Unused")?;
            let default = AttributeValue::String(default.as_bytes().to_vec());
            [("keys_int64s", numbers), ("values_strings", names), ("default_string", default)]
        }
    };
    let y = f.call_of((ML, "LabelEncoder"), vec![Some(x)], &attributes)?;
    f.give(0, y);
    Ok(())
}
