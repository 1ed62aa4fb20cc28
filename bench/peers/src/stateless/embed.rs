//! Texts to vectors by a model of MiniLM's kind, turn by turn as standard input asks:
//!
//! ```text
//! run BATCH FROM COUNT      embeds COUNT texts from the FROM-th on, BATCH in each call, padded to the longest of them: seconds
//! vector AT                 the vector of a text, as JSON
//! ```

use std::io::{BufRead, stdin};
use std::path::Path;
use std::time::Instant;

use ort::session::Session;
use ort::value::Tensor;

use crate::Result;

/// Embeds texts whose ids are in a file of JSON, one list for each.
pub fn run(model: &Path, ids: &Path, threads: usize) -> Result<()> {
    let texts: Vec<Vec<i64>> =
        serde_json::from_reader(std::io::BufReader::new(std::fs::File::open(ids)?))?;
    let mut sessions = super::sessions(model, 1, Some(threads))?;
    let session = sessions.first_mut().ok_or("no session")?;
    for line in stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["run", batch, from, count] => {
                let (batch, from, count): (usize, usize, usize) =
                    (batch.parse()?, from.parse()?, count.parse()?);
                let some = texts.get(from..from + count).ok_or("there are fewer texts")?;
                let begin = Instant::now();
                for texts in some.chunks(batch.max(1)) {
                    std::hint::black_box(vectors(session, texts)?);
                }
                println!("{}", begin.elapsed().as_secs_f64());
            }
            ["vector", at] => {
                let text = texts.get(at.parse::<usize>()?).ok_or("there are fewer texts")?;
                let vectors = vectors(session, std::slice::from_ref(text))?;
                println!("{}", serde_json::to_string(&vectors[0])?);
            }
            _ => return Err(format!("unknown command {line}").into()),
        }
    }
    Ok(())
}

/// The mean of what the model gives for the ids of each text, of length 1.
fn vectors(session: &mut Session, texts: &[Vec<i64>]) -> Result<Vec<Vec<f32>>> {
    let (rows, width) = (texts.len(), texts.iter().map(Vec::len).max().unwrap_or(0));
    let padded = |cell: &dyn Fn(i64) -> i64| -> Vec<i64> {
        let row = |text: &Vec<i64>| {
            let filled: Vec<i64> = text.iter().map(|id| cell(*id)).collect();
            filled.into_iter().chain(std::iter::repeat(0)).take(width).collect::<Vec<_>>()
        };
        texts.iter().flat_map(row).collect()
    };
    let input = |values: Vec<i64>| Tensor::from_array(([rows, width], values));
    let outputs = session.run(ort::inputs![
        "input_ids" => input(padded(&|id| id))?,
        "attention_mask" => input(padded(&|_| 1))?,
        "token_type_ids" => input(padded(&|_| 0))?,
    ])?;
    let (shape, cells) = outputs["last_hidden_state"].try_extract_tensor::<f32>()?;
    let size = *shape.last().ok_or("an output without dimensions")? as usize;
    let of_text = |(text, cells): (&Vec<i64>, &[f32])| {
        let mut sum = vec![0.0f32; size];
        for row in cells.chunks_exact(size).take(text.len()) {
            sum.iter_mut().zip(row).for_each(|(sum, cell)| *sum += cell);
        }
        let norm = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        sum.iter_mut().for_each(|x| *x /= norm);
        sum
    };
    Ok(texts.iter().zip(cells.chunks_exact(size * width)).map(of_text).collect())
}
