//! More namespaces than the loader has by default.
//!
//! glibc reserves thread-local storage for its namespaces when a program starts, by a tunable that it reads from the
//! environment there and then. With the default there is room for 11 interpreters without, and 6 with, a library that
//! has static thread-local storage (OpenMP); with 16 for 15 of either.

/// Set in the environment of the process that was started anew, so that it does not do it again.
pub const REEXEC_GUARD: &str = "STEAD_PYTHON_NAMESPACES";

const VARIABLE: &str = "GLIBC_TUNABLES";
const TUNABLE: &str = "glibc.rtld.nns";
const WANTED: u32 = 16;

/// The most namespaces beside that of the program itself, with the tunable (`DL_NNS` is 16).
pub(crate) const MOST: usize = 15;

/// The environment with which a program should start itself anew, before it has made threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reexec {
    /// Variables to set.
    pub variables: Vec<(&'static str, String)>,
}

/// Whether this process should start itself anew to have room for as many interpreters as there can be: `None` when it
/// has the room, when it was started for that already, or where there are no namespaces.
pub fn reexec_wanted() -> Option<Reexec> {
    if !cfg!(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")) {
        return None;
    }
    wanted(std::env::var(VARIABLE).ok().as_deref(), std::env::var_os(REEXEC_GUARD).is_some())
}

fn wanted(tunables: Option<&str>, guarded: bool) -> Option<Reexec> {
    if guarded || has_room(tunables) {
        return None;
    }
    let own = format!("{TUNABLE}={WANTED}");
    let others = tunables.unwrap_or_default().split(':').filter(|one| !is_ours(one));
    let all = std::iter::once(own.as_str()).chain(others.filter(|one| !one.is_empty()));
    let value = all.collect::<Vec<_>>().join(":");
    Some(Reexec { variables: vec![(VARIABLE, value), (REEXEC_GUARD, "1".to_owned())] })
}

fn is_ours(tunable: &str) -> bool {
    tunable.split('=').next() == Some(TUNABLE)
}

/// Whether these tunables make room: from 8 on there is room for all that the loader can have.
fn has_room(tunables: Option<&str>) -> bool {
    let number = |one: &str| one.split_once('=').and_then(|(_, value)| value.parse().ok());
    let mut ours = tunables.unwrap_or_default().split(':').filter(|one| is_ours(one));
    ours.next_back().and_then(number).is_some_and(|namespaces: u32| namespaces >= 8)
}

/// The most interpreters inside this process. Without the tunable, so many as there is room for with every library.
pub(crate) fn namespace_limit() -> usize {
    if has_room(std::env::var(VARIABLE).ok().as_deref()) { MOST } else { 6 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_tunables_stay_and_nothing_is_done_twice() {
        let cases: [(&str, Option<&str>, bool, Option<&str>); 7] = [
            ("none", None, false, Some("glibc.rtld.nns=16")),
            (
                "others",
                Some("glibc.malloc.check=1:glibc.malloc.arena_max=2"),
                false,
                Some("glibc.rtld.nns=16:glibc.malloc.check=1:glibc.malloc.arena_max=2"),
            ),
            (
                "too few",
                Some("glibc.rtld.nns=2:glibc.malloc.check=1"),
                false,
                Some("glibc.rtld.nns=16:glibc.malloc.check=1"),
            ),
            ("enough", Some("glibc.rtld.nns=16"), false, None),
            (
                "the last counts",
                Some("glibc.rtld.nns=16:glibc.rtld.nns=1"),
                false,
                Some("glibc.rtld.nns=16"),
            ),
            ("guarded", None, true, None),
            ("no number", Some("glibc.rtld.nns=many"), false, Some("glibc.rtld.nns=16")),
        ];
        for (label, tunables, guarded, expected) in cases {
            let reexec = wanted(tunables, guarded);
            let value = reexec.as_ref().map(|reexec| reexec.variables[0].1.as_str());
            assert_eq!(value, expected, "{label}");
            if let Some(value) = value {
                assert!(has_room(Some(value)), "{label}: the new process is content");
            }
        }
    }
}
