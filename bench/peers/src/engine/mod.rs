//! stead's engine beside ONNX Runtime, rten and tract: same process, same inputs, one thread, turn by turn.

mod answers;
mod case;
mod machine;
mod sides;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rten::ThreadPool;
use serde_json::{Value, json};

use crate::report::us;
use crate::rust_peers::{self, Run};
use crate::turns::Times;
use crate::{Result, variable};
use answers::Answers;
use case::{Case, Input};
use sides::{OnnxRuntime, Stead};

/// Before the turns of runs on all cores: ONNX Runtime's threads look for work for 34 ms after a run, and would take half
/// a core from the other side's.
const SETTLE: Duration = Duration::from_millis(60);

/// Measures a case; the answer is a line of JSON with microseconds.
pub fn run(case: &Path) -> Result<String> {
    let case = Case::read(case)?;
    // rten runs on a pool of its own. All sides run on that pool's one thread, so that rten pays for no
    // hand-over between threads.
    let pool = Arc::new(ThreadPool::with_num_threads(1));
    let told = pool.run(|| measured(&pool, &case).map_err(|e| e.to_string()))?;
    Ok(told.to_string())
}

/// The most memory that this process has taken, after a few runs of one engine alone: `stead` or `onnxruntime`.
pub fn memory(engine: &str, case: &Path) -> Result<String> {
    let case = Case::read(case)?;
    let inputs = case.tensors()?;
    if engine == "stead" {
        let stead = Stead::load(&case, &inputs)?;
        (0..3).try_for_each(|_| stead.run())?;
    } else {
        let env = OnnxRuntime::environment()?;
        let mut other = OnnxRuntime::load(&env, case.runtime_model(), &inputs, case.all_cores)?;
        (0..3).try_for_each(|_| other.run())?;
    }
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: u64 =
        peak.and_then(|v| v.split_whitespace().next()).ok_or("no VmHWM")?.parse()?;
    Ok((kilobytes << 10).to_string())
}

/// Items of a batch of silero steps.
const BATCH: usize = 32;

/// Measures silero at the batch that many streams make; the answer is a line of JSON with microseconds a run.
pub fn batch(pairs: usize) -> Result<String> {
    let input = |name: &str, shape: &[usize], low, high| Input {
        name: name.to_owned(),
        dtype: "f32".to_owned(),
        shape: shape.to_vec(),
        low,
        high,
    };
    let case = Case {
        model: PathBuf::from(variable("STEAD_SILERO_BATCH")?),
        runtime_model: None,
        inputs: vec![
            input("input", &[BATCH, 576], -0.5, 0.5),
            input("state", &[2, BATCH, 128], 0.0, 0.0),
        ],
        all_cores: false,
        precision: None,
        agree: 1e-3,
        pairs,
    };
    let pool = Arc::new(ThreadPool::with_num_threads(1));
    let told = pool.run(|| measured(&pool, &case).map_err(|e| e.to_string()))?;
    let us = |side: &str| {
        let of = &told[side];
        of.get("median").or_else(|| of.get("refused")).cloned().unwrap_or_default()
    };
    let all = json!({
        "items": BATCH, "stead_us": us("stead"), "onnxruntime_us": us("onnxruntime"), "rten_us": us("rten"),
        "tract_us": us("tract"),
    });
    Ok(all.to_string())
}

fn measured(pool: &Arc<ThreadPool>, case: &Case) -> Result<Value> {
    let inputs = case.tensors()?;
    let env = OnnxRuntime::environment()?;
    let mut other = OnnxRuntime::load(&env, case.runtime_model(), &inputs, case.all_cores)?;
    // A fast wrong answer is worth nothing.
    let plain = OnnxRuntime::load_plain(&env, case.runtime_model(), &inputs)?.outputs()?;
    let expected = Answers::new(other.outputs()?, plain, case.agree)?;
    let stead = Stead::load(case, &inputs).and_then(|stead| {
        let outputs = stead.outputs()?;
        Ok((stead, expected.difference(&outputs)?))
    });
    let (stead, difference) = match stead {
        Ok((stead, difference)) if difference <= expected.most => (Ok(stead), Some(difference)),
        Ok((_, difference)) => (Err(wrong(difference)), Some(difference)),
        Err(reason) => (Err(short(&reason.to_string())), None),
    };
    let mut peers = if case.all_cores {
        [Err("one thread only".to_owned()), Err("one thread only".to_owned())]
    } else {
        [
            agreeing(&expected, || rust_peers::rten(&case.model, &inputs, pool)),
            agreeing(&expected, || rust_peers::tract(&case.model, &inputs)),
        ]
    };
    let peak = machine::peak_flops();
    let bytes = machine::memory_bytes();
    let [mut own, mut theirs, mut rten, mut tract]: [Times; 4] = Default::default();
    let ours = |own: &mut Times| -> Result<()> {
        settle(case);
        stead.as_ref().map_or(Ok(()), |stead| own.turn(|| stead.run()))
    };
    // The first turn of each warms it up.
    ours(&mut Times::default())?;
    Times::default().turn(|| other.run())?;
    for pair in 0..case.pairs {
        let mut runtime = |times: &mut Times| {
            settle(case);
            times.turn(|| other.run())
        };
        // Neither side always comes behind the other.
        if pair % 2 == 0 {
            ours(&mut own)?;
            runtime(&mut theirs)?;
        } else {
            runtime(&mut theirs)?;
            ours(&mut own)?;
        }
        for (peer, times) in peers.iter_mut().zip([&mut rten, &mut tract]) {
            if let Ok(run) = peer {
                times.turn(|| run(false).map(drop))?;
            }
        }
    }
    let speedup = |times: &Times| own.speedup(times);
    let [r, t] = [&rten, &tract].map(speedup);
    let over = speedup(&theirs);
    let [rten, tract] =
        [(&peers[0], rten, r), (&peers[1], tract, t)].map(|(peer, mut times, over)| match peer {
            Ok(_) => {
                let (median, min) = times.summary();
                json!({"median": median, "min": min, "ratio": over})
            }
            Err(reason) => json!({"refused": reason}),
        });
    let (median, min) = theirs.summary();
    let theirs = json!({"median": median, "min": min, "ratio": over});
    let own = match stead {
        Ok(_) => {
            let (median, min) = own.summary();
            eprintln!(
                "  {} beside {}",
                us(median),
                us(theirs["median"].as_f64().unwrap_or_default())
            );
            json!({"median": median, "min": min})
        }
        Err(reason) => json!({"refused": reason}),
    };
    Ok(json!({
        "stead": own, "onnxruntime": theirs, "rten": rten, "tract": tract, "difference": difference, "scale": expected.scale,
        "runtime_difference": expected.apart,
        "peak_flops": peak.max(machine::peak_flops()), "memory_bytes": bytes.max(machine::memory_bytes()),
    }))
}

fn settle(case: &Case) {
    if case.all_cores {
        std::thread::sleep(SETTLE);
    }
}

/// Prepares a peer and checks its answer. The error is what the table shows in its place.
fn agreeing(
    expected: &Answers,
    load: impl FnOnce() -> Result<Run>,
) -> std::result::Result<Run, String> {
    let answer = rust_peers::guarded(|| {
        let mut run = load()?;
        let outputs = run(true)?;
        Ok((run, expected.difference(&outputs)?))
    });
    match answer {
        Ok((run, difference)) if difference <= expected.most => Ok(run),
        Ok((_, difference)) => Err(wrong(difference)),
        Err(e) => Err(short(&e.to_string())),
    }
}

fn wrong(difference: f32) -> String {
    format!("wrong: differs by {difference:.1e}")
}

/// The first line of a reason, cut so that it fits a note.
fn short(reason: &str) -> String {
    let line: String = reason.lines().next().unwrap_or_default().replace('|', "/");
    let line: Vec<char> = line.chars().collect();
    match line.get(..120) {
        Some(start) => start.iter().chain(&['.'; 3]).collect(),
        None => line.iter().collect(),
    }
}
