//! What the table of operators is made of.

use super::{NodeSpec, PlanCx};
use crate::error::{BuildError, LoadError, PlanError};
use crate::ir::{FormSet, FunctionBody, Typed};
use std::fmt;
use stead_onnx::Attributes;
use stead_tensor::DType;

/// The definition of an operator for a range of opset versions.
pub struct OpDef {
    /// `""` for `ai.onnx`; `stead` for operators that only passes make.
    pub domain: &'static str,
    /// The name.
    pub name: &'static str,
    /// The first opset version that this definition is right for.
    pub since: i64,
    /// The last one.
    pub until: i64,
    /// The inputs.
    pub inputs: &'static [Param],
    /// The outputs.
    pub outputs: &'static [Out],
    /// Whether the last of `outputs` may be repeated.
    pub variadic_outputs: bool,
    /// How nodes become plans.
    pub build: Build,
}

/// The first opset version that the reader accepts.
const FIRST_OPSET: i64 = 7;
/// The last one.
const LAST_OPSET: i64 = 28;

impl OpDef {
    /// An operator of `ai.onnx`, the same in all opsets.
    pub const fn new(
        name: &'static str,
        inputs: &'static [Param],
        outputs: &'static [Out],
        build: BuildFn,
    ) -> OpDef {
        OpDef {
            domain: "",
            name,
            since: FIRST_OPSET,
            until: LAST_OPSET,
            inputs,
            outputs,
            variadic_outputs: false,
            build: Build::Op(build),
        }
    }

    /// An operator of `ai.onnx` that other operators stand for, the same in all opsets.
    pub const fn function(
        name: &'static str,
        inputs: &'static [Param],
        outputs: &'static [Out],
        write: WriteFn,
    ) -> OpDef {
        OpDef {
            domain: "",
            name,
            since: FIRST_OPSET,
            until: LAST_OPSET,
            inputs,
            outputs,
            variadic_outputs: false,
            build: Build::Function(write),
        }
    }

    /// The same from opset version `since` on.
    pub const fn since(mut self, since: i64) -> OpDef {
        self.since = since;
        self
    }

    /// The same up to opset version `until`.
    pub const fn until(mut self, until: i64) -> OpDef {
        self.until = until;
        self
    }

    /// The same in another domain, where versions do not matter.
    pub const fn domain(mut self, domain: &'static str) -> OpDef {
        self.domain = domain;
        self.since = 1;
        self.until = i64::MAX;
        self
    }

    /// The same with any number of outputs like the last.
    pub const fn variadic_outputs(mut self) -> OpDef {
        self.variadic_outputs = true;
        self
    }
}

/// How nodes of an operator become plans.
pub enum Build {
    /// By a function.
    Op(BuildFn),
    /// They do not: when the model is lowered others take their place.
    Function(WriteFn),
    /// The planner inlines one of two bodies.
    If,
    /// The planner inlines the body once for each iteration.
    Loop,
    /// The planner inlines the body once for each slice of the scanned inputs.
    Scan,
    /// The planner inlines the body once for each element of the first input, a sequence.
    SequenceMap,
}

/// Builds a node once, when the session is made.
pub type BuildFn = fn(&NodeSpec<'_>) -> Result<OpPlan, BuildError>;

/// Writes the nodes that stand for a call of a function.
pub type WriteFn = fn(&mut FunctionBody<'_>) -> Result<(), LoadError>;

/// Plans a built node for concrete shapes.
pub type OpPlan = Box<dyn Fn(&mut PlanCx<'_>) -> Result<(), PlanError> + Send + Sync>;

/// Boxes a planning closure: it spares every operator the type annotations.
///
/// # Errors
/// None; the result is what build functions return.
pub fn plan_fn(
    f: impl Fn(&mut PlanCx<'_>) -> Result<(), PlanError> + Send + Sync + 'static,
) -> Result<OpPlan, BuildError> {
    Ok(Box::new(f))
}

/// Whether an input must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum In {
    /// It must.
    Required,
    /// It may be absent.
    Optional,
    /// The last one: any number from one on.
    Variadic,
    /// The last one: any number, none included, each optional.
    AnyNumber,
}

/// An input.
pub struct Param {
    /// Whether it must be there.
    pub kind: In,
    /// Inputs with the same non-zero number have the same element type.
    pub var: u8,
    /// The element types that are supported.
    pub types: TypeSet,
    /// What it may be: a tensor, unless the definition says otherwise.
    pub forms: FormSet,
}

impl Param {
    /// A required input. Inputs with the same non-zero `var` have the same type.
    pub const fn required(var: u8, types: TypeSet) -> Param {
        Param { kind: In::Required, var, types, forms: FormSet::TENSOR }
    }

    /// An optional input.
    pub const fn optional(var: u8, types: TypeSet) -> Param {
        Param { kind: In::Optional, var, types, forms: FormSet::TENSOR }
    }

    /// Any number of optional inputs, whose types are independent.
    pub const fn any_number(types: TypeSet) -> Param {
        Param { kind: In::AnyNumber, var: 0, types, forms: FormSet::TENSOR }
    }

    /// One or more inputs.
    pub const fn variadic(var: u8, types: TypeSet) -> Param {
        Param { kind: In::Variadic, var, types, forms: FormSet::TENSOR }
    }

    /// The same input in one of these forms.
    pub const fn in_form(mut self, forms: FormSet) -> Param {
        self.forms = forms;
        self
    }
}

/// The type of an output.
pub enum Out {
    /// That of this input.
    Like(usize),
    /// A tensor of the elements of this input, which may be a sequence.
    Element(usize),
    /// A sequence of the elements of this input.
    Sequence(usize),
    /// Always this.
    Fixed(DType),
    /// Computed from attributes and input types.
    Of(fn(&Attributes, &[Option<DType>]) -> Result<DType, BuildError>),
    /// Computed in the same way, for what may be no tensor.
    Typed(fn(&Attributes, &[Option<Typed>]) -> Result<Typed, BuildError>),
    /// That of the bodies' output, counted from the given position.
    Body(usize),
}

/// A set of element types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TypeSet(u64);

impl TypeSet {
    /// The set of these types.
    pub const fn of(types: &[DType]) -> TypeSet {
        let mut bits = 0;
        let mut i = 0;
        while i < types.len() {
            bits |= 1 << types[i] as u64;
            i += 1;
        }
        TypeSet(bits)
    }

    /// Types in either set.
    pub const fn or(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    /// Whether the type is in the set.
    pub const fn contains(self, dtype: DType) -> bool {
        self.0 & (1 << dtype as u64) != 0
    }
}

impl fmt::Display for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> =
            DType::ALL.iter().filter(|&&t| self.contains(t)).map(|t| t.name()).collect();
        f.write_str(&names.join(" "))
    }
}

/// Named sets of element types, for the tables.
pub mod types {
    use super::TypeSet;
    use stead_tensor::DType::*;

    /// Floats that kernels compute with.
    pub const FLOAT: TypeSet = TypeSet::of(&[F32, F16, BF16, F64]);
    /// All integers of whole bytes.
    pub const INT: TypeSet = TypeSet::of(&[I8, I16, I32, I64, U8, U16, U32, U64]);
    /// Indices and sizes.
    pub const INDEX: TypeSet = TypeSet::of(&[I32, I64]);
    /// Shapes and axes.
    pub const I64_ONLY: TypeSet = TypeSet::of(&[I64]);
    /// Conditions.
    pub const BOOL: TypeSet = TypeSet::of(&[Bool]);
    /// Single precision only.
    pub const F32_ONLY: TypeSet = TypeSet::of(&[F32]);
    /// All numbers.
    pub const NUMERIC: TypeSet = FLOAT.or(INT);
    /// Types of less than a byte. Their elements are packed, the first in the lowest bits, wherever they lie.
    pub const PACKED: TypeSet = TypeSet::of(&[U4, I4, F4E2M1, U2, I2]);
    /// Texts. They lie beside the arena, and their elements are not of one size.
    pub const STRING: TypeSet = TypeSet::of(&[String]);
    /// Everything that can be seen in another shape: strings are passed on as they are, and packed elements lie the same in
    /// every shape.
    pub const VIEWED: TypeSet = ANY.or(PACKED).or(STRING);
    /// Everything that can be moved by whole bytes.
    pub const ANY: TypeSet = NUMERIC
        .or(BOOL)
        .or(TypeSet::of(&[C64, C128, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0]));
}
