//! Which tokenizer a component is, whatever its file is called.

use serde_json::Value;
use xxhash_rust::xxh3::Xxh3;

use crate::package::{PackageFiles, Report};
use crate::services::{Component, ComponentKind};

/// The largest tokenizer that is read; those of a quarter of a million words have some 20 MB.
const MAX_TOKENIZER: u64 = 256 << 20;

/// What `hugging-face-tokenizer` leaves out: the ids of the text alone do not depend on it.
const LEFT_OUT: [&str; 5] = ["version", "truncation", "padding", "post_processor", "decoder"];

/// A hash of all that decides which ids a text has: of `tokenizer.json` whatever its spaces and the order of its members, without
/// truncation, padding and special tokens, which do not count.
///
/// # Errors
/// Where the component is no `hugging-face-tokenizer`, or its file cannot be read.
pub fn tokenizer_hash(component: &Component, files: &PackageFiles) -> Result<String, String> {
    let id = &component.id;
    if component.kind != ComponentKind::HuggingFaceTokenizer {
        return Err(format!("component {id} is no hugging-face-tokenizer"));
    }
    let mut report = Report::default();
    let Some(settings) = component.tokenizer(files, &mut report) else {
        let errors: Vec<String> = report.errors().map(ToString::to_string).collect();
        return Err(errors.join("; "));
    };
    let path = &settings.file.value;
    let bytes = files.read(path, MAX_TOKENIZER).map_err(|e| e.to_string())?;
    let mut value: Value = serde_json::from_slice(&bytes).map_err(|e| format!("{path}: {e}"))?;
    if let Value::Object(members) = &mut value {
        members.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
    }
    let mut hash = Xxh3::new();
    feed(&value, &mut hash);
    Ok(format!("xxh3:{:032x}", hash.digest128()))
}

/// Feeds a value with its lengths, so that no two values are fed the same bytes. It is as deep as JSON may nest.
fn feed(value: &Value, hash: &mut Xxh3) {
    let text = |kind: u8, text: &str, hash: &mut Xxh3| {
        hash.update(&[kind]);
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    match value {
        Value::Null => hash.update(b"n"),
        Value::Bool(is) => hash.update(if *is { b"t" } else { b"f" }),
        Value::Number(number) => text(b'#', &number.to_string(), hash),
        Value::String(string) => text(b'"', string, hash),
        Value::Array(list) => {
            text(b'[', "", hash);
            hash.update(&(list.len() as u64).to_le_bytes());
            list.iter().for_each(|one| feed(one, hash));
        }
        Value::Object(members) => {
            text(b'{', "", hash);
            hash.update(&(members.len() as u64).to_le_bytes());
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in sorted {
                text(b'"', name, hash);
                feed(value, hash);
            }
        }
    }
}
