//! A type on the first line and JSON behind it: what is read as a tensor is written in every form and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_expr::codec::json::{Form, from_json, to_json};
use stead_expr::parse_type;

fuzz_target!(|text: &str| {
    let Some((kind, json)) = text.split_once('\n') else { return };
    let Ok(kind) = parse_type(kind) else { return };
    // Larger ones are bounded by memory, but not by the seconds of a fuzzer.
    if kind.block_size() > 4096 {
        return;
    }
    let Ok(json) = serde_json::from_str(json) else { return };
    let Ok(value) = from_json(&kind, &json) else { return };
    assert!(kind.takes(value.kind()));
    let kind = value.kind().clone();
    assert_eq!(value.cells().len(), value.blocks() * kind.block_size());
    for form in [Form::Short, Form::Long, Form::Hex] {
        let again = from_json(&kind, &to_json(&value, form)).expect("what was written is read");
        assert_eq!(again.labels(), value.labels());
        // Not a number has many forms, and infinity has none but in hexadecimal.
        let same = (0..value.cells().len()).all(|at| {
            let (a, b) = (value.cells().get(at), again.cells().get(at));
            a == b || a.is_none_or(|a| !a.is_finite())
        });
        assert!(same, "{value} {again}");
    }
});
