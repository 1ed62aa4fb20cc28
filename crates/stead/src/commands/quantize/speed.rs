//! How much faster one model is than another.

use std::time::{Duration, Instant};

use stead_engine::{RunContext, Session};
use stead_quantize::Run;
use stead_tensor::Tensor;

use crate::failure::Failure;

/// Pairs of runs, as long as they take no longer than [`MOST`].
pub(super) const PAIRS: usize = 25;

/// Enough pairs of a model whose runs take a second.
const MOST: Duration = Duration::from_secs(10);

/// Times of runs that took turns.
pub(super) struct Speed {
    /// Medians in milliseconds, of the original and the quantised model.
    pub median_ms: [f64; 2],
    /// The median of the ratios of runs that followed each other: above 1 the quantised model is faster.
    pub ratio: f64,
    pub pairs: usize,
}

/// Runs both models in turn on the same inputs.
pub(super) fn measured(
    original: &Session,
    quantized: &Session,
    run: &Run,
    context: &RunContext<'_>,
    mut done: impl FnMut(),
) -> Result<Speed, Failure> {
    let views: Vec<_> = run.iter().map(|tensor| tensor.as_ref().map(Tensor::view)).collect();
    let once = |session: &Session| {
        let started = Instant::now();
        session.run_with(&views, context, |_| ()).map_err(Failure::failed)?;
        Ok::<f64, Failure>(started.elapsed().as_secs_f64() * 1e3)
    };
    // Plans and caches.
    once(original)?;
    once(quantized)?;
    let (mut times, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
    let started = Instant::now();
    while ratios.len() < PAIRS && (ratios.len() < 3 || started.elapsed() < MOST) {
        let (one, other) = (once(original)?, once(quantized)?);
        times[0].push(one);
        times[1].push(other);
        ratios.push(one / other);
        done();
    }
    let pairs = ratios.len();
    Ok(Speed { median_ms: times.map(median), ratio: median(ratios), pairs })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
