//! Tensors as they are written in schemas: without their types, which stand before them.

use stead_expr::{ExprError, Reason, TensorType, Value, compile};

use crate::package::Report;
use crate::schema::Expression;

/// The value of a literal of a type: a number, `[1,2]`, `{a:1}` or `{{x:a,y:b}:1}`. Errors are reported.
pub(in crate::application) fn tensor(
    kind: &TensorType,
    literal: &Expression,
    report: &mut Report,
) -> Option<Value> {
    let is_number = !literal.value.starts_with(['{', '[', 't']);
    if is_number && !kind.is_double() {
        let text = format!("expected a {kind}, found {:?}", literal.value);
        report.error(&literal.place, text);
        return None;
    }
    let prefix = if is_number { String::new() } else { format!("{}:", written(kind)) };
    let prefix = if literal.value.starts_with('t') { String::new() } else { prefix };
    let fail = |error: ExprError, report: &mut Report| {
        let column = if error.line == 1 {
            error.column.saturating_sub(prefix.len()).max(1)
        } else {
            error.column
        };
        report.error(&literal.place.within(error.line, column), error.reason.to_string());
    };
    let nothing = |_: &str| None;
    let value = match compile(&format!("{prefix}{}", literal.value), &nothing) {
        Ok(compiled) => compiled.run(&[]),
        Err(error) => {
            fail(error, report);
            return None;
        }
    };
    match value {
        Ok(value) if kind.takes(value.kind()) => Some(value),
        Ok(value) => {
            let text = format!("expected a {kind}, found a {}", value.kind());
            report.error(&literal.place, text);
            None
        }
        Err(error) => {
            let reason = Reason::Limit(error.to_string());
            fail(ExprError { line: 1, column: 1, reason }, report);
            None
        }
    }
}

/// A type as it stands before a literal.
fn written(kind: &TensorType) -> String {
    if kind.is_double() { "tensor()".to_owned() } else { kind.to_string() }
}
