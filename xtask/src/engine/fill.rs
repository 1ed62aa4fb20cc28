//! Seeded weights for the graphs of `bench/graphs`, which are kept without theirs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::paths;

/// The most bytes of weights of a graph: a slip in its description must not fill the disk.
const MAX_BYTES: u64 = 4 << 30;

/// A run of elements that belong together.
#[derive(Debug, Clone, PartialEq)]
struct Piece {
    /// The seed: weights of the same name are the same in all graphs.
    name: String,
    /// Where it begins, in bytes.
    offset: usize,
    elements: usize,
    mean: f64,
    deviation: f64,
}

/// The file of a graph with its weights beside it, below `target/models/graphs`.
///
/// # Errors
/// An unknown graph, and files that cannot be read or written.
pub fn graph(name: &str) -> Result<PathBuf, String> {
    let source = paths::root().join("bench/graphs");
    let (graph, description) =
        (source.join(format!("{name}.onnx")), source.join(format!("{name}.json")));
    let folder = paths::models().join("graphs").join(name);
    let failed = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    let read = |path: &Path| fs::read(path).map_err(|e| failed(path, e));
    let file = folder.join(format!("{name}.onnx"));
    let described = if description.exists() { Some(read(&description)?) } else { None };
    let stamp = folder.join("filled");
    let (wanted, bytes) = (described.clone().unwrap_or_default(), read(&graph)?);
    let is_filled = fs::read(&stamp).is_ok_and(|found| found == wanted);
    if is_filled && fs::read(&file).is_ok_and(|found| found == bytes) {
        return Ok(file);
    }
    fs::create_dir_all(&folder).map_err(|e| failed(&folder, e))?;
    if let Some(described) = described {
        let weights = folder.join(format!("{name}.data"));
        let bytes = filled(&described).map_err(|e| format!("{}: {e}", description.display()))?;
        fs::write(&weights, bytes).map_err(|e| failed(&weights, e))?;
    }
    fs::write(&file, bytes).map_err(|e| failed(&file, e))?;
    // Written last: weights that were cut short are made anew.
    fs::write(&stamp, wanted).map_err(|e| failed(&stamp, e))?;
    Ok(file)
}

/// The weights that a description asks for.
fn filled(description: &[u8]) -> Result<Vec<u8>, String> {
    let description: Value = serde_json::from_slice(description).map_err(|e| e.to_string())?;
    let size = description["bytes"].as_u64().filter(|&n| n <= MAX_BYTES);
    let size = size.and_then(|n| usize::try_from(n).ok()).ok_or("no size in bytes")?;
    let mut bytes = vec![0u8; size];
    for line in description["weights"].as_array().ok_or("no weights")? {
        let piece = piece(line).ok_or_else(|| format!("not a weight: {line}"))?;
        let end = piece.elements.checked_mul(4).and_then(|n| n.checked_add(piece.offset));
        let place = end.and_then(|end| bytes.get_mut(piece.offset..end));
        fill(place.ok_or_else(|| format!("{}: ends beyond the weights", piece.name))?, &piece);
    }
    Ok(bytes)
}

fn piece(line: &Value) -> Option<Piece> {
    let number = |at: usize| usize::try_from(line.get(at)?.as_u64()?).ok();
    Some(Piece {
        name: line.get(0)?.as_str()?.to_owned(),
        offset: number(1)?,
        elements: number(2)?,
        mean: line.get(3)?.as_f64()?,
        deviation: line.get(4)?.as_f64()?,
    })
}

/// Uniform numbers of the mean and the deviation of a piece, as f32.
fn fill(place: &mut [u8], piece: &Piece) {
    // FNV-1a.
    let seed = piece.name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // A uniform number of -1..1 has the variance 1/3.
    let half_width = piece.deviation * 3f64.sqrt();
    let mut state = seed;
    for value in place.chunks_exact_mut(4) {
        let number = piece.mean + (2.0 * unit(&mut state) - 1.0) * half_width;
        value.copy_from_slice(&(number as f32).to_le_bytes());
    }
}

/// The next number in 0..1 (splitmix64).
fn unit(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(bytes: &[u8]) -> Vec<f32> {
        let four = |b: &[u8]| b.try_into().map(f32::from_le_bytes).unwrap_or(f32::NAN);
        bytes.chunks_exact(4).map(four).collect()
    }

    #[test]
    fn weights_have_their_mean_and_deviation_and_their_name_is_the_seed() -> Result<(), String> {
        let text = r#"{"bytes": 131072, "weights": [["a", 0, 10000, 1.0, 0.5], ["b", 40960, 10000, 0.0, 0.1],
            ["a", 81920, 10000, 1.0, 0.5], ["zero", 122880, 100, 0.0, 0.0]]}"#;
        let all = floats(&filled(text.as_bytes())?);
        let (a, b, again) = (&all[..10000], &all[10240..20240], &all[20480..30480]);
        for (values, mean, deviation) in [(a, 1.0, 0.5), (b, 0.0, 0.1)] {
            let n = values.len() as f64;
            let found = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
            let variance = values.iter().map(|&v| (f64::from(v) - found).powi(2)).sum::<f64>() / n;
            assert!((found - mean).abs() < 0.03 * deviation, "{found}");
            assert!((variance.sqrt() / deviation - 1.0).abs() < 0.02, "{variance}");
        }
        assert_eq!(a, again);
        assert!(a.iter().zip(b).any(|(a, b)| (a - 1.0) / 5.0 != *b));
        assert!(all[30720..30820].iter().all(|&v| v == 0.0));
        Ok(())
    }

    #[test]
    fn descriptions_that_are_wrong_are_refused() {
        let cases = [
            ("past the end", r#"{"bytes": 8, "weights": [["a", 4, 2, 0.0, 1.0]]}"#),
            ("overflow", r#"{"bytes": 8, "weights": [["a", 4, 9223372036854775807, 0.0, 1.0]]}"#),
            ("no size", r#"{"weights": []}"#),
            ("too large", r#"{"bytes": 99999999999999, "weights": []}"#),
            ("a line cut short", r#"{"bytes": 8, "weights": [["a", 4, 1]]}"#),
        ];
        for (label, text) in cases {
            assert!(filled(text.as_bytes()).is_err(), "{label}");
        }
    }

    #[test]
    fn descriptions_of_all_graphs_can_be_read() -> Result<(), String> {
        let folder = paths::root().join("bench/graphs");
        let mut descriptions = 0;
        for entry in fs::read_dir(&folder).map_err(|e| e.to_string())?.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|e| e != "json") {
                continue;
            }
            let text = fs::read(&path).map_err(|e| e.to_string())?;
            let read: Value = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
            let size = read["bytes"].as_u64().unwrap_or_default() as usize;
            let lines = read["weights"].as_array().cloned().unwrap_or_default();
            let mut end = 0;
            for line in &lines {
                let piece = piece(line).ok_or_else(|| format!("{}: {line}", path.display()))?;
                assert!(piece.offset >= end, "{}: {} overlaps", path.display(), piece.name);
                end = piece.offset + 4 * piece.elements;
                assert!(piece.deviation.is_finite() && piece.mean.is_finite());
            }
            assert!(end > 0 && end <= size, "{}", path.display());
            descriptions += 1;
        }
        assert!(descriptions >= 10, "{descriptions}");
        Ok(())
    }
}
