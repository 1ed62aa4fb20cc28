//! A request to evaluate a model: a line with what follows `/model-evaluation/v1`, one with the query of the URL, one with the type of the
//! body, and the body. What the URL brings is what a form with the same text brings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_server::{EvaluationParameters, EvaluationTarget};

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(4, |b| *b == b'\n');
    let mut text = || std::str::from_utf8(parts.next()?).ok();
    let (Some(path), Some(query), Some(content_type)) = (text(), text(), text()) else { return };
    let body = parts.next().unwrap_or_default();
    if let Some(EvaluationTarget::Eval(_, names) | EvaluationTarget::Model(_, names)) =
        EvaluationTarget::of(path)
    {
        assert!(names.len() <= path.len());
    }
    let _ = EvaluationParameters::of(query, content_type, body);
    if !query.trim_ascii_start().starts_with('{') {
        let of_url = EvaluationParameters::of(query, "", b"").ok();
        let of_form = EvaluationParameters::of("", "", query.as_bytes()).ok();
        assert_eq!(of_url, of_form);
    }
});
