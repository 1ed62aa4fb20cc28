//! What a process has only so many of: namespaces of the loader and thread-specific keys.
#![allow(unsafe_code)] // keys of threads

use std::sync::{Mutex, OnceLock, PoisonError};

use super::interpose;
use crate::StartError;
use crate::tunables;

/// `PTHREAD_KEYS_MAX` of glibc.
const ALL_KEYS: usize = 1024;

/// Keys that have to be free: a build of torch with CUDA takes some 95, and Python ends the process when there is none.
const NEEDED_KEYS: usize = 128;

/// Namespaces that were opened or are being opened.
static OPEN: Mutex<usize> = Mutex::new(0);

/// The place of one namespace, given back unless it is [kept](Slot::keep).
pub(super) struct Slot {
    kept: bool,
}

impl Slot {
    /// Takes a place among at most `limit`, or as many as this process has room for.
    ///
    /// # Errors
    /// [`StartError::Namespaces`], [`StartError::Keys`].
    pub(super) fn take(limit: Option<usize>) -> Result<Slot, StartError> {
        let most = tunables::namespace_limit();
        let limit = limit.map_or(most, |limit| limit.min(most));
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let free = ALL_KEYS.saturating_sub(keys_taken());
        if free < NEEDED_KEYS {
            return Err(StartError::Keys { free, needed: NEEDED_KEYS });
        }
        if *open >= limit {
            return Err(StartError::Namespaces { open: *open, limit });
        }
        *open += 1;
        Ok(Slot { kept: false })
    }

    /// The namespace is there, and with it this place is gone for the life of the process.
    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.kept {
            *OPEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        }
    }
}

/// Interpreters that were started inside this process.
pub(super) fn namespaces_open() -> usize {
    *OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keys that are taken: those of this program, counted before the first namespace, and those of namespaces.
fn keys_taken() -> usize {
    static OF_PROGRAM: OnceLock<usize> = OnceLock::new();
    let held = interpose::keys_held();
    let of_program = *OF_PROGRAM.get_or_init(|| lowest_free_key().saturating_sub(held));
    of_program + held
}

/// The number of the lowest key that is free. glibc gives keys in this order, and asking so takes no key from anybody
/// else, as trying how many there are would.
fn lowest_free_key() -> usize {
    let mut key = 0;
    // SAFETY: writes one key, which is given back at once.
    unsafe {
        if libc::pthread_key_create(&raw mut key, None) != 0 {
            return ALL_KEYS;
        }
        libc::pthread_key_delete(key);
    }
    key as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_and_given_back() {
        let first = Slot::take(Some(2)).unwrap();
        let second = Slot::take(Some(2)).unwrap();
        let refused = Slot::take(Some(2)).err();
        assert_eq!(refused, Some(StartError::Namespaces { open: 2, limit: 2 }));
        drop((first, second));
        assert_eq!(namespaces_open(), 0);
    }

    #[test]
    fn keys_of_this_program_count() {
        let before = lowest_free_key();
        let mut key = 0;
        // SAFETY: writes one key.
        assert_eq!(unsafe { libc::pthread_key_create(&raw mut key, None) }, 0);
        assert!(lowest_free_key() > before && before < ALL_KEYS);
    }
}
