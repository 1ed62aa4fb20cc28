//! Times that were measured, the newest counting most.

use std::time::Duration;

/// The weight of a new measurement: after some twenty of them the ones before hardly count.
const NEWEST: f64 = 0.125;

/// An exponentially weighted mean of durations; none before the first.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mean(Option<f64>);

impl Mean {
    pub(super) fn note(&mut self, time: Duration) {
        let time = time.as_secs_f64();
        self.0 = Some(self.0.map_or(time, |mean| mean + NEWEST * (time - mean)));
    }

    pub(super) fn get(&self) -> Option<Duration> {
        self.0.and_then(|mean| Duration::try_from_secs_f64(mean).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_count_most() {
        let ms = Duration::from_millis;
        let mut mean = Mean::default();
        assert_eq!(mean.get(), None);
        mean.note(ms(100));
        assert_eq!(mean.get(), Some(ms(100)));
        mean.note(ms(900));
        assert_eq!(mean.get(), Some(ms(200)));
        (0..60).for_each(|_| mean.note(ms(10)));
        let settled = mean.get().unwrap();
        assert!(settled > ms(9) && settled < ms(11), "{settled:?}");
    }
}
