//! The CPU time that control groups allow, version 1 and 2.

use std::path::{Component, Path, PathBuf};

/// CPUs that may be used at a time: the least of what the process's group and those around it say.
pub(super) fn read(root: &Path) -> Option<f64> {
    let groups = std::fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mounts = root.join("sys/fs/cgroup");
    // In a container the files of its own group may be those at the top.
    let mut folders = vec![(mounts.clone(), V2), (mounts.join("cpu"), V1)];
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if controllers.is_empty() {
            folders.extend(upwards(&mounts, path).map(|folder| (folder, V2)));
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            for name in [controllers, "cpu"] {
                folders.extend(upwards(&mounts.join(name), path).map(|folder| (folder, V1)));
            }
        }
    }
    let limits = folders.into_iter().filter_map(|(folder, version)| version(&folder));
    limits.min_by(f64::total_cmp)
}

/// A group's folder and those around it, up to the mount.
fn upwards(mount: &Path, path: &str) -> impl Iterator<Item = PathBuf> {
    let names = Path::new(path).components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        _ => None,
    });
    let mut folder = mount.to_owned();
    let mut folders = vec![folder.clone()];
    for name in names {
        folder.push(name);
        folders.push(folder.clone());
    }
    folders.into_iter()
}

/// What the group of a folder says.
type Version = fn(&Path) -> Option<f64>;

/// `cpu.max`: microseconds and the period that they are of, or `max`.
const V2: Version = |folder| {
    let text = std::fs::read_to_string(folder.join("cpu.max")).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    share(quota, period)
};

/// The same in two files; -1 for no limit.
const V1: Version = |folder| {
    let read = |name| std::fs::read_to_string(folder.join(name)).ok();
    share(&read("cpu.cfs_quota_us")?, &read("cpu.cfs_period_us")?)
};

fn share(quota: &str, period: &str) -> Option<f64> {
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|n| *n > 0);
    Some(number(quota)? as f64 / number(period)? as f64)
}

#[cfg(test)]
mod tests {
    use super::super::tests::machine;
    use super::*;

    #[test]
    fn the_least_of_all_groups_around_counts() {
        let v1 =
            "11:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n0::/";
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<f64>);
        let cases: [Case<'_>; 11] = [
            ("no groups", &[], None),
            (
                "version 2, a container's own view",
                &[("proc/self/cgroup", "0::/"), ("sys/fs/cgroup/cpu.max", "150000 100000")],
                Some(1.5),
            ),
            (
                "version 2, the outer group is tighter",
                &[
                    ("proc/self/cgroup", "0::/system.slice/stead.service"),
                    ("sys/fs/cgroup/system.slice/stead.service/cpu.max", "400000 100000"),
                    ("sys/fs/cgroup/system.slice/cpu.max", "300000 100000"),
                ],
                Some(3.0),
            ),
            (
                "version 2, no limit",
                &[("proc/self/cgroup", "0::/a"), ("sys/fs/cgroup/a/cpu.max", "max 100000")],
                None,
            ),
            (
                "version 2, a group that cannot be seen",
                &[("proc/self/cgroup", "0::/../other"), ("sys/fs/cgroup/cpu.max", "200000 100000")],
                Some(2.0),
            ),
            (
                "version 1",
                &[
                    ("proc/self/cgroup", v1),
                    ("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "50000"),
                    ("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "25000"),
                ],
                Some(2.0),
            ),
            (
                "version 1 through the shorter name",
                &[
                    ("proc/self/cgroup", "3:cpu:/x"),
                    ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000"),
                    ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
                ],
                Some(1.0),
            ),
            (
                "version 1, no limit",
                &[
                    ("proc/self/cgroup", v1),
                    ("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "-1"),
                    ("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000"),
                ],
                None,
            ),
            ("a file that is cut", &[("sys/fs/cgroup/cpu.max", "100000")], None),
            ("a period of nothing", &[("sys/fs/cgroup/cpu.max", "100000 0")], None),
            (
                "nonsense",
                &[("proc/self/cgroup", "::::\nx"), ("sys/fs/cgroup/cpu.max", "a b")],
                None,
            ),
        ];
        for (label, files, expected) in cases {
            assert_eq!(read(machine(files).path()), expected, "{label}");
        }
    }
}
