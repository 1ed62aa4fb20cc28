//! Sessions: a package on its way to be served.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of a session; it is the generation of the application that it becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How far a session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Its files are there.
    New,
    /// It can be activated.
    Prepared,
    /// It is active, or was.
    Activated,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) state: State,
    /// Milliseconds since 1970.
    pub(super) created: u64,
    /// The session that was active when it was created.
    pub(super) active_then: Option<SessionId>,
}

impl Session {
    pub(super) fn new(id: SessionId, active: Option<SessionId>) -> Session {
        let created = millis(SystemTime::now());
        Session { id, state: State::New, created, active_then: active }
    }

    /// The session as it stands in its file:
    ///
    /// | at | | |
    /// |---|---|---|
    /// | 0 | `u64` | milliseconds since 1970 when it was created |
    /// | 8 | `u64` | the session that was active then, 0 for none |
    /// | 16 | `u8` | 0 new, 1 prepared, 2 activated |
    pub(super) fn encode(&self) -> Vec<u8> {
        let then = self.active_then.map_or(0, |id| id.0);
        let state = match self.state {
            State::New => 0,
            State::Prepared => 1,
            State::Activated => 2,
        };
        [&self.created.to_le_bytes()[..], &then.to_le_bytes(), &[state]].concat()
    }

    /// The session of a file; nothing if it is none.
    pub(super) fn decode(id: SessionId, bytes: &[u8]) -> Option<Session> {
        let (created, rest) = bytes.split_first_chunk::<8>()?;
        let (then, state) = rest.split_first_chunk::<8>()?;
        let state = match state {
            [0] => State::New,
            [1] => State::Prepared,
            [2] => State::Activated,
            _ => return None,
        };
        let then = u64::from_le_bytes(*then);
        let active_then = (then != 0).then_some(SessionId(then));
        Some(Session { id, state, created: u64::from_le_bytes(*created), active_then })
    }
}

/// Milliseconds since 1970.
pub(super) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The day of a time in milliseconds since 1970, such as `2026-01-31`, in the calendar of everybody's computers
/// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
pub(super) fn day(millis: u64) -> String {
    // Years begin in March here, so that the leap day is the last.
    let days = millis / 86_400_000 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year + era * 400 + next)
}

/// What a path in a package leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A file.
    File(Vec<u8>),
    /// A folder: the paths of what is in it, folders with a `/` at the end.
    Folder(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_names() {
        // By `date -u -d @seconds +%F`.
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_709_251_199, "2024-02-29"),
            (1_735_689_599, "2024-12-31"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(day(seconds * 1000 + 999), expected);
        }
    }

    #[test]
    fn sessions_are_read_as_they_were_written() {
        for (state, then) in
            [(State::New, None), (State::Prepared, Some(SessionId(7))), (State::Activated, None)]
        {
            let session = Session { id: SessionId(8), state, created: 1 << 40, active_then: then };
            assert_eq!(Session::decode(session.id, &session.encode()), Some(session));
        }
        for (label, bytes) in [("short", &[0; 16][..]), ("long", &[0; 18]), ("state", &[9; 17])] {
            assert_eq!(Session::decode(SessionId(1), bytes), None, "{label}");
        }
    }
}
