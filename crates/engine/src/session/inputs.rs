//! Whether inputs are what a model asks for.

use crate::error::RunError;
use crate::model::IoSpec;
use crate::plan::Growing;
use stead_tensor::{DType, Shape, TensorView};

/// Checks number, types, shapes and alignment of the inputs; a state that grows stands for an input that is absent.
pub(super) fn check_inputs(
    specs: &[IoSpec],
    inputs: &[Option<TensorView<'_>>],
    growing: &[Growing],
) -> Result<(), RunError> {
    if inputs.len() != specs.len() {
        return Err(RunError::InputCount { expected: specs.len(), actual: inputs.len() });
    }
    let grows = |input: usize| growing.iter().find(|state| state.input == input);
    for (index, (spec, input)) in specs.iter().zip(inputs).enumerate() {
        let Some(view) = input else {
            match grows(index) {
                Some(state) => check(spec, state.growth.dtype(), &state.growth.shape())?,
                None if spec.optional => {}
                None => return Err(RunError::MissingInput(spec.name.clone())),
            }
            continue;
        };
        check(spec, view.dtype(), &view.shape())?;
        if !view.is_aligned() {
            return Err(RunError::Misaligned(spec.name.clone()));
        }
    }
    Ok(())
}

/// Checks the type and shape of one tensor.
pub(super) fn check(spec: &IoSpec, actual: DType, shape: &Shape) -> Result<(), RunError> {
    check_type(spec, actual)?;
    if !spec.accepts(shape) {
        let (name, expected) = (spec.name.clone(), spec.dims_text());
        return Err(RunError::InputShape { name, expected, actual: *shape });
    }
    Ok(())
}

/// Checks the element type of one tensor.
pub(super) fn check_type(spec: &IoSpec, actual: DType) -> Result<(), RunError> {
    if actual != spec.dtype {
        let (name, expected) = (spec.name.clone(), spec.dtype);
        return Err(RunError::InputType { name, expected, actual });
    }
    Ok(())
}
