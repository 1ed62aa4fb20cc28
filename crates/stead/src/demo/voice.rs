//! The part of the demo in which a model remembers: six seconds of sound, 32 ms a step.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::post;
use crate::failure::Failure;

/// The sound: 16 kHz, one channel, 16 bits.
const WAV: &[u8] = include_bytes!("../../../../examples/voice-activity/speech.wav");

/// Bytes of a WAV header without optional parts, which is how the file was written.
const HEADER: usize = 44;

/// Samples of one step, and seconds of them.
const CHUNK: usize = 512;
const SECONDS: f64 = 0.032;

/// Chunks in one line of the drawing.
const LINE: usize = 50;

/// The sequence that the demo leaves behind, to be looked at.
pub const SEQUENCE: &str = "demo";

/// Streams the sound through the model and prints where somebody speaks.
pub fn listen(rest: SocketAddr) -> Result<(), Failure> {
    const PATH: &str = "/v2/models/vad/infer";
    println!(
        "2. When does somebody speak?\n   The model `vad` has a memory. Each request is one step of a \
         sequence and brings 512 new samples, 32 ms;\n   the server keeps the state in between."
    );
    println!("  POST http://{rest}{PATH}");
    println!(
        "  {{\"inputs\": [{{\"name\": \"input\", \"shape\": [1, {CHUNK}], ...}}], \
         \"parameters\": {{\"sequence_id\": \"{SEQUENCE}\", \"sequence_start\": true}}}}"
    );
    let mut probabilities = Vec::new();
    for (index, samples) in chunks().enumerate() {
        let mut parameters = json!({"sequence_id": SEQUENCE, "sequence_step": index + 1});
        if index == 0 {
            parameters["sequence_start"] = json!(true);
        }
        let input =
            json!({"name": "input", "datatype": "FP32", "shape": [1, CHUNK], "data": samples});
        let body = json!({"inputs": [input], "parameters": parameters}).to_string();
        let answer = post(rest, PATH, &body)?;
        let value: Value = serde_json::from_str(&answer).map_err(Failure::failed)?;
        let probability = value["outputs"][0]["data"][0].as_f64();
        let unexpected = || Failure::failed(format!("an unexpected answer: {answer}"));
        probabilities.push(probability.ok_or_else(unexpected)?);
    }
    println!("  -> {} answers, drawn:", probabilities.len());
    for (number, line) in probabilities.chunks(LINE).enumerate() {
        let start = (number * LINE) as f64 * SECONDS;
        println!("  {start:5.2} s |{}", line.iter().map(|p| bar(*p)).collect::<String>());
    }
    let found = segments(&probabilities);
    for (start, end) in &found {
        println!("  speech from {start:.2} s to {end:.2} s");
    }
    println!();
    match found.len() {
        3 => Ok(()),
        n => Err(Failure::failed(format!("{n} stretches of speech, expected 3"))),
    }
}

/// The samples in pieces, from -1 to 1; the last piece ends with silence.
fn chunks() -> impl Iterator<Item = Vec<f32>> {
    let samples = WAV.get(HEADER..).unwrap_or_default().as_chunks::<2>().0;
    samples.chunks(CHUNK).map(|chunk| {
        let mut piece: Vec<f32> =
            chunk.iter().map(|b| f32::from(i16::from_le_bytes(*b)) / 32768.0).collect();
        piece.resize(CHUNK, 0.0);
        piece
    })
}

/// Nine heights from nothing to a full block.
fn bar(probability: f64) -> char {
    const BARS: [char; 9] = [
        ' ', '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}',
        '\u{2588}',
    ];
    let height = (probability.clamp(0.0, 1.0) * (BARS.len() - 1) as f64).round() as usize;
    BARS.get(height).copied().unwrap_or(' ')
}

/// Seconds between which there is speech.
fn segments(probabilities: &[f64]) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = Vec::new();
    let mut before = false;
    for (index, probability) in probabilities.iter().enumerate() {
        let (start, end) = (index as f64 * SECONDS, (index + 1) as f64 * SECONDS);
        let speech = *probability >= 0.5;
        match found.last_mut() {
            Some(last) if speech && before => last.1 = end,
            _ if speech => found.push((start, end)),
            _ => {}
        }
        before = speech;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_speech() {
        assert_eq!(segments(&[0.0, 0.9, 0.5, 0.1, 0.8]), [(0.032, 0.096), (0.128, 0.16)]);
        assert!(segments(&[]).is_empty());
    }

    #[test]
    fn the_sound_is_what_the_code_takes_it_for() {
        assert_eq!(&WAV[..4], b"RIFF");
        assert_eq!(&WAV[36..40], b"data");
        assert_eq!(chunks().count(), 188);
        assert_eq!([bar(0.0), bar(1.0), bar(7.0)], [' ', '\u{2588}', '\u{2588}']);
    }
}
