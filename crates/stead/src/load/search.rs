//! The search for the largest load that is still fine.

/// What one trial says about its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is fine.
    Fine,
    /// It is not, but may be when it is tried again.
    Borderline,
    /// It is not.
    Bad,
}

/// How often a borderline trial is repeated before it is believed.
const REPEATS: usize = 2;

/// Whether a load is fine. A shared machine makes trials worse, never better: one good trial is enough.
///
/// # Errors
/// Those of `trial`.
pub fn is_fine<E>(mut trial: impl FnMut() -> Result<Verdict, E>) -> Result<bool, E> {
    for _ in 0..=REPEATS {
        match trial()? {
            Verdict::Fine => return Ok(true),
            Verdict::Borderline => {}
            Verdict::Bad => return Ok(false),
        }
    }
    Ok(false)
}

/// The largest load that `is_fine`, with a relative error of `1 / PRECISION`; 0 when none is. Loads from `first` on
/// are doubled until one is not fine, and the gap is then halved; `most` is never exceeded.
///
/// # Errors
/// Those of `is_fine`.
pub fn largest<E>(
    first: usize,
    most: usize,
    mut is_fine: impl FnMut(usize) -> Result<bool, E>,
) -> Result<usize, E> {
    let mut next = first.clamp(1, most.max(1));
    let mut fine = 0;
    let mut bad = most.saturating_add(1);
    while bad - fine > (fine / PRECISION).max(1) {
        if is_fine(next)? {
            fine = next;
        } else {
            bad = next;
        }
        let doubles = bad > most && fine < most;
        next = if doubles { fine.saturating_mul(2).min(most) } else { fine + (bad - fine) / 2 };
        if fine == most {
            break;
        }
    }
    Ok(fine)
}

/// A twentieth: runs of one load differ by as much.
const PRECISION: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_found_from_both_sides() {
        for first in [1, 10, 100, 5000] {
            for limit in [0, 1, 2, 3, 99, 100, 101, 1000, 4999, 60_000, 65_536, 100_000] {
                let mut trials = 0;
                let found = largest(first, 65_536, |n| {
                    trials += 1;
                    assert!((1..=65_536).contains(&n));
                    Ok::<bool, ()>(n <= limit)
                });
                let found = found.unwrap();
                let reachable = limit.min(65_536);
                assert!(found <= reachable, "{first} {limit} {found}");
                assert!(reachable - found <= reachable / PRECISION, "{first} {limit} {found}");
                assert!(trials <= 40, "{first} {limit}: {trials}");
            }
        }
    }

    #[test]
    fn a_failure_ends_the_search() {
        assert_eq!(largest(8, 64, |n| if n > 16 { Err(n) } else { Ok(true) }), Err(32));
    }

    #[test]
    fn borderline_trials_are_repeated() {
        use Verdict::{Bad, Borderline, Fine};
        let cases: [(&[Verdict], bool); 5] = [
            (&[Fine], true),
            (&[Bad], false),
            (&[Borderline, Fine], true),
            (&[Borderline, Bad], false),
            (&[Borderline, Borderline, Borderline], false),
        ];
        for (trials, expected) in cases {
            let mut left = trials.iter();
            assert_eq!(is_fine(|| left.next().copied().ok_or(())), Ok(expected), "{trials:?}");
            assert_eq!(left.len(), 0, "{trials:?}");
        }
    }
}
