//! What has changed of bodies that lie on disk.
//!
//! It is a piece only where the group itself can no longer be read: a `u16` little-endian whose bit `b` tells that body `b` has changed; for
//! each of these the end of what it is now among the bytes of all, `u32`; the bytes: a [body](crate::body), nothing where there is no
//! document, or a change of the body that the group has.

use super::GROUP;
use crate::body::{self, BodyError};
use crate::columns::Pieces;

/// Bodies of a group that are not those on disk any more.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes {
    /// Bit `b` tells of body `b`.
    pub(super) rows: u16,
    /// What each of them is: a body, nothing, or a change of that on disk.
    bodies: Pieces,
}

impl Changes {
    fn has(&self, at: usize) -> bool {
        self.rows >> at & 1 == 1
    }

    /// Where the one of a row lies among those that have changed.
    fn place(&self, at: usize) -> usize {
        (self.rows & ((1 << at) - 1)).count_ones() as usize
    }

    pub(super) fn get(&self, at: usize) -> Option<&[u8]> {
        self.has(at).then(|| self.bodies.get(self.place(at)))?
    }

    pub(super) fn set(&mut self, at: usize, body: &[u8]) {
        let (place, mut one) = (self.place(at), Pieces::default());
        one.push(body);
        self.bodies.splice(place..place + usize::from(self.has(at)), &one);
        self.bodies.shrink();
        self.rows |= 1 << at;
    }

    /// The bodies of all rows, if what is on disk is not needed for them.
    pub(super) fn whole(&self) -> Option<Pieces> {
        let is_whole = |at: usize| self.get(at).is_some_and(|body| !body::is_change(body));
        (0..GROUP).all(is_whole).then(|| self.bodies.clone())
    }

    /// Puts what has changed in the place of what lies on disk.
    pub(super) fn put_into(&self, bodies: &mut Pieces) -> Result<(), BodyError> {
        for at in (0..GROUP).filter(|at| self.has(*at)) {
            let now = self.get(at).unwrap_or_default();
            if at > bodies.len() {
                return Err(BodyError::Short);
            }
            match body::is_change(now) {
                true => {
                    let body = body::changed(bodies.get(at).unwrap_or_default(), now)?;
                    bodies.set(at, &body);
                }
                false => bodies.set(at, now),
            }
        }
        Ok(())
    }

    /// What of this is not as it was at another time, if anything is.
    pub(super) fn since(&self, then: Option<&Changes>) -> Option<Changes> {
        let mut found = Changes::default();
        for at in (0..GROUP).filter(|at| self.has(*at)) {
            let now = self.get(at);
            if then.and_then(|then| then.get(at)) != now {
                found.set(at, now.unwrap_or_default());
            }
        }
        (found.rows != 0).then_some(found)
    }

    /// Adds the bytes of the piece.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.rows.to_le_bytes());
        self.bodies.write(out);
    }

    /// What has changed, of a piece; nothing if it is none.
    pub(crate) fn read(piece: &[u8]) -> Option<Changes> {
        let (rows, bodies) = piece.split_first_chunk::<2>()?;
        let rows = u16::from_le_bytes(*rows);
        Some(Changes { rows, bodies: Pieces::read(rows.count_ones() as usize, bodies)? })
    }

    pub(super) fn memory(&self) -> usize {
        self.bodies.memory()
    }
}
