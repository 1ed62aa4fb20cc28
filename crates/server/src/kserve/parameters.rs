//! Request parameters: which are used up here, which go on to the node.

use crate::fault::Fault;
use crate::json::{JsonError, Kind, Reader};
use std::time::{Duration, Instant};
use stead_node::{Param, Parameters};

/// Reads an object of scalar parameters.
///
/// # Errors
/// Values that are no boolean, number or string.
pub fn read_parameters(reader: &mut Reader<'_>) -> Result<Parameters, Fault> {
    let mut parameters = Vec::new();
    reader.object::<Fault>(|r, key| {
        let value = match r.peek()? {
            Kind::Bool => Param::Bool(r.boolean()?),
            Kind::String => Param::Str(r.string()?.into_owned()),
            Kind::Number => read_number(r)?,
            _ => {
                let wrong = r.wrong_kind("boolean, number or string");
                return Err(Fault::from(wrong).at(&format!("parameter '{key}'")));
            }
        };
        parameters.push((key.to_owned().into(), value));
        Ok(())
    })?;
    Ok(parameters.into_iter().collect())
}

fn read_number(reader: &mut Reader<'_>) -> Result<Param, JsonError> {
    let mut attempt = reader.clone();
    if let Ok(v) = attempt.number::<u64>() {
        *reader = attempt;
        return Ok(Param::U64(v));
    }
    let mut attempt = reader.clone();
    if let Ok(v) = attempt.number::<i64>() {
        *reader = attempt;
        return Ok(Param::I64(v));
    }
    reader.number().map(Param::F64)
}

/// Checks parameters that the protocol reserves and takes out the ones that only adapters need.
///
/// # Errors
/// Reserved names that are unknown, and values of a wrong type.
pub fn check_parameters(parameters: &mut Parameters) -> Result<(), Fault> {
    // A hint about streams that tritonclient sends; every response here is final anyway.
    parameters.remove("triton_enable_empty_final_response");
    for (name, value) in parameters.iter() {
        let expected = match (&**name, value) {
            ("sequence_id", Param::U64(_) | Param::Str(_))
            | (
                "sequence_start" | "sequence_end" | "binary_data_output" | "stead_trace",
                Param::Bool(_),
            ) => {
                continue;
            }
            ("priority" | "timeout" | "sequence_step", Param::U64(_)) => continue,
            ("sequence_id", _) => "an unsigned integer or a string",
            ("sequence_start" | "sequence_end" | "binary_data_output" | "stead_trace", _) => {
                "a boolean"
            }
            ("priority" | "timeout" | "sequence_step", _) => "an unsigned integer",
            _ if name.starts_with("triton_") => {
                return Err(Fault::invalid(format!(
                    "parameter '{name}' is reserved: names must not start with 'triton_'"
                )));
            }
            _ => continue,
        };
        return Err(Fault::invalid(format!("parameter '{name}' must be {expected}")));
    }
    Ok(())
}

/// When the answer is of no more use, by parameter `timeout` in microseconds; 0 means never.
pub fn take_deadline(parameters: &mut Parameters) -> Option<Instant> {
    match parameters.remove("timeout") {
        Some(Param::U64(us)) if us > 0 => Instant::now().checked_add(Duration::from_micros(us)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_their_types() {
        let cases = [
            (r#"{"sequence_id":7,"sequence_start":true,"mine":"x","f":1.5,"n":-3}"#, true),
            (r#"{"sequence_id":"abc"}"#, true),
            (r#"{"sequence_id":18446744073709551615}"#, true),
            (r#"{"timeout":1000,"priority":1}"#, true),
            (r#"{"triton_enable_empty_final_response":true}"#, true),
            (r#"{"sequence_id":-3}"#, false),
            (r#"{"sequence_id":1.5}"#, false),
            (r#"{"sequence_id":18446744073709551616}"#, false),
            (r#"{"sequence_start":1}"#, false),
            (r#"{"stead_trace":true}"#, true),
            (r#"{"stead_trace":1}"#, false),
            (r#"{"sequence_step":2}"#, true),
            (r#"{"sequence_step":"2"}"#, false),
            (r#"{"timeout":-1}"#, false),
            (r#"{"triton_x":1}"#, false),
            (r#"{"a":[1]}"#, false),
            (r#"{"a":null}"#, false),
            (r#"[]"#, false),
        ];
        for (text, good) in cases {
            let got = read_parameters(&mut Reader::new(text.as_bytes()))
                .and_then(|mut p| check_parameters(&mut p));
            assert_eq!(got.is_ok(), good, "{text}: {got:?}");
        }
    }

    #[test]
    fn a_timeout_of_zero_is_none() {
        for (us, some) in [(0, false), (5, true)] {
            let mut p = Parameters::from([("timeout".into(), Param::U64(us))]);
            assert_eq!(take_deadline(&mut p).is_some(), some);
            assert!(p.is_empty());
        }
    }
}
