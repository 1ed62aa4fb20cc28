//! Text as the predicate of a document: read, and what is negated is the opposite.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_store::predicate::{Known, evaluate};

/// Knows something of everything.
struct Anybody;

impl Known for Anybody {
    fn has(&self, name: &str, value: &str) -> u64 {
        (name.len() as u64).rotate_left(value.len() as u32)
    }

    fn within(&self, name: &str, from: i64, to: i64) -> u64 {
        assert!(from <= to);
        (name.len() as u64) ^ (from as u64) ^ (to as u64)
    }
}

fuzz_target!(|text: &str| match evaluate(text, &Anybody) {
    Ok(found) => {
        // One level more may be too deep.
        if let Ok(opposite) = evaluate(&format!("not ({text})"), &Anybody) {
            assert_eq!(opposite, !found);
        }
    }
    Err(error) => assert!(error.at <= text.len()),
});
