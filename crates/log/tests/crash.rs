//! Random lives of a log on the disk that loses, tears and refuses, against a list of records.
//!
//! Whatever happens, what is found after it is a prefix of what was appended, and holds all that was
//! acknowledged. A failure prints the line that repeats it; `STEAD_SEEDS=50000` runs more lives.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::ErrorKind;
use std::sync::Arc;
use stead_log::{Call, LogError, LogOptions, LogWriter, SeededRng, SimIo, SyncMode, tag};

const SEEDS: u64 = 600;
const LIVES: u64 = 6;

/// Prints how to repeat a seed when the test dies in it.
struct Repro(u64);

impl Drop for Repro {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("STEAD_SEED={} cargo test -p stead-log --test crash one_seed", self.0);
        }
    }
}

struct World {
    io: SimIo,
    rng: Arc<SeededRng>,
    options: LogOptions,
    /// Every record that may be in the log; the one with LSN n is at n - 1.
    records: Vec<Vec<u8>>,
    /// Records below this LSN must be found whatever happens next.
    durable: u64,
    /// Records below this LSN must be found if only the process dies.
    acknowledged: u64,
    pruned: u64,
    sync_may_fail: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let rng = Arc::new(SeededRng::new(seed));
        let sync = if rng.below(3) == 0 { SyncMode::Never } else { SyncMode::Batch };
        let options = LogOptions {
            tag: tag("crash"),
            segment_bytes: 3000 + rng.below(6000),
            max_record_bytes: 2500,
            sync,
            ..LogOptions::default()
        };
        let io = SimIo::new(rng.bits());
        Self {
            io,
            rng,
            options,
            records: Vec::new(),
            durable: 1,
            acknowledged: 1,
            pruned: 1,
            sync_may_fail: false,
        }
    }

    fn open(&mut self) -> Result<LogWriter, LogError> {
        let mut first = None;
        let mut next = None;
        let records = &self.records;
        let (writer, recovery) = LogWriter::open(
            Arc::new(self.io.clone()),
            self.rng.clone(),
            self.options.clone(),
            |lsn, payload| {
                first.get_or_insert(lsn);
                assert_eq!(lsn, next.unwrap_or(lsn), "LSNs are dense");
                next = Some(lsn + 1);
                assert_eq!(payload, records[lsn as usize - 1], "record {lsn} is what was appended");
                Ok::<(), LogError>(())
            },
        )?;
        let found = recovery.next_lsn;
        assert_eq!(recovery.first_lsn, first.unwrap_or(found));
        assert_eq!(next.unwrap_or(found), found);
        assert!(found >= self.durable, "record {found} was acknowledged and is lost");
        assert!(found as usize <= self.records.len() + 1, "no record comes from nowhere");
        assert!(first.unwrap_or(found) <= self.pruned, "only what was pruned is gone");
        self.records.truncate(found as usize - 1);
        self.durable = found;
        self.acknowledged = found;
        Ok(writer)
    }

    fn payload(&self) -> Vec<u8> {
        let len = match self.rng.below(8) {
            0 => 0,
            1 => 2000 + self.rng.below(501),
            _ => self.rng.below(300),
        };
        // Zeros are what a hole looks like, so they are frequent.
        let fill = if self.rng.below(3) == 0 { 0 } else { self.rng.bits() as u8 };
        (0..len).map(|i| fill.wrapping_mul(i as u8)).collect()
    }

    fn plan_trouble(&mut self) {
        self.sync_may_fail = false;
        match self.rng.below(6) {
            0 => {}
            1 => self.io.set_capacity(Some(self.rng.below(20_000))),
            2 => {
                let calls = [
                    Call::Append,
                    Call::Sync,
                    Call::Create,
                    Call::Rename,
                    Call::SyncDir,
                    Call::Remove,
                ];
                let call = calls[self.rng.below(calls.len() as u64) as usize];
                self.sync_may_fail = call == Call::Sync;
                self.io.fail(call, self.rng.below(10), ErrorKind::Other);
            }
            _ => self.io.power_off_after(self.rng.below(60)),
        }
    }

    /// Appends, commits and prunes until trouble comes or the life is over.
    fn live(&mut self, writer: &mut LogWriter) {
        for _ in 0..self.rng.below(40) {
            let result = match self.rng.below(12) {
                0..6 => {
                    let payload = self.payload();
                    // On the list first: a record whose append failed may or may not be found.
                    self.records.push(payload.clone());
                    let expected = self.records.len() as u64;
                    writer.append(&payload).map(|lsn| assert_eq!(lsn, expected))
                }
                6..10 => writer.commit(),
                10 => writer.flush(),
                _ => {
                    let up_to = 1 + self.rng.below(self.records.len() as u64 + 1);
                    // Also a prune that fails may have removed some.
                    self.pruned = self.pruned.max(up_to.min(writer.committed()));
                    let _ = writer.prune(up_to.min(writer.committed()));
                    Ok(())
                }
            };
            self.acknowledged = writer.committed();
            if self.options.sync == SyncMode::Batch {
                self.durable = self.acknowledged;
            }
            if let Err(error) = result {
                assert!(matches!(error, LogError::Io { .. }), "{error}");
                let again = writer.append(b"x").err();
                assert!(matches!(again, Some(LogError::Stopped(_))), "it has stopped: {again:?}");
                return;
            }
        }
        if self.rng.below(2) == 0 && writer.flush().is_ok() {
            self.acknowledged = writer.committed();
            self.durable = self.acknowledged;
        }
    }
}

fn run(seed: u64) {
    let _repro = Repro(seed);
    let mut world = World::new(seed);
    for _ in 0..LIVES {
        world.plan_trouble();
        // Trouble may come while it opens, too.
        if let Ok(mut writer) = world.open() {
            world.live(&mut writer);
            if world.rng.below(4) == 0 {
                drop(writer);
                world.died();
            } else {
                world.died();
                drop(writer);
            }
        } else {
            world.died();
        }
        world.io.set_capacity(None);
        drop(world.open().expect("after a crash the log opens"));
    }
}

impl World {
    fn died(&mut self) {
        if self.rng.below(3) == 0 {
            self.io.kill();
            // What a failed sync concerned is given up, also by `SyncMode::Never`.
            if self.options.sync == SyncMode::Batch || !self.sync_may_fail {
                self.durable = self.acknowledged;
            }
        } else {
            self.io.crash();
        }
    }
}

#[test]
fn what_was_acknowledged_is_found_after_any_crash() {
    let more = std::env::var("STEAD_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    for seed in 0..more.unwrap_or(SEEDS) {
        run(seed);
    }
}

#[test]
fn one_seed() {
    run(std::env::var("STEAD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0));
}

/// Every single flipped bit of a log on disk ends in an error that names the segment or, in the last batch of
/// the last segment, in a cut. It never ends in other records.
#[test]
fn a_flipped_bit_is_found() {
    let rng = Arc::new(SeededRng::new(5));
    let options = LogOptions {
        segment_bytes: 600,
        max_record_bytes: 100,
        tag: tag("flips"),
        ..LogOptions::default()
    };
    let io = SimIo::new(1);
    let open = |seen: &mut Vec<u64>| {
        LogWriter::open(Arc::new(io.clone()), rng.clone(), options.clone(), |lsn, payload| {
            assert_eq!(payload, [lsn as u8; 60]);
            seen.push(lsn);
            Ok::<(), LogError>(())
        })
    };
    let (mut writer, _) = open(&mut Vec::new()).unwrap();
    for lsn in 1..=18u8 {
        writer.append(&[lsn; 60]).unwrap();
        writer.commit().unwrap();
    }
    drop(writer);
    let names = ["0000000000000001.log", "0000000000000002.log", "0000000000000003.log"];
    for (number, name) in (1u64..).zip(names) {
        let whole = io.contents(name).unwrap();
        for bit in (0..whole.len() * 8).step_by(3) {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            io.set_contents(name, &bytes);
            let mut seen = Vec::new();
            match open(&mut seen) {
                Ok((_, recovery)) => {
                    assert_eq!(number, 3, "bit {bit}");
                    assert_eq!((seen.len(), recovery.cut_bytes), (17, 76), "bit {bit}");
                }
                Err(LogError::Corrupt { segment, offset, .. }) => {
                    assert!(segment == number && offset <= bit as u64 / 8, "bit {bit} of {number}");
                }
                Err(LogError::Version { segment, .. }) => assert_eq!(segment, number),
                Err(other) => panic!("bit {bit} of {number}: {other}"),
            }
            io.set_contents(name, &whole);
        }
    }
}

/// What is wrong with a folder is told by name.
#[test]
fn folders_that_are_refused() {
    let rng = Arc::new(SeededRng::new(5));
    let options = LogOptions {
        segment_bytes: 400,
        max_record_bytes: 100,
        tag: tag("mine"),
        ..LogOptions::default()
    };
    let make = || {
        let io = SimIo::new(2);
        let shared = Arc::new(io.clone());
        let visit = |_, _: &[u8]| Ok::<(), LogError>(());
        let mut writer = LogWriter::open(shared, rng.clone(), options.clone(), visit).unwrap().0;
        for _ in 0..12 {
            writer.append(&[1; 60]).unwrap();
        }
        drop(writer);
        io
    };
    let open = |io: &SimIo, options: &LogOptions| {
        let visit = |_, _: &[u8]| Ok::<(), LogError>(());
        LogWriter::open(Arc::new(io.clone()), rng.clone(), options.clone(), visit).err()
    };
    let (first, second) = ("0000000000000001.log", "0000000000000002.log");
    let io = make();
    stead_log::Io::remove(&io, second).unwrap();
    assert_eq!(open(&io, &options), Some(LogError::Missing { segment: 2 }));

    let io = make();
    let theirs = LogOptions { tag: tag("theirs"), ..options.clone() };
    let expected = LogError::Tag { segment: 1, found: "mine".into(), expected: "theirs".into() };
    assert_eq!(open(&io, &theirs), Some(expected));

    let io = make();
    let bytes = io.contents(first).unwrap();
    io.set_contents(first, &bytes[..bytes.len() - 76]);
    let reason = "records are missing at its end";
    let offset = bytes.len() as u64 - 76;
    assert_eq!(open(&io, &options), Some(LogError::Corrupt { segment: 1, offset, reason }));

    io.set_contents(first, &bytes[..bytes.len() - 1]);
    let reason = "a record is cut short";
    assert_eq!(open(&io, &options), Some(LogError::Corrupt { segment: 1, offset, reason }));

    let io = make();
    let visit = |_, _: &[u8]| Ok::<(), LogError>(());
    let kept = LogWriter::open(Arc::new(io.clone()), rng.clone(), options.clone(), visit).unwrap();
    assert_eq!(open(&io, &options), Some(LogError::Locked));
    drop(kept);
    assert_eq!(open(&io, &options), None);
}

/// A snapshot lets the reader skip, and a log that lost its end goes on behind the snapshot.
#[test]
fn replay_begins_behind_a_snapshot() {
    let rng = Arc::new(SeededRng::new(5));
    let io = SimIo::new(3);
    let open = |from: u64| {
        let options = LogOptions {
            segment_bytes: 400,
            max_record_bytes: 100,
            replay_from: from,
            ..LogOptions::default()
        };
        let mut seen = Vec::new();
        LogWriter::open(Arc::new(io.clone()), rng.clone(), options, |lsn, _: &[u8]| {
            seen.push(lsn);
            Ok::<(), LogError>(())
        })
        .map(|(writer, recovery)| (writer, recovery, seen))
    };
    let (mut writer, ..) = open(0).unwrap();
    for _ in 0..10 {
        writer.append(&[1; 60]).unwrap();
    }
    drop(writer);
    // Segments hold four records each: 1-4, 5-8, 9-10.
    let old = io.contents("0000000000000001.log").unwrap();
    io.set_contents("0000000000000001.log", &old[..100]);
    let (mut writer, _, seen) = open(7).unwrap();
    assert_eq!(seen, [7, 8, 9, 10], "the damaged segment is not read");
    assert_eq!(writer.prune(7), Ok(1));
    assert_eq!(writer.prune(100), Ok(1), "the newest stays");
    drop(writer);

    let (mut writer, recovery, seen) = open(50).unwrap();
    assert_eq!((recovery.next_lsn, seen.len()), (50, 0));
    assert_eq!(writer.append(b"x"), Ok(50));
    drop(writer);
    let (_, recovery, seen) = open(50).unwrap();
    assert_eq!((recovery.first_lsn, recovery.next_lsn, seen), (9, 51, vec![50]));
}
