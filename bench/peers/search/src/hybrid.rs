//! Documents with texts and vectors, and queries for both, as a server takes them.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::Result;
use crate::corpus::{self, Random};
use crate::vectors::data;

const QUERIES: usize = 200;

/// The ranks of the words of queries: neither those that every text has nor those that hardly any has.
const RANKS: (f64, f64) = (20.0, 20_000.0);
const MOST_WORDS: usize = 5;

/// The numbers of words for a network that reads them. Those below the first are its marks.
const FIRST_TOKEN: u32 = 110;
const TOKENS: u32 = 8192;

/// How many tokens a document and a query have room for.
const OF_DOCUMENT: usize = 40;
const OF_QUERY: usize = 8;

/// Writes `documents.jsonl` and `queries.jsonl` to a folder.
pub fn written(count: usize, size: usize, folder: &Path) -> Result<Value> {
    let cells = data::vectors(count + QUERIES, size);
    let (documents, queries) = cells.split_at(count * size);
    let mut out = BufWriter::new(File::create(folder.join("documents.jsonl"))?);
    for (at, (text, vector)) in
        corpus::zipf(count).iter().zip(documents.chunks_exact(size)).enumerate()
    {
        let fields =
            json!({"text": text, "embedding": hex(vector), "tokens": tokens(text, OF_DOCUMENT)});
        writeln!(out, "{}", json!({"put": format!("id:bench:passage::{at}"), "fields": fields}))?;
    }
    out.flush()?;
    let mut out = BufWriter::new(File::create(folder.join("queries.jsonl"))?);
    let mut random = Random(7);
    for (at, vector) in queries.chunks_exact(size).enumerate() {
        let words: Vec<String> =
            (0..=at % MOST_WORDS).map(|_| corpus::word(random.rank(RANKS))).collect();
        let parts: Vec<String> = words.iter().map(|w| format!("text contains \"{w}\"")).collect();
        let yql = format!(
            "select text from passage where ({{targetHits: 100}}nearestNeighbor(embedding, q)) or ({{targetHits: 100}}weakAnd({}))",
            parts.join(", ")
        );
        // Many clients wait for longer than the half second that a query has.
        let query = json!({"yql": yql, "ranking": "hybrid", "hits": 10, "timeout": "60",
            "input.query(q)": vector, "input.query(tokens)": tokens(&words.join(" "), OF_QUERY)});
        writeln!(out, "{query}")?;
    }
    out.flush()?;
    Ok(json!({"documents": count, "queries": QUERIES}))
}

/// The bytes of numbers, which are read faster than their digits.
fn hex(vector: &[f32]) -> String {
    vector.iter().fold(String::new(), |mut text, x| {
        let _ = write!(text, "{:08X}", x.to_bits()); // a string takes all
        text
    })
}

/// A number for each word, and 0 behind the last.
fn tokens(text: &str, room: usize) -> Vec<u32> {
    let number = |word: &str| {
        let sum = word.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte));
        FIRST_TOKEN + sum % (TOKENS - FIRST_TOKEN)
    };
    let mut tokens: Vec<u32> = text.split(' ').map(number).take(room).collect();
    tokens.resize(room, 0);
    tokens
}

#[cfg(test)]
mod tests {
    use super::{hex, tokens};

    #[test]
    fn vectors_and_words_become_numbers() {
        assert_eq!(hex(&[1.0, -0.5]), "3F800000BF000000");
        let found = tokens("a b a", 5);
        assert_eq!((found[0], found[3..].to_vec()), (found[2], vec![0, 0]));
        assert!(found[0] != found[1] && (110..8192).contains(&found[0]));
        assert_eq!(tokens("a b c", 2).len(), 2);
    }
}
