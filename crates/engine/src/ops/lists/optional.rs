//! Optionals: what may be missing is known when a plan is made.

use crate::error::{BuildError, PlanError};
use crate::ir::{FormSet, Typed};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use crate::plan::Fact;
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::{Bool, DType, Tensor};

/// Until opset 17 what is asked for its element has to be an optional; taking more does no harm.
const HELD: Param = Param::optional(0, types::VIEWED).in_form(FormSet::ANY);

/// Optional, OptionalGetElement, OptionalHasElement.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "Optional",
        &[Param::optional(0, types::VIEWED).in_form(FormSet::PRESENT)],
        &[Out::Typed(optional_type)],
        optional,
    )
    .since(15),
    OpDef::new(
        "OptionalGetElement",
        &[Param::required(0, types::VIEWED).in_form(FormSet::ANY)],
        &[Out::Typed(element_type)],
        get,
    )
    .since(15),
    OpDef::new("OptionalHasElement", &[HELD], &[Out::Fixed(DType::Bool)], has).since(15),
];

fn optional_type(attributes: &Attributes, inputs: &[Option<Typed>]) -> Result<Typed, BuildError> {
    if let Some(Some(Typed { dtype, form })) = inputs.first() {
        return Ok(Typed { dtype: *dtype, form: form.optional() });
    }
    let Some(AttributeValue::Type(ty)) = attributes.get("type") else {
        return Err(attributes.missing("type").into());
    };
    match Typed::of(ty) {
        Some(Typed { dtype, form }) if form.present() == form => {
            Ok(Typed { dtype, form: form.optional() })
        }
        _ => Err(BuildError::unsupported(format!("an optional of type {ty} is not supported"))),
    }
}

fn optional(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let fact = match cx.has_input(0) {
            true => cx.held(0)?,
            false => Fact::nothing(cx.output_type(0)?),
        };
        cx.give(0, fact);
        Ok(())
    })
}

fn element_type(_: &Attributes, inputs: &[Option<Typed>]) -> Result<Typed, BuildError> {
    let typed = inputs.first().copied().flatten();
    let missing = || BuildError::Arity("the input is missing".into());
    typed.map(|Typed { dtype, form }| Typed { dtype, form: form.present() }).ok_or_else(missing)
}

fn get(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        if !cx.holds(0) {
            return Err(PlanError::shape("the optional holds nothing"));
        }
        let fact = cx.held(0)?;
        cx.give(0, fact);
        Ok(())
    })
}

fn has(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let truth = Bool(cx.holds(0).into());
        cx.set_value(0, Tensor::scalar(truth)?);
        Ok(())
    })
}
