//! How a thread waits for its next message: where messages come quickly it looks for a moment before it sleeps, for to
//! wake a thread costs more than a short call.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

/// How long is looked: about what it takes to wake a thread.
const LOOK: Duration = Duration::from_micros(50);

/// Messages that come sooner after each other come quickly.
const QUICK: Duration = Duration::from_micros(500);

/// What was seen of the last messages.
#[derive(Default)]
pub(crate) struct Pace {
    is_quick: bool,
}

impl Pace {
    /// The next message; none when nobody can send one any more.
    pub(crate) fn next<T>(&mut self, messages: &Receiver<T>) -> Option<T> {
        match messages.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        let begun = Instant::now();
        while self.is_quick && begun.elapsed() < LOOK {
            // Others who want this core have it.
            std::thread::yield_now();
            if let Ok(message) = messages.try_recv() {
                return Some(message);
            }
        }
        let message = messages.recv().ok();
        self.is_quick = begun.elapsed() < QUICK;
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn all_messages_come_in_their_order_and_then_the_end() {
        let (sender, messages) = mpsc::channel();
        let (asked, asks) = mpsc::channel::<()>();
        let sending = std::thread::spawn(move || {
            for number in 0..100 {
                // Each second one is awaited before it is sent.
                if number % 2 == 0 {
                    asks.recv().unwrap();
                }
                sender.send(number).unwrap();
            }
        });
        let mut pace = Pace::default();
        for number in 0..100 {
            if number % 2 == 0 {
                asked.send(()).unwrap();
            }
            assert_eq!(pace.next(&messages), Some(number));
        }
        sending.join().unwrap();
        assert_eq!(pace.next(&messages), None);
    }
}
