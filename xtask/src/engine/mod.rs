//! `cargo xtask bench engine`: stead's engine beside ONNX Runtime, rten and tract.

mod cases;
mod fill;
mod flops;
mod rows;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use serde_json::Value;

use crate::results::{Section, Table, each_part, line};
use crate::{Outcome, bench, paths, process, python};
use cases::{CASES, Case, HALVED, IN_BYTES, ON_ALL_CORES, OVERHEAD};
pub use fill::graph;
use flops::Work;
pub use rows::{holds, ratio, times};

/// Its tables.
pub const PARTS: [&str; 5] = ["models", "bf16", "bytes", "cores", "overhead"];

const SECTION: Section = Section {
    title: "Engine",
    task: "engine",
    about: "Written by `cargo xtask bench engine`; a part named behind it (`... engine cores`) replaces its own table only. Ratios are ONNX Runtime's time over stead's, the \
            median over pairs of turns: above 1 stead is quicker. A goal of 1.0 is met from 0.97 on. Goals are those for a processor with AMX; tables of \
            others stand behind, by the newest instructions that they have.",
    parts: &PARTS,
    by_processor: true,
};

/// What all cases share.
struct Bench {
    program: PathBuf,
    folder: PathBuf,
    pairs: usize,
}

/// What was measured of a case.
struct Measured {
    case: &'static Case,
    told: Value,
    work: Option<Work>,
    /// Peak memory of stead and of ONNX Runtime.
    memory: [Option<f64>; 2],
}

/// Runs the task: parts, or models by words of their titles, whose table is printed only.
///
/// # Errors
/// Words that no title has, and builds that fail.
pub fn run(words: &[&str], quick: bool) -> Outcome {
    let (parts, models): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| PARTS.contains(word));
    let wanted = chosen(&models)?;
    let folder = paths::target().join("bench-engine");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let bench = Bench { program: bench::peers(true)?, folder, pairs: if quick { 5 } else { 20 } };
    if !models.is_empty() {
        println!("{}", bench.models(&wanted)?.text());
        return Ok(true);
    }
    each_part(&SECTION, &parts, quick, |part| match part {
        "models" => bench.models(&wanted),
        "bf16" => bench.halved(),
        "bytes" => bench.in_bytes(),
        "cores" => bench.cores(),
        _ => bench.overhead(),
    })
}

/// The cases whose titles have one of the words, in any case of letters; all without words.
fn chosen(words: &[&str]) -> Result<Vec<&'static Case>, String> {
    let has = |case: &Case, word: &str| case.title.to_lowercase().contains(&word.to_lowercase());
    if let Some(unknown) = words.iter().find(|word| !CASES.iter().any(|case| has(case, word))) {
        let titles: Vec<&str> = CASES.iter().map(|case| case.title).collect();
        return Err(format!("no model is called `{unknown}`; there are: {}", titles.join("; ")));
    }
    Ok(CASES.iter().filter(|c| words.is_empty() || words.iter().any(|word| has(c, word))).collect())
}

/// Has a case measured, in a process of its own: what one leaves in memory is not what the next runs in.
///
/// # Errors
/// A program that does not end well.
pub fn measure(program: &Path, title: &str, spec: &Path) -> Result<Value, String> {
    println!("{title}");
    let mut command = bench::peers_command(program)?;
    let output = process::capture(command.arg("engine").arg(spec), title)?;
    let told = output.lines().rev().find_map(|line| serde_json::from_str(line).ok());
    told.ok_or_else(|| format!("{title}: no numbers: {}", line(&output)))
}

impl Bench {
    fn models(&self, cases: &[&'static Case]) -> Result<Table, String> {
        let works = self.works(cases)?;
        let measured = cases.iter().zip(works).map(|(case, work)| {
            let spec = self.spec(case, false)?;
            let told = self.measure(case, &spec)?;
            let memory = ["stead", "onnxruntime"].map(|engine| self.memory(engine, &spec));
            Ok(Measured { case, told, work, memory })
        });
        Ok(rows::models(&measured.collect::<Result<Vec<_>, String>>()?, self.pairs))
    }

    fn halved(&self) -> Result<Table, String> {
        let told = HALVED.iter().map(|c| Ok((c, self.measure(c, &self.spec(c, false)?)?)));
        Ok(rows::halved(&told.collect::<Result<Vec<_>, String>>()?, self.pairs))
    }

    fn in_bytes(&self) -> Result<Table, String> {
        let mut rows = Vec::new();
        for (case, wide) in IN_BYTES {
            let spec = self.spec(case, false)?;
            let told = self.measure(case, &spec)?;
            let memory = ["stead", "onnxruntime"].map(|engine| self.memory(engine, &spec));
            let spec = self.spec(&Case { source: *wide, ..*case }, false)?;
            let wide = self.measure(case, &spec)?;
            rows.push(rows::InBytes {
                case,
                told,
                memory,
                wide,
                held: self.memory("stead", &spec),
            });
        }
        Ok(rows::in_bytes(&rows, self.pairs))
    }

    fn cores(&self) -> Result<Table, String> {
        let mut rows = Vec::new();
        for case in ON_ALL_CORES {
            let told = self.measure(case, &self.spec(case, true)?)?;
            let one = self.measure(case, &self.spec(case, false)?)?;
            rows.push((case, told, one));
        }
        Ok(rows::cores(&rows, self.pairs))
    }

    fn overhead(&self) -> Result<Table, String> {
        let told = OVERHEAD.iter().map(|case| self.measure(case, &self.spec(case, false)?));
        Ok(rows::overhead(&told.collect::<Result<Vec<_>, String>>()?, self.pairs))
    }

    /// Writes what the program reads.
    fn spec(&self, case: &Case, all_cores: bool) -> Result<PathBuf, String> {
        let path = self.folder.join("case.json");
        let text = case.spec(all_cores, self.pairs)?.to_string();
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    }

    fn measure(&self, case: &Case, spec: &Path) -> Result<Value, String> {
        measure(&self.program, case.title, spec)
    }

    fn memory(&self, engine: &str, spec: &Path) -> Option<f64> {
        let mut command = bench::peers_command(&self.program).ok()?;
        // A model that is refused has said so in its row.
        command.args(["memory", engine]).arg(spec).stderr(Stdio::null());
        let output = command.output().ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    }

    /// What the cases have to compute.
    fn works(&self, cases: &[&'static Case]) -> Result<Vec<Option<Work>>, String> {
        let specs = cases.iter().map(|case| case.spec(false, self.pairs));
        let specs = Value::Array(specs.collect::<Result<_, _>>()?).to_string();
        let script = paths::root().join("bench/graphs/shapes.py");
        let failed = |e: io::Error| format!("shapes.py: {e}");
        let mut child = Command::new(python::environment("onnx")?)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut input = child.stdin.take().ok_or("shapes.py has no input")?;
        input.write_all(specs.as_bytes()).map_err(failed)?;
        drop(input);
        let output = child.wait_with_output().map_err(failed)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let told = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let works: Vec<Option<Work>> = told.map(|told| Work::of(&told)).collect();
        if !output.status.success() || works.len() != cases.len() {
            return Err(format!("shapes.py told {} of {} cases", works.len(), cases.len()));
        }
        Ok(works)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_choose_models() -> Result<(), String> {
        let titles = |words: &[&str]| -> Result<Vec<&str>, String> {
            Ok(chosen(words)?.iter().map(|case| case.title).collect())
        };
        let both = ["BERT-base 1x128", "ResNet-50", "ResNet-50 int8, QDQ"];
        assert_eq!(titles(&["resnet", "BERT-base"])?, both);
        assert_eq!(titles(&[])?.len(), CASES.len());
        let refused = chosen(&["resnet", "nothing"]).err().unwrap_or_default();
        assert!(refused.contains("`nothing`") && refused.contains("ResNet-50"), "{refused}");
        Ok(())
    }
}
