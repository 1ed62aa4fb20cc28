//! How many workers a pool should have, and on which CPUs they run.

mod affinity;
mod list;
mod pinning;
mod quota;

pub(crate) use affinity::{allow, current, leave, pin};
pub use list::{ListError, read_list, write_list};
pub use pinning::{Pinning, PinningError};

use std::path::Path;

/// The cores that this process may use: those that its affinity mask allows, and how much of their time its control
/// group does.
#[derive(Debug, Clone, PartialEq)]
pub struct Cores {
    /// The CPUs of each physical core, ascending; threads of a core that are not allowed are left out.
    cores: Vec<Vec<usize>>,
    /// CPUs that may be used at a time, by the quota of the control group.
    quota: Option<f64>,
}

impl Cores {
    /// Those of this process now.
    pub fn of_this_process() -> Cores {
        Cores::read(Path::new("/"), &affinity::allowed())
    }

    /// As the files below `root` say, of the CPUs that are `allowed`.
    fn read(root: &Path, allowed: &[usize]) -> Cores {
        let mut cores: Vec<Vec<usize>> = Vec::new();
        for &cpu in allowed {
            if cores.iter().any(|core| core.contains(&cpu)) {
                continue;
            }
            let file = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            let mut core = read_list(text.trim()).unwrap_or_default();
            core.retain(|sibling| allowed.contains(sibling));
            // Where nothing is known of it, a CPU is a core.
            if !core.contains(&cpu) {
                core = vec![cpu];
            }
            cores.push(core);
        }
        Cores { cores, quota: quota::read(root) }
    }

    /// One for each physical core, and no more than the quota lets run at a time: with more of them all would be stopped
    /// together for the rest of each period. At least 1.
    pub fn workers(&self) -> usize {
        // A quota is never negative; a fraction of a CPU counts as one.
        let quota = self.quota.map_or(usize::MAX, |quota| quota.floor() as usize);
        self.cores.len().min(quota).max(1)
    }

    /// Physical cores.
    pub fn physical(&self) -> usize {
        self.cores.len()
    }

    /// CPUs, hardware threads of one core counted each.
    pub fn logical(&self) -> usize {
        self.cores.iter().map(Vec::len).sum()
    }

    /// CPUs that may be used at a time, where a control group bounds that.
    pub fn quota(&self) -> Option<f64> {
        self.quota
    }

    /// All CPUs, ascending.
    pub fn cpus(&self) -> Vec<usize> {
        let mut cpus: Vec<usize> = self.cores.iter().flatten().copied().collect();
        cpus.sort_unstable();
        cpus
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Files as they were recorded on machines.
    pub(super) fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        root
    }

    fn siblings(lists: &[&str]) -> Vec<(String, String)> {
        let file = |cpu| format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        lists.iter().enumerate().map(|(cpu, list)| (file(cpu), (*list).to_owned())).collect()
    }

    #[test]
    fn one_worker_for_each_physical_core_within_the_quota() {
        let desktop = ["0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"];
        let cloud = ["0-1", "0-1", "2-3", "2-3"];
        let v2 = "0::/kubepods/pod7/c1";
        let limit = |text| ("sys/fs/cgroup/kubepods/pod7/c1/cpu.max", text);
        type Case<'a> =
            (&'a str, &'a [&'a str], &'a [usize], &'a [(&'a str, &'a str)], (usize, usize, usize));
        // (label, siblings of each CPU, allowed CPUs, control group, (physical, logical, workers))
        let cases: [Case<'_>; 12] = [
            ("a desktop", &desktop, &[0, 1, 2, 3, 4, 5, 6, 7], &[], (4, 8, 4)),
            ("a virtual machine of a cloud", &cloud, &[0, 1, 2, 3], &[], (2, 4, 2)),
            ("no hyper-threads", &["0", "1"], &[0, 1], &[], (2, 2, 2)),
            ("taskset: two cores, one with both threads", &desktop, &[1, 2, 5], &[], (2, 3, 2)),
            ("taskset: second threads only", &desktop, &[4, 5], &[], (2, 2, 2)),
            ("nothing is known", &[], &[0, 1, 2], &[], (3, 3, 3)),
            ("lists that say nothing", &["", "nonsense"], &[0, 1], &[], (2, 2, 2)),
            (
                "no quota",
                &desktop,
                &[0, 1, 2, 3],
                &[("proc/self/cgroup", v2), limit("max 100000")],
                (4, 4, 4),
            ),
            (
                "two CPUs",
                &desktop,
                &[0, 1, 2, 3],
                &[("proc/self/cgroup", v2), limit("200000 100000")],
                (4, 4, 2),
            ),
            (
                "two and a half",
                &desktop,
                &[0, 1, 2, 3],
                &[("proc/self/cgroup", v2), limit("250000 100000")],
                (4, 4, 2),
            ),
            (
                "half a CPU",
                &desktop,
                &[0, 1, 2, 3],
                &[("proc/self/cgroup", v2), limit("50000 100000")],
                (4, 4, 1),
            ),
            (
                "more than there are",
                &cloud,
                &[0, 1],
                &[("proc/self/cgroup", v2), limit("800000 100000")],
                (1, 2, 1),
            ),
        ];
        for (label, lists, allowed, group, expected) in cases {
            let topology = siblings(lists);
            let topology = topology.iter().map(|(path, text)| (path.as_str(), text.as_str()));
            let files: Vec<(&str, &str)> = topology.chain(group.iter().copied()).collect();
            let root = machine(&files);
            let cores = Cores::read(root.path(), allowed);
            assert_eq!((cores.physical(), cores.logical(), cores.workers()), expected, "{label}");
            assert_eq!(cores.cpus(), allowed, "{label}");
        }
    }

    #[test]
    fn this_process_has_a_core() {
        let cores = Cores::of_this_process();
        assert!(cores.workers() >= 1 && cores.workers() <= cores.physical(), "{cores:?}");
        let parallelism = std::thread::available_parallelism().map_or(1, usize::from);
        assert!(cores.workers() <= parallelism, "{cores:?}");
    }
}
