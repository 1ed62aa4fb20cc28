//! A type on the first line and JSON behind it: the text and its tree are the same tensor or none, and what is read is written in
//! every form and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use stead_expr::codec::json::{Form, from_json, from_json_text, to_json};
use stead_expr::parse_type;

fuzz_target!(|text: &str| {
    let Some((kind, json)) = text.split_once('\n') else { return };
    let Ok(kind) = parse_type(kind) else { return };
    // Larger ones are bounded by memory, but not by the seconds of a fuzzer.
    if kind.block_size() > 4096 {
        return;
    }
    let Ok(text) = serde_json::from_str::<&RawValue>(json) else { return };
    let Ok(json) = serde_json::from_str(json) else { return };
    let (value, of_text) = (from_json(&kind, &json), from_json_text(&kind, text));
    // By their texts: not a number is unlike itself.
    assert_eq!(format!("{value:?}"), format!("{of_text:?}"));
    let Ok(value) = value else { return };
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
