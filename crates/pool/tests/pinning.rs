//! Workers stay where they were put, and what they load does not.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]

use stead_pool::{Class, Cores, Pinning, Pool, PoolOptions, read_list};

/// The CPUs that the calling thread may run on, as the system tells.
fn mine() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    read_list(line.trim()).unwrap()
}

#[test]
fn workers_run_where_they_are_pinned() {
    let cores = Cores::of_this_process();
    assert_eq!(mine(), cores.cpus());
    let last = *cores.cpus().last().unwrap();
    for (pinning, threads) in [(Pinning::List(vec![last]), None), (Pinning::Cores, Some(1))] {
        let places = pinning.places(&cores, threads).unwrap();
        let options =
            PoolOptions { threads: places.len(), places: places.clone(), ..PoolOptions::default() };
        let pool = Pool::new(&options).unwrap();
        for class in [Class::Query, Class::Background, Class::Feed, Class::Background, Class::Query]
        {
            let expected = match class {
                // Threads that it starts would be everywhere.
                Class::Background => cores.cpus(),
                _ => places[0].clone(),
            };
            assert_eq!(pool.submit(class, None, |_| mine()).wait(), Ok(expected), "{pinning:?}");
        }
    }
    assert_eq!(mine(), cores.cpus(), "who makes a pool stays free");
}

#[test]
fn a_cpu_that_is_not_there_is_the_systems_error() {
    let places = vec![vec![8191]];
    let made = Pool::new(&PoolOptions { threads: 1, places, ..PoolOptions::default() });
    assert!(made.is_err());
}
