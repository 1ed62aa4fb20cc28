//! `stead tensor --conformance`: the cases of a file, counted.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::json;
use stead_expr::conformance::{Tally, check};

use crate::failure::Failure;

/// The most failures that are shown in full.
const SHOWN: usize = 20;

/// The longest line in bytes: a case with a tensor of a million cells.
const MAX_LINE: u64 = 64 << 20;

/// Runs the cases of a file. True if none failed.
pub(super) fn run(file: &Path, is_json: bool) -> Result<bool, Failure> {
    let bad = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", file.display()));
    let open = File::open(file).map_err(|e| bad(&e))?;
    let bytes: Box<dyn Read> = match file.extension().is_some_and(|e| e == "zst") {
        true => Box::new(zstd::Decoder::new(open).map_err(|e| bad(&e))?),
        false => Box::new(open),
    };
    let (mut lines, mut line, mut tally) = (BufReader::new(bytes), Vec::new(), Tally::default());
    for number in 1_usize.. {
        line.clear();
        let read = lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        if read.map_err(|e| bad(&e))? == 0 {
            break;
        }
        match serde_json::from_slice(&line) {
            Ok(case) => tally.add(check(&case)),
            Err(e) => return Err(bad(&format!("line {number}: {e}"))),
        }
    }
    let (passed, failed) = (tally.passed, tally.failures.len());
    if is_json {
        println!("{}", json!({"passed": passed, "failed": failed, "failures": tally.failures}));
        return Ok(failed == 0);
    }
    tally.failures.iter().take(SHOWN).for_each(|f| println!("{f}"));
    if failed > SHOWN {
        println!("... and {} more; --json has all", failed - SHOWN);
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0)
}
