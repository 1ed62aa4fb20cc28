//! The cross encoder over question and passage, in ONNX Runtime of this process.

use ort::value::Tensor;

use super::candidates::Candidates;
use super::sessions::Sessions;
use crate::Result;

/// Tokens before the question, and behind the question and the passage.
const CLS: i64 = 101;
const SEP: i64 = 102;

/// Scores of candidates with the tokens of a question; 0 is padding. All are padded to the longest of them, or to `length`.
pub fn run(
    sessions: &Sessions,
    question: &[f32],
    candidates: &Candidates,
    length: Option<usize>,
) -> Result<Vec<f32>> {
    let words = |tokens: &[f32]| -> Vec<i64> {
        tokens.iter().filter(|t| **t != 0.0).map(|t| *t as i64).collect()
    };
    let first = [vec![CLS], words(question), vec![SEP]].concat();
    let second: Vec<Vec<i64>> =
        candidates.tensors().map(|tokens| [words(tokens), vec![SEP]].concat()).collect();
    let longest = second.iter().map(|tokens| first.len() + tokens.len()).max().unwrap_or(0);
    let (rows, width) = (second.len(), length.unwrap_or(longest));
    let [mut ids, mut types, mut mask] = [const { Vec::new() }; 3];
    for tokens in &second {
        let size = (first.len() + tokens.len()).min(width);
        ids.extend(first.iter().chain(tokens).take(width));
        types.extend((0..size).map(|at| i64::from(at >= first.len())));
        mask.extend((0..size).map(|_| 1i64));
        for padded in [&mut ids, &mut types, &mut mask] {
            padded.resize(padded.len() + width - size, 0);
        }
    }
    sessions.with(|session| {
        let input = |values: Vec<i64>| Tensor::from_array(([rows, width], values));
        let outputs = session.run(ort::inputs![
            "input_ids" => input(ids)?,
            "token_type_ids" => input(types)?,
            "attention_mask" => input(mask)?,
        ])?;
        Ok(outputs["score"].try_extract_tensor::<f32>()?.1.to_vec())
    })
}
