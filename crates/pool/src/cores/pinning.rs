//! Workers that stay on their CPUs.

use super::{Cores, ListError, read_list, write_list};
use std::str::FromStr;

/// Which worker runs where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Pinning {
    /// Where the system puts it.
    #[default]
    None,
    /// Each on a physical core of its own, on whichever of its threads.
    Cores,
    /// Each on one of these CPUs, in their order.
    List(Vec<usize>),
}

impl FromStr for Pinning {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Pinning, ListError> {
        match text {
            "none" => Ok(Pinning::None),
            "cores" => Ok(Pinning::Cores),
            list => read_list(list).map(Pinning::List),
        }
    }
}

/// Why workers cannot be pinned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PinningError {
    /// CPUs that are not there or not allowed.
    #[error("this process has no CPU {missing}; it may use {allowed}")]
    NotThere {
        /// Those of the list that are missing.
        missing: String,
        /// Those that there are.
        allowed: String,
    },
    /// More workers than places: two would share a CPU while others are free.
    #[error("{threads} threads do not fit on {places} pinned cores: each wants one of its own")]
    TooFew {
        /// The workers wanted.
        threads: usize,
        /// The places.
        places: usize,
    },
}

impl Pinning {
    /// The CPUs of each worker; nothing where they are not pinned. `threads` is how many workers are wanted, if that was
    /// said.
    ///
    /// # Errors
    /// [`PinningError`].
    pub fn places(
        &self,
        cores: &Cores,
        threads: Option<usize>,
    ) -> Result<Vec<Vec<usize>>, PinningError> {
        let mut places = match self {
            Pinning::None => return Ok(Vec::new()),
            Pinning::Cores => cores.cores.clone(),
            Pinning::List(list) => {
                let allowed = cores.cpus();
                let missing: Vec<usize> =
                    list.iter().copied().filter(|cpu| !allowed.contains(cpu)).collect();
                if !missing.is_empty() {
                    let (missing, allowed) = (write_list(&missing), write_list(&allowed));
                    return Err(PinningError::NotThere { missing, allowed });
                }
                list.iter().map(|cpu| vec![*cpu]).collect()
            }
        };
        let wanted = match (threads, self) {
            (Some(threads), _) => threads,
            // A list says how many there are, unless the quota does not let them run.
            (None, Pinning::List(list)) => {
                let quota = cores.quota.map_or(usize::MAX, |quota| quota.floor() as usize);
                list.len().min(quota).max(1)
            }
            (None, _) => cores.workers(),
        };
        if wanted > places.len() {
            return Err(PinningError::TooFew { threads: wanted, places: places.len() });
        }
        places.truncate(wanted);
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_flag_says() {
        assert_eq!("none".parse(), Ok(Pinning::None));
        assert_eq!("cores".parse(), Ok(Pinning::Cores));
        assert_eq!("0,2-3".parse(), Ok(Pinning::List(vec![0, 2, 3])));
        for text in ["", "core", "0-", "1;2"] {
            assert_eq!(text.parse::<Pinning>(), Err(ListError::Part(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn each_worker_has_a_place_of_its_own() {
        let cores = |quota| Cores { cores: vec![vec![0, 4], vec![1, 5], vec![2]], quota };
        let list = |cpus: &[usize]| Pinning::List(cpus.to_vec());
        let too_few = |threads, places| Err(PinningError::TooFew { threads, places });
        let missing = |text: &str| {
            Err(PinningError::NotThere { missing: text.to_owned(), allowed: "0-2,4-5".to_owned() })
        };
        type Case = (
            &'static str,
            Pinning,
            Option<f64>,
            Option<usize>,
            Result<Vec<Vec<usize>>, PinningError>,
        );
        let cases: [Case; 10] = [
            ("none", Pinning::None, None, Some(9), Ok(vec![])),
            ("cores", Pinning::Cores, None, None, Ok(vec![vec![0, 4], vec![1, 5], vec![2]])),
            ("cores of a quota", Pinning::Cores, Some(2.2), None, Ok(vec![vec![0, 4], vec![1, 5]])),
            ("fewer threads", Pinning::Cores, None, Some(1), Ok(vec![vec![0, 4]])),
            ("more threads", Pinning::Cores, None, Some(4), too_few(4, 3)),
            ("a list", list(&[1, 4]), None, None, Ok(vec![vec![1], vec![4]])),
            ("a list and a quota", list(&[1, 4]), Some(1.0), None, Ok(vec![vec![1]])),
            ("more threads than the list", list(&[1, 4]), None, Some(3), too_few(3, 2)),
            ("not there", list(&[1, 3, 6, 7]), None, None, missing("3,6-7")),
            ("not there at all", list(&[8000]), None, Some(1), missing("8000")),
        ];
        for (label, pinning, quota, threads, expected) in cases {
            assert_eq!(pinning.places(&cores(quota), threads), expected, "{label}");
        }
    }
}
