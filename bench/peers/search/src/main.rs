//! stead's indexes beside others, for `cargo xtask bench search`.
//!
//! ```text
//! search-peers text zipf DOCUMENTS ROUNDS SWEEPS     (texts made up of a Zipf vocabulary, a line of JSON)
//! search-peers text pages FILE ROUNDS SWEEPS         (passages of manual pages, unpacked and joined, a line of JSON)
//! search-peers vectors COUNT SIZE THREADS SWEEPS FOLDER PYTHON SCRIPT
//!                                                     (files of vectors in a folder, a Python that has hnswlib, a line of JSON)
//! ```

mod corpus;
#[path = "../../median.rs"]
mod median;
mod text;
mod vectors;

use std::path::Path;

/// Errors are only ever printed.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let told = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["text", "zipf", documents, rounds, sweeps] => {
            let texts = corpus::zipf(documents.parse()?);
            text::measured(&texts, rounds.parse()?, sweeps.parse()?)?
        }
        ["text", "pages", file, rounds, sweeps] => {
            let texts = corpus::pages(&String::from_utf8_lossy(&std::fs::read(file)?));
            text::measured(&texts, rounds.parse()?, sweeps.parse()?)?
        }
        ["vectors", count, size, threads, sweeps, folder, python, script] => {
            let [count, size, threads] = [count, size, threads].map(|text| text.parse());
            let shape = vectors::Shape { count: count?, size: size?, threads: threads? };
            let script = vectors::Script { python, path: script };
            vectors::measured(shape, sweeps.parse()?, Path::new(folder), script)?
        }
        _ => return Err("see the head of main.rs for arguments".into()),
    };
    println!("{told}");
    Ok(())
}
