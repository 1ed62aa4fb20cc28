//! The last lines of the log, as `vespa log` reads them (Vespa, documentation, `reference/operations/log-files.html`).

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::fault::Fault;
use crate::http::Reply;

use super::parameters::pairs;

/// The bytes of lines that are kept: some ten thousand lines.
const MAX_BYTES: usize = 2 << 20;

/// The bytes of one message; the rest is left out.
const MAX_MESSAGE: usize = 16 << 10;

/// The lines of one answer if nothing is said (Vespa, `LogHandler`).
const LINES: usize = 100_000;

/// The name of the only host there is.
const HOST: &str = "localhost";

/// The last lines of a log. Clones are the same lines.
#[derive(Debug, Clone, Default)]
pub struct RecentLog {
    lines: Arc<Mutex<Lines>>,
}

#[derive(Debug, Default)]
struct Lines {
    /// When, and the line.
    kept: VecDeque<(Duration, String)>,
    bytes: usize,
}

/// Something that is told.
#[derive(Debug, Clone, Copy)]
pub struct LogEvent<'e> {
    /// When.
    pub time: SystemTime,
    /// What part of the program tells it.
    pub component: &'e str,
    /// `error`, `warning`, `info` or `debug`.
    pub level: &'e str,
    /// What is told.
    pub message: &'e str,
}

impl RecentLog {
    /// Keeps an event, and forgets the oldest for it where there is no room.
    pub fn push(&self, event: LogEvent<'_>) {
        let time = event.time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let line = line(time, event);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.bytes += line.len();
        lines.kept.push_back((time, line));
        while lines.bytes > MAX_BYTES
            && let Some((_, line)) = lines.kept.pop_front()
        {
            lines.bytes -= line.len();
        }
    }

    /// The last lines of a span of time.
    fn between(&self, from: Duration, to: Duration, most: usize) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let inside = || lines.kept.iter().filter(|(time, _)| (from..=to).contains(time));
        inside()
            .skip(inside().count().saturating_sub(most))
            .map(|(_, line)| line.as_str())
            .collect()
    }
}

/// Seconds, host, process, service, component, level and message with a tab between each two of them.
fn line(time: Duration, event: LogEvent<'_>) -> String {
    let (seconds, micros, process) = (time.as_secs(), time.subsec_micros(), std::process::id());
    let LogEvent { component, level, message, .. } = event;
    let mut line =
        format!("{seconds}.{micros:06}\t{HOST}\t{process}\tstead\t{component}\t{level}\t");
    let end = message.floor_char_boundary(MAX_MESSAGE);
    for c in message[..end].chars() {
        match c {
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\t' => line.push_str("\\t"),
            '\r' => line.push_str("\\r"),
            c if c.is_control() => {
                // A terminal may obey it.
                let _ = write!(line, "\\x{:02x}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line.push('\n');
    line
}

/// Answers `GET .../logs?from=MILLIS&to=MILLIS&maxLines=N&hostname=H` with the lines in between.
///
/// # Errors
/// Parameters that are no numbers.
pub fn answer(log: &RecentLog, query: &str) -> Result<Reply, Fault> {
    let all = pairs(query).ok_or_else(|| Fault::invalid("the parameters are not UTF-8"))?;
    let text = |name: &str| all.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
    let number = |name: &str| -> Result<Option<i64>, Fault> {
        let wrong =
            |v: &str| Fault::invalid(format!("{name}: expected a whole number, found '{v}'"));
        text(name).map(|v| v.parse().map_err(|_| wrong(v))).transpose()
    };
    // Clients that want all say a time long ago.
    let millis = |millis: i64| Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    let from = number("from")?.map_or(Duration::ZERO, millis);
    let to = number("to")?.map_or(Duration::MAX, millis);
    let most = number("maxLines")?.map_or(LINES, |most| usize::try_from(most).unwrap_or(0));
    let is_here = text("hostname").is_none_or(|host| host == HOST);
    let lines = if is_here { log.between(from, to, most) } else { String::new() };
    Ok(Reply::text(lines, "text/plain; charset=utf-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(log: &RecentLog, seconds: u64, message: &str) {
        let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, 5000);
        log.push(LogEvent { time, component: "deploy", level: "info", message });
    }

    #[test]
    fn lines_have_their_parts_and_stay_one_line() {
        let log = RecentLog::default();
        push(&log, 7, "two\nlines,\ta tab, a \\ and \u{1b}[31m");
        let line = log.between(Duration::ZERO, Duration::MAX, 10);
        let process = std::process::id();
        let expected = format!(
            "7.000005\tlocalhost\t{process}\tstead\tdeploy\tinfo\ttwo\\nlines,\\ta tab, a \\\\ and \\x1b[31m\n"
        );
        assert_eq!(line, expected);
    }

    #[test]
    fn what_is_asked_for_is_told() {
        let log = RecentLog::default();
        for second in 1..=5 {
            push(&log, second, &format!("m{second}"));
        }
        for (query, expected) in [
            ("", "m1m2m3m4m5"),
            ("from=2000&to=4000", "m2m3"),
            ("from=-62135596800000", "m1m2m3m4m5"),
            ("maxLines=2", "m4m5"),
            ("maxLines=0", ""),
            ("from=9000", ""),
            ("hostname=localhost&from=5000", "m5"),
            ("hostname=another", ""),
        ] {
            let reply = answer(&log, query).unwrap();
            let told = String::from_utf8(reply.body.to_vec()).unwrap();
            let told: String = told.lines().filter_map(|line| line.rsplit('\t').next()).collect();
            assert_eq!(told, expected, "{query}");
        }
        assert!(answer(&log, "from=x").is_err());
    }

    #[test]
    fn the_oldest_lines_make_room() {
        let log = RecentLog::default();
        for second in 0..1000 {
            push(&log, second, &"x".repeat(MAX_MESSAGE + 1));
        }
        let all = log.between(Duration::ZERO, Duration::MAX, usize::MAX);
        let lines = all.lines().count();
        assert!(all.len() <= MAX_BYTES && (100..128).contains(&lines), "{lines}");
        assert!(all.lines().last().unwrap().starts_with("999."));
        assert!(all.lines().all(|line| line.ends_with(&"x".repeat(MAX_MESSAGE))));
    }
}
