//! What the system tells of this process.

/// Bytes of memory that the process holds (`VmRSS`, `proc(5)`); 0 where the system does not tell.
pub fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    resident_of(&status).unwrap_or_default()
}

fn resident_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_system() {
        for (status, expected) in [
            ("Name:\tstead\nVmRSS:\t    2048 kB\nThreads:\t4\n", Some(2 << 20)),
            ("VmHWM:\t 1 kB\n", None),
            ("VmRSS:\t18446744073709551615 kB\n", None),
            ("VmRSS:\t2048\n", None),
            ("", None),
        ] {
            assert_eq!(resident_of(status), expected, "{status:?}");
        }
        #[cfg(target_os = "linux")]
        assert!(resident() > 1 << 20);
    }
}
