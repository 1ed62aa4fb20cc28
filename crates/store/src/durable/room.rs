//! How much a store takes on before it says that it is busy.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::StoreError;

/// What operations that are not yet done may come to. What they hold in memory is a few times their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoomOptions {
    /// Operations.
    pub operations: usize,
    /// Bytes of the log. One operation is let in with any number of bytes, as it may be a very large document.
    pub bytes: usize,
}

impl Default for RoomOptions {
    fn default() -> RoomOptions {
        // A second of feeding on a small machine; more only waits.
        RoomOptions { operations: 10_000, bytes: 64 << 20 }
    }
}

/// The room that operations take.
pub(super) struct Room {
    options: RoomOptions,
    taken: Mutex<Taken>,
    freed: Condvar,
}

#[derive(Default)]
struct Taken {
    operations: usize,
    bytes: usize,
}

/// The room of one operation, which it leaves when it is dropped.
pub(super) struct Permit {
    room: Arc<Room>,
    bytes: usize,
}

impl Room {
    pub(super) fn new(options: RoomOptions) -> Arc<Room> {
        Arc::new(Room { options, taken: Mutex::default(), freed: Condvar::new() })
    }

    /// No code under the lock panics.
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_full(&self, taken: &Taken) -> bool {
        taken.operations >= self.options.operations.max(1)
            || taken.bytes >= self.options.bytes.max(1)
    }

    /// Lets an operation in.
    ///
    /// # Errors
    /// [`StoreError::Busy`] where there is no room.
    pub(super) fn try_enter(self: &Arc<Room>) -> Result<Permit, StoreError> {
        let mut taken = self.taken();
        if self.is_full(&taken) {
            return Err(StoreError::Busy { operations: taken.operations });
        }
        taken.operations += 1;
        Ok(Permit { room: Arc::clone(self), bytes: 0 })
    }

    /// Lets an operation in when there is room.
    pub(super) fn enter(self: &Arc<Room>) -> Permit {
        let mut taken = self.taken();
        while self.is_full(&taken) {
            taken = self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        taken.operations += 1;
        Permit { room: Arc::clone(self), bytes: 0 }
    }

    /// Operations that are in.
    pub(super) fn operations(&self) -> usize {
        self.taken().operations
    }
}

impl Permit {
    /// The operation has this many bytes more.
    pub(super) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.room.taken().bytes += bytes;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = self.room.taken();
        taken.operations -= 1;
        taken.bytes -= self.bytes;
        drop(taken);
        self.room.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_has_a_bound_by_number_and_by_bytes() {
        let room = Room::new(RoomOptions { operations: 2, bytes: 100 });
        let mut first = room.try_enter().unwrap();
        first.add(1000);
        let busy = |operations| Some(StoreError::Busy { operations });
        assert_eq!(room.try_enter().err(), busy(1), "one large operation fills it");
        drop(first);
        let (first, second) = (room.try_enter().unwrap(), room.try_enter().unwrap());
        assert_eq!(room.try_enter().err(), busy(2));
        drop(first);
        let third = room.try_enter().unwrap();
        let waiter = {
            let room = Arc::clone(&room);
            std::thread::spawn(move || drop(room.enter()))
        };
        drop((second, third));
        waiter.join().unwrap();
        assert_eq!(room.operations(), 0);
    }
}
