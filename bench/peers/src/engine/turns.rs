//! Both sides of a comparison turn by turn, and what pairs of turns tell.

use std::time::{Duration, Instant};

use crate::Result;
use crate::report::quantile_us;

/// One turn of a side lasts at least this long: short, so that both sides meet the same weather on a shared
/// machine, and long beside the switch, so that caches are warm for most of it.
const TURN: Duration = Duration::from_millis(20);

/// The times of one side.
#[derive(Debug, Default)]
pub struct Times {
    /// Of all runs, in nanoseconds.
    runs: Vec<u64>,
    /// The median of each turn, in microseconds.
    turns: Vec<f64>,
}

impl Times {
    /// Runs a side for a turn.
    pub fn turn(&mut self, mut once: impl FnMut() -> Result<()>) -> Result<()> {
        let (until, first) = (Instant::now() + TURN, self.runs.len());
        loop {
            let started = Instant::now();
            once()?;
            self.runs.push(started.elapsed().as_nanos() as u64);
            if Instant::now() >= until {
                break;
            }
        }
        let mut own = self.runs.get(first..).unwrap_or_default().to_vec();
        self.turns.push(quantile_us(&mut own, 0.5));
        Ok(())
    }

    /// The median and the smallest of all runs, in microseconds.
    pub fn summary(&mut self) -> (f64, f64) {
        (quantile_us(&mut self.runs, 0.5), quantile_us(&mut self.runs, 0.0))
    }

    /// The median over the pairs of turns of the other side's time over this one's: above 1 this side is quicker.
    pub fn speedup(&self, other: &Times) -> f64 {
        let pairs = self.turns.iter().zip(&other.turns);
        let mut ratios: Vec<f64> = pairs.map(|(own, other)| other / own).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_decide_and_not_medians() {
        let times = |turns: &[f64]| Times { runs: Vec::new(), turns: turns.to_vec() };
        // The machine slows down by ten in the middle: each pair says the same.
        let (own, other) = (times(&[1.0, 1.0, 10.0, 10.0]), times(&[2.0, 2.0, 20.0, 20.0]));
        assert_eq!(own.speedup(&other), 2.0);
        assert_eq!(other.speedup(&own), 0.5);
        assert!(times(&[]).speedup(&own).is_nan());
    }

    #[test]
    fn a_turn_runs_at_least_once() -> Result<()> {
        let mut times = Times::default();
        times.turn(|| {
            std::thread::sleep(TURN);
            Ok(())
        })?;
        let (median, min) = times.summary();
        assert!(median >= min && min >= TURN.as_micros() as f64);
        Ok(())
    }
}
