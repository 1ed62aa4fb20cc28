//! The precisions that a model has by itself.

use crate::error::LoadError;
use crate::ir::{Ir, Value};
use stead_tensor::{DType, Precision};

/// Which precisions the file itself has beside `f32`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Own {
    f64: bool,
    int8: bool,
}

impl Own {
    /// Those of a graph before its passes: what it reads or gives in `f64`, and arrays of bytes among its constants.
    pub(crate) fn of(ir: &Ir) -> Own {
        let is_array = |of: &[DType], value: &Value| {
            let constant = value.constant.as_ref();
            constant.is_some_and(|t| of.contains(&t.dtype()) && t.shape().elements() > 1)
        };
        let io = ir.body.inputs.iter().chain(&ir.body.outputs);
        let f64_io = io.into_iter().any(|&id| ir.value(id).dtype == DType::F64);
        Own {
            f64: f64_io || ir.values.iter().any(|v| is_array(&[DType::F64], v)),
            int8: ir.values.iter().any(|v| is_array(&[DType::I8, DType::U8], v)),
        }
    }

    /// Refuses a precision that the model cannot have.
    ///
    /// # Errors
    /// [`LoadError::Precision`].
    pub(crate) fn check(self, wanted: Precision) -> Result<(), LoadError> {
        let has = match wanted {
            Precision::F32 | Precision::Bf16 => true,
            Precision::F64 => self.f64,
            Precision::Int8 => self.int8,
        };
        if has {
            return Ok(());
        }
        let own = [("f64", self.f64), ("int8", self.int8)];
        let own = own.iter().filter(|(_, has)| *has).map(|(name, _)| format!(", {name}"));
        Err(LoadError::Precision {
            wanted,
            supported: format!("f32, bf16{}", own.collect::<String>()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_what_its_types_say() {
        use Precision::{Bf16, F32, F64, Int8};
        let cases = [
            ((false, false), vec![F32, Bf16], "f32, bf16"),
            ((true, false), vec![F32, Bf16, F64], "f32, bf16, f64"),
            ((false, true), vec![F32, Bf16, Int8], "f32, bf16, int8"),
            ((true, true), vec![F32, Bf16, F64, Int8], ""),
        ];
        for ((f64, int8), accepted, text) in cases {
            let own = Own { f64, int8 };
            for precision in [F32, Bf16, F64, Int8] {
                match own.check(precision) {
                    Ok(()) => assert!(accepted.contains(&precision), "{own:?} {precision}"),
                    Err(e) => {
                        assert!(!accepted.contains(&precision), "{own:?} {precision}");
                        let text = format!(
                            "precision {precision}: the model has no such weights; supported: {text}"
                        );
                        assert_eq!(e.to_string(), text);
                    }
                }
            }
        }
    }
}
