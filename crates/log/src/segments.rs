//! Segments as files: their names, how one is made, how the folder is read after a crash.

use crate::error::LogError;
use crate::format::{
    MAX_SEGMENT_BYTES, SEGMENT_HEADER_LEN, SegmentEnd, SegmentHeader, SegmentReader, Tag,
};
use crate::io::{Io, IoFile, read_all};
use crate::manifest::{UNFINISHED, replace};
use crate::options::LogOptions;

/// What was found when a log was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovery {
    /// Segments in the folder.
    pub segments: u64,
    /// Records that were handed to the visitor.
    pub records: u64,
    /// The LSN of the oldest record that the folder holds; what is older was pruned. Equal to `next_lsn` where
    /// there is none.
    pub first_lsn: u64,
    /// The LSN that the next record gets.
    pub next_lsn: u64,
    /// Bytes of an interrupted write that were cut off the last segment; none of them was acknowledged as
    /// durable. Worth a warning when it is not 0.
    pub cut_bytes: u64,
}

/// The file name of segment `number`.
pub(crate) fn file_name(number: u64) -> String {
    format!("{number:016}.log")
}

fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    let plain = digits.len() >= 16 && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten().filter(|&number| file_name(number) == name)
}

/// A segment that takes no more records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub number: u64,
    /// The LSN after its last record.
    pub end_lsn: u64,
    pub bytes: u64,
}

/// The folder after a crash has been tidied up.
pub(crate) struct Recovered {
    pub sealed: Vec<Sealed>,
    /// The last segment with its header and length; `None` in an empty folder.
    pub last: Option<(Box<dyn IoFile>, SegmentHeader, u64)>,
    pub report: Recovery,
}

/// Makes a segment that is durable with its header and name.
pub(crate) fn create(io: &dyn Io, header: &SegmentHeader) -> Result<Box<dyn IoFile>, LogError> {
    replace(io, &file_name(header.number), &header.encode())
}

/// Reads the folder: checks that no segment is missing, hands the records to `visit` in order, cuts a torn
/// tail, makes what is left durable.
pub(crate) fn recover<E: From<LogError>>(
    io: &dyn Io,
    options: &LogOptions,
    visit: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<Recovered, E> {
    let (found, unfinished) = list(io, &options.tag)?;
    for name in unfinished {
        io.remove(&name).map_err(|error| LogError::io("remove", &name, &error))?;
    }
    let mut recovered = read(io, options, &found, visit)?;
    if let Some((file, header, end)) = &mut recovered.last {
        let name = file_name(header.number);
        if recovered.report.cut_bytes > 0 {
            file.truncate(*end).map_err(|error| LogError::io("truncate", &name, &error))?;
        }
        // What was read may be in the page cache only, left there by a process that was killed.
        file.sync_data().map_err(|error| LogError::io("sync", &name, &error))?;
        io.sync_dir().map_err(|error| LogError::io("sync", "the folder of the log", &error))?;
    }
    Ok(recovered)
}

/// Reads a log that nobody has open, as [`LogWriter::open`](crate::LogWriter::open) does, and changes nothing. What is said to be cut is
/// what would be.
///
/// # Errors
/// Those of [`LogWriter::open`](crate::LogWriter::open), but not that of the lock, which the caller holds.
pub fn check_log<E: From<LogError>>(
    io: &dyn Io,
    options: &LogOptions,
    visit: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<Recovery, E> {
    let (found, _) = list(io, &options.tag)?;
    Ok(read(io, options, &found, visit)?.report)
}

/// Checks that no segment is missing and hands the records to `visit` in order.
fn read<E: From<LogError>>(
    io: &dyn Io,
    options: &LogOptions,
    found: &[Found],
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<Recovered, E> {
    let mut report = Recovery {
        segments: found.len() as u64,
        first_lsn: found.first().map_or(1, |oldest| oldest.header.first_lsn),
        next_lsn: 1,
        ..Recovery::default()
    };
    let start = found.iter().rposition(|s| s.header.first_lsn <= options.replay_from).unwrap_or(0);
    let mut sealed: Vec<Sealed> = found
        .windows(2)
        .take(start)
        .filter_map(|pair| match pair {
            [this, next] => Some(this.sealed(next.header.first_lsn)),
            _ => None,
        })
        .collect();
    let mut bytes = Vec::new();
    let mut open_last = None;
    for (i, segment) in found.iter().enumerate().skip(start) {
        let number = segment.header.number;
        let name = file_name(number);
        let file = io.open(&name).map_err(|error| LogError::io("open", &name, &error))?;
        read_all(&*file, &mut bytes, MAX_SEGMENT_BYTES)
            .map_err(|error| LogError::io("read", &name, &error))?;
        let mut reader = SegmentReader::new(number, &bytes)?;
        let mut lsn = segment.header.first_lsn;
        for payload in reader.by_ref() {
            if lsn >= options.replay_from {
                visit(lsn, payload)?;
                report.records += 1;
            }
            lsn += 1;
        }
        let end = reader.offset() as u64;
        let corrupt = |reason| LogError::Corrupt { segment: number, offset: end, reason };
        let next_first = found.get(i + 1).map(|next| next.header.first_lsn);
        match (reader.end(), next_first) {
            (SegmentEnd::Clean, Some(next)) if next == lsn => sealed.push(segment.sealed(lsn)),
            (SegmentEnd::Clean, Some(_)) => {
                return Err(corrupt("records are missing at its end").into());
            }
            (SegmentEnd::Corrupt(reason), _) | (SegmentEnd::Torn(reason), Some(_)) => {
                return Err(corrupt(reason).into());
            }
            (SegmentEnd::Clean | SegmentEnd::Torn(_), None) => {
                report.cut_bytes = bytes.len() as u64 - end;
                report.next_lsn = lsn;
                open_last = Some((file, segment.header, end));
            }
        }
    }
    Ok(Recovered { sealed, last: open_last, report })
}

struct Found {
    header: SegmentHeader,
    len: u64,
}

impl Found {
    fn sealed(&self, end_lsn: u64) -> Sealed {
        Sealed { number: self.header.number, end_lsn, bytes: self.len }
    }
}

/// The segments in order, without gaps, with checked headers, and the names of unfinished files of an earlier process.
fn list(io: &dyn Io, tag: &Tag) -> Result<(Vec<Found>, Vec<String>), LogError> {
    let folder =
        |action| move |error: std::io::Error| LogError::io(action, "the folder of the log", &error);
    let (mut numbers, mut unfinished) = (Vec::new(), Vec::new());
    for name in io.list().map_err(folder("list"))? {
        if let Some(number) = number_of(&name) {
            numbers.push(number);
        } else if name.strip_suffix(UNFINISHED).and_then(number_of).is_some() {
            unfinished.push(name);
        }
    }
    numbers.sort_unstable();
    let mut found: Vec<Found> = Vec::with_capacity(numbers.len());
    for number in numbers {
        let name = file_name(number);
        if let Some(before) = found.last()
            && number != before.header.number + 1
        {
            return Err(LogError::Missing { segment: before.header.number + 1 });
        }
        let file = io.open(&name).map_err(|error| LogError::io("open", &name, &error))?;
        let len = file.len().map_err(|error| LogError::io("measure", &name, &error))?;
        let mut bytes = [0; SEGMENT_HEADER_LEN];
        let read =
            file.read_at(0, &mut bytes).map_err(|error| LogError::io("read", &name, &error))?;
        let header = SegmentHeader::decode(number, bytes.get(..read).unwrap_or_default())?;
        if header.tag != *tag {
            let (found, expected) = (text(&header.tag), text(tag));
            return Err(LogError::Tag { segment: number, found, expected });
        }
        if found.last().is_some_and(|before| before.header.first_lsn > header.first_lsn) {
            let reason = "its records are older than those of the segment before";
            return Err(LogError::Corrupt { segment: number, offset: 24, reason });
        }
        found.push(Found { header, len });
    }
    Ok((found, unfinished))
}

fn text(tag: &Tag) -> String {
    tag.iter()
        .take_while(|&&b| b != 0)
        .flat_map(|&b| std::ascii::escape_default(b).map(char::from))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbers() {
        let cases = [
            ("first", "0000000000000001.log", Some(1)),
            ("large", "9999999999999999.log", Some(9_999_999_999_999_999)),
            ("short", "1.log", None),
            ("too long", "00000000000000001.log", None),
            ("sign", "+000000000000001.log", None),
            ("unfinished", "0000000000000001.log.new", None),
            ("lock", "lock", None),
        ];
        for (label, name, number) in cases {
            assert_eq!(number_of(name), number, "{label}");
        }
    }
}
