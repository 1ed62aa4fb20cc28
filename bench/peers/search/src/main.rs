//! stead's indexes beside others, for `cargo xtask bench search`.
//!
//! ```text
//! search-peers text zipf DOCUMENTS ROUNDS SWEEPS     (texts made up of a Zipf vocabulary, a line of JSON)
//! search-peers text pages FILE ROUNDS SWEEPS         (passages of manual pages, unpacked and joined, a line of JSON)
//! search-peers graphs COUNT SIZE THREADS BEFORE FOLDER PYTHON SCRIPT
//!                                                     (graphs of the first vectors in files of a folder, those that are not there; a Python that has hnswlib)
//! search-peers vectors COUNT SIZE THREADS BEFORE FOLDER PYTHON SCRIPT SWEEPS
//!                                                     (goes on with those graphs, a line of JSON)
//! search-peers hybrid DOCUMENTS SIZE FOLDER          (documents and queries for a server, in files; their numbers, a line of JSON)
//! ```

mod corpus;
mod hybrid;
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
        [
            verb @ ("graphs" | "vectors"),
            count,
            size,
            threads,
            before,
            folder,
            python,
            script,
            ref rest @ ..,
        ] => {
            let [count, size, threads, before] =
                [count, size, threads, before].map(|text| text.parse());
            let (count, size, threads, before) = (count?, size?, threads?, before?);
            let shape = vectors::Shape { count, size, threads, before };
            let script = vectors::Script { python, path: script };
            match (verb, rest) {
                ("vectors", [sweeps]) => {
                    vectors::measured(shape, sweeps.parse()?, Path::new(folder), script)?
                }
                _ => vectors::built(shape, Path::new(folder), script)?,
            }
        }
        ["hybrid", documents, size, folder] => {
            hybrid::written(documents.parse()?, size.parse()?, Path::new(folder))?
        }
        _ => return Err("see the head of main.rs for arguments".into()),
    };
    println!("{told}");
    Ok(())
}
