//! Both sides of a comparison turn by turn, and what pairs of turns tell. The program that measures includes this file, and
//! so does xtask for its tests, which `cargo test` runs.

use std::time::{Duration, Instant};

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
    ///
    /// # Errors
    /// The first of a run.
    pub fn turn<E>(&mut self, mut once: impl FnMut() -> Result<(), E>) -> Result<(), E> {
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

/// The value at a fraction of the sorted times, in microseconds.
pub fn quantile_us(times: &mut [u64], fraction: f64) -> f64 {
    times.sort_unstable();
    let at = ((times.len() as f64 * fraction) as usize).min(times.len().saturating_sub(1));
    times.get(at).map_or(f64::NAN, |&ns| ns as f64 / 1e3)
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
    fn a_turn_runs_at_least_once() {
        let mut times = Times::default();
        let ran: Result<(), ()> = times.turn(|| {
            std::thread::sleep(TURN);
            Ok(())
        });
        let (median, min) = times.summary();
        assert!(ran.is_ok() && median >= min && min >= TURN.as_micros() as f64);
        assert_eq!(times.turn(|| Err("broken")), Err("broken"));
    }

    #[test]
    fn quantiles_are_of_sorted_times() {
        let cases: [(&[u64], f64, f64); 4] = [
            (&[3000, 1000, 2000], 0.0, 1.0),
            (&[3000, 1000, 2000], 0.5, 2.0),
            (&[1000, 2000], 1.0, 2.0),
            (&[5000], 0.99, 5.0),
        ];
        for (times, fraction, expected) in cases {
            assert_eq!(
                quantile_us(&mut times.to_vec(), fraction),
                expected,
                "{times:?} {fraction}"
            );
        }
        assert!(quantile_us(&mut [], 0.5).is_nan());
    }
}
