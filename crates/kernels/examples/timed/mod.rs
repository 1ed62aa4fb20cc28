//! How long calls take.

use std::time::Instant;

/// Seconds for which runs are repeated.
const REPEATED: f64 = 0.2;

/// Seconds that a run takes: many times what reading the clock does.
const RUN: f64 = 0.0003;

/// How many calls take [`RUN`].
fn calls_of(f: &mut impl FnMut()) -> usize {
    f();
    let start = Instant::now();
    f();
    ((RUN / start.elapsed().as_secs_f64().max(1e-9)) as usize).clamp(1, 100_000)
}

/// Seconds of a call of `f`, and the same over those of a call of `other`, turn by turn: medians of both. A core that multiplies all the time
/// is slower than it was at first, by a sixth on some machines, and what else runs there comes and goes: only what is measured side by side
/// compares.
#[allow(dead_code, reason = "not every example compares")]
pub fn beside(mut other: impl FnMut(), mut f: impl FnMut()) -> (f64, f64) {
    let (calls_of_other, calls) = (calls_of(&mut other), calls_of(&mut f));
    let time = |calls: usize, f: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        start.elapsed().as_secs_f64() / calls as f64
    };
    let (mut seconds, mut ratios) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < 2.0 * REPEATED || ratios.len() < 3 {
        let [beside, own] = [time(calls_of_other, &mut other), time(calls, &mut f)];
        seconds.push(own);
        ratios.push(own / beside);
    }
    let median = |mut x: Vec<f64>| {
        x.sort_by(f64::total_cmp);
        x[x.len() / 2]
    };
    (median(seconds), median(ratios))
}

/// The shortest of many short runs, which fall between the turns of other processes, in seconds per call.
#[allow(dead_code, reason = "not every example has one")]
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
