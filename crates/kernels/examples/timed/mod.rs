//! How long calls take.

use std::time::Instant;

/// Seconds for which runs are repeated.
const REPEATED: f64 = 0.2;

/// Seconds that a run takes: many times what reading the clock does.
const RUN: f64 = 0.0003;

/// How many calls take [`RUN`].
pub fn calls_of(f: &mut impl FnMut()) -> usize {
    f();
    let start = Instant::now();
    f();
    ((RUN / start.elapsed().as_secs_f64().max(1e-9)) as usize).clamp(1, 100_000)
}

/// The shortest of many short runs, which fall between the turns of other processes, in seconds per call.
pub fn best(mut f: impl FnMut()) -> f64 {
    let calls = calls_of(&mut f);
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < REPEATED {
        let start = Instant::now();
        for _ in 0..calls {
            f();
        }
        best = best.min(start.elapsed().as_secs_f64() / calls as f64);
    }
    best
}
