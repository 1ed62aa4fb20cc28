//! Rows of training data equal those of the Python function that rankers of Vespa are trained by.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use stead_embed::{CLS, SEP, Settings, Tokenizer, attention_mask, input_ids, token_type_ids};

const TOKENIZER: &[u8] = include_bytes!("data/tokenizer.json");
const VOCABULARY: &str = include_str!("data/vocab.txt");
const PAIRS: &str = include_str!("data/pairs.jsonl");
const ROWS: &str = include_str!("data/rows.json");

/// The cells of a tensor of this size: what is too long is cut, zeros stand behind.
fn cells(tokenizer: &Tokenizer, text: &str, size: usize) -> Vec<f32> {
    let mut cells: Vec<f32> = tokenizer.encode(text).unwrap().iter().map(|id| *id as f32).collect();
    cells.resize(size, 0.0);
    cells
}

fn row(rows: &Value, name: &str, at: usize) -> Vec<f32> {
    let row = rows[name][at].as_array().unwrap();
    row.iter().map(|id| id.as_f64().unwrap() as f32).collect()
}

#[test]
fn joined_tensors_equal_create_bert_encodings() {
    let settings = Settings::default();
    let json = Tokenizer::from_json(TOKENIZER, settings).unwrap();
    let vocabulary = Tokenizer::from_vocabulary(VOCABULARY, settings).unwrap();
    let rows: Value = serde_json::from_str(ROWS).unwrap();
    let pairs: Vec<Value> = PAIRS.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(pairs.len(), rows["labels"].as_array().unwrap().len());
    for (name, tokenizer) in [("tokenizer.json", &json), ("vocab.txt", &vocabulary)] {
        for (at, pair) in pairs.iter().enumerate() {
            let text = |name: &str| pair[name].as_str().unwrap();
            // Only tokenizer.json knows tokens that are no text.
            if name == "vocab.txt" && text("query").contains("[SEP]") {
                continue;
            }
            let query = cells(tokenizer, text("query"), 30);
            let document = cells(tokenizer, text("document"), 95);
            let texts: [&[f32]; 2] = [&query, &document];
            let (mut ids, mut types, mut mask) = ([9.0; 128], [9.0; 128], [9.0; 128]);
            input_ids(&texts, f32::from(CLS), f32::from(SEP), &mut ids);
            token_type_ids(&texts, &mut types);
            attention_mask(&texts, &mut mask);
            assert_eq!(ids[..], row(&rows, "input_ids", at), "{name}, pair {at}");
            assert_eq!(types[..], row(&rows, "token_type_ids", at), "{name}, pair {at}");
            assert_eq!(mask[..], row(&rows, "attention_mask", at), "{name}, pair {at}");
        }
    }
}
