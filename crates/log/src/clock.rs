//! Time as a value that tests can hold still.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Where time comes from. Timeouts use [`Clock::now`]; only what people read uses [`Clock::wall`].
pub trait Clock: Send + Sync {
    /// Time since some fixed moment; never goes back and knows no leap, zone or correction.
    fn now(&self) -> Duration;
    /// The date and time of day, which may jump either way.
    fn wall(&self) -> SystemTime;
}

/// The clock of the machine.
#[derive(Debug, Clone)]
pub struct SystemClock {
    origin: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A clock that moves only when it is told to. It starts at 0 and at the Unix epoch.
pub struct VirtualClock {
    times: Mutex<(Duration, SystemTime)>,
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self { times: Mutex::new((Duration::ZERO, SystemTime::UNIX_EPOCH)) }
    }
}

impl VirtualClock {
    /// Lets `by` pass on both clocks.
    pub fn advance(&self, by: Duration) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.0 = times.0.saturating_add(by);
        times.1 = times.1.checked_add(by).unwrap_or(times.1);
    }

    /// Sets the wall clock alone, as an administrator or a time server may.
    pub fn set_wall(&self, to: SystemTime) {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).1 = to;
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Duration {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    fn wall(&self) -> SystemTime {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

impl fmt::Debug for VirtualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualClock").field("now", &self.now()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_of_the_wall_clock_moves_no_timeout() {
        let clock = VirtualClock::default();
        clock.advance(Duration::from_millis(3));
        clock.set_wall(SystemTime::UNIX_EPOCH);
        assert_eq!(clock.now(), Duration::from_millis(3));
        clock.advance(Duration::from_millis(4));
        assert_eq!(clock.now(), Duration::from_millis(7));
        assert_eq!(clock.wall(), SystemTime::UNIX_EPOCH + Duration::from_millis(4));
    }

    #[test]
    fn the_system_clock_never_goes_back() {
        let clock = SystemClock::default();
        let first = clock.now();
        assert!(clock.now() >= first);
    }
}
