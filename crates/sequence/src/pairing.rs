//! Which inputs and outputs of a model carry its memory from one step to the next.
//!
//! Names tell, never positions: two lists that are sorted by name need not be in the same order, and a state
//! that is swapped with another one of the same shape gives wrong results without an error.

use std::fmt::Write as _;
use stead_engine::{Dim, IoSpec};

/// An input and the output that gives its next value, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatePair {
    /// Position among the model's inputs.
    pub input: usize,
    /// Position among its outputs.
    pub output: usize,
    /// The axis along which each step makes the state longer, such as the positions in a key cache.
    pub growing: Option<usize>,
}

/// Why no pairing can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}; write the pairs down in the option states")]
pub struct PairError {
    /// Which names compete.
    pub text: String,
}

/// Names of an output that goes with the input `X`, as exporters write them: `prefix` `X` `suffix`.
const AFFIXES: &[(&str, &str)] = &[
    ("", "N"),
    ("", "n"),
    ("", "_n"),
    ("", "_out"),
    ("", "_next"),
    ("", "_new"),
    ("new_", ""),
    ("next_", ""),
];

/// Words inside a name that mean the old value on the input and the new one on the output.
const WORDS: &[(&str, &str)] = &[
    ("past_key_values", "present"),
    ("past", "present"),
    ("prev_", "cur_"),
    ("_prev", "_cur"),
    ("_in", "_out"),
    ("in_", "out_"),
];

/// The outputs' names that go with an input's name.
fn is_next(input: &str, output: &str) -> bool {
    let affixed = AFFIXES.iter().any(|(prefix, suffix)| {
        output.strip_prefix(prefix).and_then(|o| o.strip_suffix(suffix)) == Some(input)
    });
    affixed
        || WORDS.iter().any(|(old, new)| {
            input.match_indices(old).any(|(at, _)| {
                let (head, tail) = (&input[..at], &input[at + old.len()..]);
                output
                    .strip_prefix(head)
                    .and_then(|o| o.strip_suffix(tail))
                    .is_some_and(|middle| middle == *new)
            })
        })
}

/// Whether an output can be the next value of an input: equal types and ranks, dimensions that do not
/// contradict each other except along one axis that grows. Gives that axis.
fn fits(input: &IoSpec, output: &IoSpec) -> Option<Option<usize>> {
    if input.dtype != output.dtype {
        return None;
    }
    let (Some(old), Some(new)) = (&input.dims, &output.dims) else { return Some(None) };
    if old.len() != new.len() {
        return None;
    }
    let differs = |(a, b): (&Dim, &Dim)| match (a, b) {
        (Dim::Known(a), Dim::Known(b)) => a != b,
        (Dim::Symbol(a), Dim::Symbol(b)) => a != b,
        _ => false,
    };
    let mut axes = old.iter().zip(new).enumerate().filter(|(_, dims)| differs(*dims));
    match (axes.next(), axes.next()) {
        (None, _) => Some(None),
        // Two fixed sizes that differ cannot both hold.
        (Some((axis, (Dim::Symbol(_), Dim::Symbol(_)))), None) => Some(Some(axis)),
        _ => None,
    }
}

/// Pairs inputs with outputs by name. Inputs with a value in the model are weights, not states.
///
/// # Errors
/// [`PairError`] when an input or an output could go with several others.
pub fn pair_states(inputs: &[IoSpec], outputs: &[IoSpec]) -> Result<Vec<StatePair>, PairError> {
    let mut pairs: Vec<StatePair> = Vec::new();
    for (i, input) in inputs.iter().enumerate().filter(|(_, s)| !s.optional) {
        let named = outputs.iter().enumerate().filter(|(_, o)| is_next(&input.name, &o.name));
        let found: Vec<StatePair> = named
            .filter_map(|(o, spec)| {
                fits(input, spec).map(|growing| StatePair { input: i, output: o, growing })
            })
            .collect();
        match found.as_slice() {
            [] => {}
            [pair] => match pairs.iter().find(|p| p.output == pair.output) {
                None => pairs.push(*pair),
                Some(other) => {
                    let names = [other.input, i].map(|i| &*inputs[i].name);
                    return Err(ambiguous("output", &outputs[pair.output].name, &names));
                }
            },
            several => {
                let names: Vec<&str> = several.iter().map(|p| &*outputs[p.output].name).collect();
                return Err(ambiguous("input", &input.name, &names));
            }
        }
    }
    Ok(pairs)
}

fn ambiguous(what: &str, name: &str, candidates: &[&str]) -> PairError {
    let mut text = format!("the state {what} {name:?} goes with");
    for (i, candidate) in candidates.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{} {candidate:?}", if i == 0 { "" } else { " and with" });
    }
    PairError { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_tensor::DType;

    fn spec(text: &str) -> IoSpec {
        let (name, dims) = text.split_once(' ').unwrap_or((text, ""));
        let dim = |d: &str| match d.parse() {
            Ok(n) => Dim::Known(n),
            Err(_) => Dim::Symbol(d.to_owned()),
        };
        let dims = dims.split_whitespace().map(dim).collect();
        IoSpec { name: name.to_owned(), dtype: DType::F32, dims: Some(dims), optional: false }
    }

    fn pair(inputs: &[&str], outputs: &[&str]) -> Result<Vec<(usize, usize)>, String> {
        let specs = |list: &[&str]| list.iter().map(|t| spec(t)).collect::<Vec<_>>();
        pair_states(&specs(inputs), &specs(outputs))
            .map(|pairs| pairs.iter().map(|p| (p.input, p.output)).collect())
            .map_err(|e| e.text)
    }

    #[test]
    fn names_that_exporters_write() {
        let cases: &[(&str, &[&str], &[&str], &[(usize, usize)])] = &[
            (
                "silero",
                &["input b n", "state 2 b 128", "sr"],
                &["output b 1", "stateN 2 b 128"],
                &[(1, 1)],
            ),
            (
                "silero sequence",
                &["input t 576", "h 1 1 128", "c 1 1 128"],
                &["speech_probs t", "hn 1 1 128", "cn 1 1 128"],
                &[(1, 1), (2, 2)],
            ),
            (
                "NeMo",
                &["x b t", "cache_last_channel b l d", "cache_last_time b d l"],
                &["y b t", "cache_last_time_next b d l", "cache_last_channel_next b l d"],
                &[(1, 2), (2, 1)],
            ),
            (
                "sherpa",
                &["x N T 80", "cached_key_0 l N k", "cached_val1_0 l N v"],
                &["y N T", "new_cached_key_0 l N k", "new_cached_val1_0 l N v"],
                &[(1, 1), (2, 2)],
            ),
            (
                "Hugging Face",
                &["ids b s", "past_key_values.0.key b 4 p 16", "past_key_values.0.value b 4 p 16"],
                &["logits b s v", "present.0.key b 4 q 16", "present.0.value b 4 q 16"],
                &[(1, 1), (2, 2)],
            ),
            ("previous and current", &["x", "prev_h 2"], &["y", "cur_h 2"], &[(1, 1)]),
            ("sorted otherwise", &["a 4", "b 4"], &["b_out 4", "a_out 4"], &[(0, 1), (1, 0)]),
            ("no state", &["x b 4"], &["y b 4"], &[]),
            ("same name, other size", &["h 4"], &["h_out 5"], &[]),
            ("same name, other rank", &["h 4"], &["h_out 4 1"], &[]),
        ];
        for (label, inputs, outputs, expected) in cases {
            assert_eq!(pair(inputs, outputs).as_deref(), Ok(*expected), "{label}");
        }
    }

    #[test]
    fn a_cache_grows_along_one_axis() {
        let old = spec("past b 4 p 16");
        assert_eq!(fits(&old, &spec("present b 4 q 16")), Some(Some(2)));
        assert_eq!(fits(&old, &spec("present b 4 p 16")), Some(None));
        assert_eq!(fits(&old, &spec("present c 4 q 16")), None);
        assert_eq!(fits(&old, &spec("present b 5 p 16")), None);
    }

    #[test]
    fn what_could_be_either_is_refused_with_the_names() {
        let error = pair(&["h 4"], &["h_out 4", "new_h 4"]).unwrap_err();
        assert!(error.contains("\"h\"") && error.contains("\"new_h\""), "{error}");
        let error = pair(&["h 4", "new 4"], &["new_h 4", "next_h 4"]).unwrap_err();
        assert!(error.contains("\"h\"") && error.contains("next_h"), "{error}");
    }

    #[test]
    fn weights_among_the_inputs_are_no_states() {
        let mut weight = spec("h 4");
        weight.optional = true;
        assert_eq!(pair_states(&[weight], &[spec("h_out 4")]), Ok(vec![]));
    }
}
