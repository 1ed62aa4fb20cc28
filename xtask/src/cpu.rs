//! Time that processes have had on cores.

use std::fs;

/// Ticks a second of the times in `/proc/PID/stat`, of every Linux.
const TICKS: f64 = 100.0;

/// Where fields of `proc_pid_stat(5)` stand behind the name of the program.
const GROUP: usize = 2;
const USER: usize = 11;
const SYSTEM: usize = 12;
const CHILDREN: usize = 13;
const CHILDREN_SYSTEM: usize = 14;

/// Seconds of all processes of a group that are there now.
pub fn of_group(group: u32) -> f64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|process| fields(&process.file_name().to_string_lossy()));
    let of_group = stats.filter(|fields| fields.get(GROUP) == Some(&f64::from(group)));
    of_group.map(|fields| seconds(&fields, &[USER, SYSTEM])).sum()
}

/// Seconds of the children of this process that have ended.
pub fn of_children() -> f64 {
    fields("self").map_or(0.0, |fields| seconds(&fields, &[CHILDREN, CHILDREN_SYSTEM]))
}

fn seconds(fields: &[f64], places: &[usize]) -> f64 {
    places.iter().filter_map(|place| fields.get(*place)).sum::<f64>() / TICKS
}

/// The fields behind the name; the first, which is a letter, as 0.
fn fields(process: &str) -> Option<Vec<f64>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, behind) = text.rsplit_once(')')?;
    Some(behind.split_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_a_child_counts_once_it_has_ended() {
        let group = fields("self").unwrap()[GROUP] as u32;
        let before = (of_group(group), of_children());
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", work]).status().unwrap().success());
        assert!(of_children() > before.1);
        assert!(of_group(group) >= before.0);
    }
}
