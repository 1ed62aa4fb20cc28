//! Bytes as the bodies of `POST /embed` and `POST /v1/embeddings`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_node::EmbedInput;
use stead_server::embeddings::{EmbedAsked, OpenAiAsked};

/// Bytes that are held for what is embedded.
fn held(inputs: &[EmbedInput]) -> usize {
    let bytes = |input: &EmbedInput| match input {
        EmbedInput::Text(text) => text.len(),
        EmbedInput::Ids(ids) => ids.len() * size_of::<u32>(),
    };
    inputs.iter().map(bytes).sum()
}

fuzz_target!(|bytes: &[u8]| {
    // An id of one digit and its comma are two bytes of JSON and four here.
    match EmbedAsked::read(bytes) {
        Ok(EmbedAsked::Plain(request)) => {
            assert!(!request.inputs.is_empty() && held(&request.inputs) <= 2 * bytes.len());
        }
        Ok(EmbedAsked::Tensors { texts, .. }) => assert!(!texts.is_empty()),
        Err(_) => {}
    }
    if let Ok(asked) = OpenAiAsked::read(bytes) {
        assert!(!asked.request.inputs.is_empty() && held(&asked.request.inputs) <= 2 * bytes.len());
    }
});
