//! `stead conformance`: models against the outputs they should have.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::conformance::{Case, Tolerance, Verdict, find, isolated, run as run_case};
use crate::failure::Failure;

/// Run folders in the ONNX test-data layout and compare the outputs
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A folder holds model.onnx and test_data_set_0/input_0.pb, output_0.pb, ...\n\n\
    Examples:\n  stead conformance my_export/\n  stead conformance target/onnx-node-tests --list-failures"
)]
pub struct ConformanceArgs {
    /// Folders of cases, or folders of such folders.
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Name each case that fails, with the reason.
    #[arg(long)]
    list_failures: bool,
    /// Absolute tolerance instead of the suite's 1e-7.
    #[arg(long)]
    atol: Option<f64>,
    /// Seconds that a case may take.
    #[arg(long, default_value_t = 60)]
    time_limit: u64,
    /// Print JSON: passed, failed, skipped and all cases.
    #[arg(long)]
    json: bool,
}

/// Runs the command. True if no case failed.
pub fn run(args: &ConformanceArgs) -> Result<bool, Failure> {
    let cases = find(&args.folders)?;
    let standard = Tolerance::default();
    let tolerance = Tolerance { atol: args.atol.unwrap_or(standard.atol), ..standard };
    let limit = Duration::from_secs(args.time_limit.max(1));
    // A case that panics reports it as its reason; the hook would print it a second time.
    std::panic::set_hook(Box::new(|_| ()));
    let verdicts = run_all(&cases, tolerance, limit);
    drop(std::panic::take_hook());

    let count = |wanted: fn(&Verdict) -> bool| verdicts.iter().filter(|v| wanted(v)).count();
    let passed = count(|v| *v == Verdict::Passed);
    let failed = count(|v| matches!(v, Verdict::Failed(_)));
    let skipped = count(|v| matches!(v, Verdict::Skipped(_)));
    if args.json {
        let row = |(case, verdict): (&Case, &Verdict)| match verdict {
            Verdict::Passed => json!({"name": case.name, "result": "passed"}),
            Verdict::Failed(why) => json!({"name": case.name, "result": "failed", "reason": why}),
            Verdict::Skipped(why) => json!({"name": case.name, "result": "skipped", "reason": why}),
        };
        let rows: Vec<_> = cases.iter().zip(&verdicts).map(row).collect();
        let report = json!({
            "passed": passed, "failed": failed, "skipped": skipped,
            "rtol": tolerance.rtol, "atol": tolerance.atol, "cases": rows,
        });
        println!("{report}");
        return Ok(failed == 0);
    }
    for (case, verdict) in cases.iter().zip(&verdicts) {
        match verdict {
            Verdict::Failed(why) if args.list_failures => println!("failed {}: {why}", case.name),
            Verdict::Skipped(why) => println!("skipped {}: {why}", case.name),
            _ => {}
        }
    }
    let note = args.atol.map_or(String::new(), |atol| format!(" (atol {atol:e})"));
    println!("{passed} passed, {failed} failed, {skipped} skipped{note}");
    Ok(failed == 0)
}

/// Runs all cases on every core, each isolated, and shows a bar where somebody watches.
fn run_all(cases: &[Case], tolerance: Tolerance, limit: Duration) -> Vec<Verdict> {
    let bar = match std::io::stderr().is_terminal() {
        true => indicatif::ProgressBar::new(cases.len() as u64),
        false => indicatif::ProgressBar::hidden(),
    };
    let next = AtomicUsize::new(0);
    let verdicts = Mutex::new(vec![Verdict::Skipped("not run".to_owned()); cases.len()]);
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let owned = case.clone();
            let verdict = isolated(limit, move || run_case(&owned, tolerance));
            let at = cases.iter().position(|c| std::ptr::eq(c, case));
            let mut verdicts = verdicts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let Some(slot) = at.and_then(|at| verdicts.get_mut(at)) {
                *slot = verdict;
            }
            bar.inc(1);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| {
            scope.spawn(work);
        });
    });
    bar.finish_and_clear();
    verdicts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}
