//! What each further interpreter adds to the memory of the process.

use std::path::Path;

use serde_json::{Map, Value as Json, json};
use stead_python::{
    Call, Deadline, InProcess, Installation, Interpreter, PackageFile, StartOptions, Value,
};

use super::{Outcome, has_numpy, load};

const INTERPRETERS: usize = 4;

/// Memory of the process (`proc_pid_smaps_rollup`), in bytes.
struct Memory {
    /// Pages that it alone has and that have been written.
    private_dirty: u64,
    /// All pages, each divided by the number of its mappings, of this process too.
    proportional: u64,
}

/// Bytes: of the second to the last interpreter without imports, then of numpy in each; with a small and a large package, of opening
/// the small one, which is what opening any takes, and then of opening the large one and adding up its weights (`total`) in
/// the first and in the others together.
pub fn measure(python: &Installation, packages: Option<(&Path, &Path)>) -> Outcome<Json> {
    let mut found = Map::new();
    let options = StartOptions::default();
    let mut all = vec![InProcess::start(python, &options)?];
    let further = INTERPRETERS - 1;
    let before = now()?.private_dirty;
    for _ in 0..further {
        all.push(InProcess::start(python, &options)?);
    }
    let bare = now()?.private_dirty - before;
    found.insert("bare_bytes".to_owned(), json!(bare / further as u64));
    let Some(first) = all.first_mut() else { return Err("no interpreter".into()) };
    if has_numpy(first) {
        let before = now()?.private_dirty;
        for interpreter in all.iter_mut().skip(1) {
            load(interpreter, "import numpy")?;
        }
        let numpy = (now()?.private_dirty - before + bare) / further as u64;
        found.insert("numpy_bytes".to_owned(), json!(numpy));
    }
    if let Some((small, large)) = packages {
        let Some((first, others)) = all.split_first_mut() else {
            return Err("no interpreter".into());
        };
        add_up(first, "small", small)?;
        let begin = now()?.proportional;
        others.iter_mut().try_for_each(|other| add_up(other, "small", small))?;
        let opened = now()?.proportional;
        add_up(first, "large", large)?;
        let in_first = now()?.proportional;
        others.iter_mut().try_for_each(|other| add_up(other, "large", large))?;
        let in_all = now()?.proportional;
        let further = (INTERPRETERS - 1) as u64;
        found.insert("open_bytes".to_owned(), json!(opened.saturating_sub(begin) / further));
        found.insert("weights_first_bytes".to_owned(), json!(in_first.saturating_sub(opened)));
        found.insert("weights_others_bytes".to_owned(), json!(in_all.saturating_sub(in_first)));
    }
    Ok(Json::Object(found))
}

/// Opens a package under a name and reads all of its weights.
fn add_up(interpreter: &mut InProcess, name: &str, package: &Path) -> Outcome<()> {
    let file = PackageFile { name: name.to_owned(), path: package.to_owned() };
    interpreter.open(&file, Deadline::NEVER)?;
    let call = Call::new("weights", "total", vec![]).of_package(name);
    match interpreter.call(call, Deadline::NEVER)? {
        Value::Float(_) => Ok(()),
        _ => Err("the package gives no total of its weights".into()),
    }
}

fn now() -> Outcome<Memory> {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    let of = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    };
    let (private, proportional) = (of("Private_Dirty:"), of("Pss:"));
    let memory = private.zip(proportional);
    memory
        .map(|(private_dirty, proportional)| Memory { private_dirty, proportional })
        .ok_or_else(|| "the system tells no memory".into())
}
