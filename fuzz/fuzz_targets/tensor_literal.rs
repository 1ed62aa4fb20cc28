//! Text as a tensor literal, `tensor(x[2]):[1,2]`: what is read has its type, is written, and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_expr::{Rate, TensorType, compile};

fn nothing(_: &str) -> Option<(TensorType, Rate)> {
    None
}

fuzz_target!(|text: &str| {
    let has_large_size = text.as_bytes().windows(4).any(|w| w.iter().all(u8::is_ascii_digit));
    if has_large_size || !text.trim_start().starts_with("tensor") {
        return;
    }
    let Ok(literal) = compile(text, &nothing) else { return };
    let Ok(value) = literal.run(&[]) else { return };
    assert_eq!(value.kind(), literal.kind());
    let written = value.to_string();
    if written.contains("nan") || written.contains("inf") || value.kind().dimensions().is_empty() {
        return;
    }
    let again = compile(&written, &nothing).expect("what was written is read");
    let again = again.run(&[]).expect("a literal has a value");
    assert_eq!(again.kind(), value.kind());
    assert_eq!(again.labels(), value.labels());
    assert_eq!(again.to_string(), written);
});
