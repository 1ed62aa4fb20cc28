//! What a value is besides its element type: a tensor, a sequence of tensors, one of both that may be missing, or a map.

use std::fmt;
use stead_onnx::ValueType;
use stead_tensor::DType;

/// What a value is made of. The operators of ONNX take no others: no sequence holds sequences or optionals, and the values
/// of maps are scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Form {
    /// One tensor.
    #[default]
    Tensor,
    /// Any number of tensors of one element type, each of its own shape.
    Sequence,
    /// A tensor or nothing.
    OptionalTensor,
    /// A sequence or nothing.
    OptionalSequence,
    /// A map whose keys are `i64`.
    MapByInt,
    /// A map whose keys are strings.
    MapByString,
    /// A sequence of maps that have the same keys, which are `i64`.
    MapsByInt,
    /// A sequence of maps that have the same keys, which are strings.
    MapsByString,
}

impl Form {
    /// All of them.
    pub const ALL: [Form; 8] = [
        Form::Tensor,
        Form::Sequence,
        Form::OptionalTensor,
        Form::OptionalSequence,
        Form::MapByInt,
        Form::MapByString,
        Form::MapsByInt,
        Form::MapsByString,
    ];

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Form::Tensor => "tensor",
            Form::Sequence => "sequence",
            Form::OptionalTensor => "optional",
            Form::OptionalSequence => "optional sequence",
            Form::MapByInt => "map by i64",
            Form::MapByString => "map by string",
            Form::MapsByInt => "sequence of maps by i64",
            Form::MapsByString => "sequence of maps by string",
        }
    }

    /// What may be missing, or this; a map never is.
    pub const fn optional(self) -> Form {
        match self {
            Form::Tensor | Form::OptionalTensor => Form::OptionalTensor,
            Form::Sequence | Form::OptionalSequence => Form::OptionalSequence,
            map => map,
        }
    }

    /// What it is when it is there.
    pub const fn present(self) -> Form {
        match self {
            Form::Tensor | Form::OptionalTensor => Form::Tensor,
            Form::Sequence | Form::OptionalSequence => Form::Sequence,
            map => map,
        }
    }

    /// The element type of the keys, for maps and sequences of maps.
    pub const fn key(self) -> Option<DType> {
        match self {
            Form::MapByInt | Form::MapsByInt => Some(DType::I64),
            Form::MapByString | Form::MapsByString => Some(DType::String),
            _ => None,
        }
    }

    /// Whether it is a sequence of maps.
    pub const fn is_maps(self) -> bool {
        matches!(self, Form::MapsByInt | Form::MapsByString)
    }

    /// Whether every value of the form `other` is one of this form.
    pub fn holds(self, other: Form) -> bool {
        self == other || self == other.optional()
    }
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Typed {
    /// The element type, of the tensors of a sequence and of the values of a map too.
    pub dtype: DType,
    /// What the value is made of.
    pub form: Form,
}

impl Typed {
    /// A tensor's.
    pub const fn tensor(dtype: DType) -> Typed {
        Typed { dtype, form: Form::Tensor }
    }

    /// The type that a file declares; `None` for one that the engine does not have.
    pub fn of(ty: &ValueType) -> Option<Typed> {
        match ty {
            ValueType::Tensor { dtype, .. } => Some(Typed::tensor(*dtype)),
            ValueType::Sequence(inner) => match Typed::of(inner)? {
                Typed { dtype, form: Form::Tensor } => Some(Typed { dtype, form: Form::Sequence }),
                Typed { dtype, form: Form::MapByInt } => {
                    Some(Typed { dtype, form: Form::MapsByInt })
                }
                Typed { dtype, form: Form::MapByString } => {
                    Some(Typed { dtype, form: Form::MapsByString })
                }
                _ => None,
            },
            ValueType::Map { key: DType::I64, value } => {
                Some(Typed { dtype: value.dtype()?, form: Form::MapByInt })
            }
            ValueType::Map { key: DType::String, value } => {
                Some(Typed { dtype: value.dtype()?, form: Form::MapByString })
            }
            ValueType::Optional(inner) => match Typed::of(inner)? {
                Typed { dtype, form: form @ (Form::Tensor | Form::Sequence) } => {
                    Some(Typed { dtype, form: form.optional() })
                }
                _ => None,
            },
            _ => None,
        }
    }
}

impl fmt::Display for Typed {
    /// As the file's types are shown, without shapes: `f32`, `seq(f32)`, `optional(seq(f32))`, `map(string,f32)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dtype = self.dtype;
        match self.form {
            Form::Tensor => write!(f, "{dtype}"),
            Form::Sequence => write!(f, "seq({dtype})"),
            Form::OptionalTensor => write!(f, "optional({dtype})"),
            Form::OptionalSequence => write!(f, "optional(seq({dtype}))"),
            Form::MapByInt => write!(f, "map(i64,{dtype})"),
            Form::MapByString => write!(f, "map(string,{dtype})"),
            Form::MapsByInt => write!(f, "seq(map(i64,{dtype}))"),
            Form::MapsByString => write!(f, "seq(map(string,{dtype}))"),
        }
    }
}

/// A set of forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormSet(u8);

impl FormSet {
    /// Tensors.
    pub const TENSOR: FormSet = FormSet::of(&[Form::Tensor]);
    /// Sequences.
    pub const SEQUENCE: FormSet = FormSet::of(&[Form::Sequence]);
    /// A map.
    pub const MAP: FormSet = FormSet::of(&[Form::MapByInt, Form::MapByString]);
    /// A map whose keys are `i64`.
    pub const MAP_BY_INT: FormSet = FormSet::of(&[Form::MapByInt]);
    /// What is there.
    pub const PRESENT: FormSet = FormSet::of(&[Form::Tensor, Form::Sequence]);
    /// What is there, and what may be missing.
    pub const ANY: FormSet =
        FormSet::of(&[Form::Tensor, Form::Sequence, Form::OptionalTensor, Form::OptionalSequence]);
    /// Every form.
    pub const ALL: FormSet = FormSet::of(&Form::ALL);

    const fn of(forms: &[Form]) -> FormSet {
        let mut bits = 0;
        let mut i = 0;
        while i < forms.len() {
            bits |= 1 << forms[i] as u8;
            i += 1;
        }
        FormSet(bits)
    }

    /// Whether the form is in the set.
    pub const fn contains(self, form: Form) -> bool {
        self.0 & (1 << form as u8) != 0
    }

    /// The forms of the set.
    pub fn forms(self) -> impl Iterator<Item = Form> {
        Form::ALL.into_iter().filter(move |&form| self.contains(form))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_files_are_taken_to_the_depth_that_operators_have() {
        let tensor = || Box::new(ValueType::tensor(DType::F32, None));
        let sequence = || Box::new(ValueType::Sequence(tensor()));
        let optional = || Box::new(ValueType::Optional(tensor()));
        let map = |key| Box::new(ValueType::Map { key, value: tensor() });
        let cases = [
            (*tensor(), Some("f32")),
            (*sequence(), Some("seq(f32)")),
            (*optional(), Some("optional(f32)")),
            (ValueType::Optional(sequence()), Some("optional(seq(f32))")),
            (ValueType::Sequence(sequence()), None),
            (ValueType::Sequence(optional()), None),
            (ValueType::Optional(optional()), None),
            (*map(DType::I64), Some("map(i64,f32)")),
            (*map(DType::String), Some("map(string,f32)")),
            (ValueType::Sequence(map(DType::I64)), Some("seq(map(i64,f32))")),
            (ValueType::Sequence(map(DType::String)), Some("seq(map(string,f32))")),
            (*map(DType::I32), None),
            (ValueType::Map { key: DType::I64, value: sequence() }, None),
            (ValueType::Optional(map(DType::I64)), None),
            (ValueType::Unknown, None),
        ];
        for (ty, expected) in cases {
            assert_eq!(Typed::of(&ty).map(|t| t.to_string()).as_deref(), expected, "{ty}");
        }
    }

    #[test]
    fn an_optional_holds_what_is_there() {
        let [tensor, sequence, optional, optional_sequence, map, ..] = Form::ALL;
        let holds = |a: Form| Form::ALL.into_iter().filter(|&b| a.holds(b)).collect::<Vec<_>>();
        assert_eq!(holds(tensor), [tensor]);
        assert_eq!(holds(sequence), [sequence]);
        assert_eq!(holds(optional), [tensor, optional]);
        assert_eq!(holds(optional_sequence), [sequence, optional_sequence]);
        assert_eq!(holds(map), [map]);
        assert!(Form::ALL.iter().all(|f| f.optional().present() == f.present()));
    }
}
