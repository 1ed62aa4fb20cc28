//! The state of the folder in memory, and what a crash makes of it.

use super::Call;
use crate::rng::SeededRng;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

/// What survives a torn write is decided for pieces of this size.
const SECTOR: usize = 512;

#[derive(Debug)]
pub(super) struct Disk {
    pub rng: SeededRng,
    pub inodes: Vec<Inode>,
    pub names: BTreeMap<String, usize>,
    pub durable_names: BTreeMap<String, usize>,
    /// Handles and locks of an earlier boot are dead.
    pub boot: u64,
    pub locked: bool,
    pub calls: u64,
    pub power_off_at: Option<u64>,
    /// Which call fails, after how many that succeed, and how.
    pub faults: Vec<(Call, u64, ErrorKind)>,
    pub capacity: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Inode {
    pub live: Vec<u8>,
    pub durable: Vec<u8>,
    /// `live` up to here was in a sync that failed: lost, and nobody will be told again.
    pub lost_to: usize,
}

impl Disk {
    /// An empty folder.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: SeededRng::new(seed),
            inodes: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            boot: 0,
            locked: false,
            calls: 0,
            power_off_at: None,
            faults: Vec::new(),
            capacity: None,
        }
    }

    /// Decides what survives a loss of power.
    pub fn crash(&mut self) {
        let Self { rng, inodes, names, durable_names, .. } = self;
        for inode in inodes.iter_mut() {
            inode.crash(rng);
        }
        let mut all: Vec<String> = names.keys().chain(durable_names.keys()).cloned().collect();
        all.sort_unstable();
        all.dedup();
        for name in all {
            let (old, new) = (durable_names.get(&name).copied(), names.get(&name).copied());
            if old == new {
                continue;
            }
            let survivor = if rng.below(2) == 0 { old } else { new };
            for map in [&mut *names, &mut *durable_names] {
                match survivor {
                    Some(inode) => map.insert(name.clone(), inode),
                    None => map.remove(&name),
                };
            }
        }
        self.restart();
    }

    /// Counts a call and lets it fail if it is its turn.
    pub fn call(&mut self, call: Call) -> io::Result<()> {
        if self.power_off_at.is_some_and(|at| self.calls >= at) {
            return Err(io::Error::other("the power is off"));
        }
        self.calls += 1;
        let mut due = None;
        self.faults.retain_mut(|(of, successes, kind)| {
            if *of != call {
                return true;
            }
            let now = *successes == 0 && due.is_none();
            if now {
                due = Some(*kind);
            }
            *successes = successes.saturating_sub(1);
            !now
        });
        due.map_or(Ok(()), |kind| Err(kind.into()))
    }

    pub fn restart(&mut self) {
        self.boot += 1;
        self.locked = false;
        self.power_off_at = None;
        self.faults.clear();
    }

    pub fn add(&mut self, inode: Inode) -> usize {
        self.inodes.push(inode);
        self.inodes.len() - 1
    }

    pub fn named(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| ErrorKind::NotFound.into())
    }

    pub fn used(&self) -> u64 {
        self.names
            .values()
            .filter_map(|&inode| self.inodes.get(inode))
            .map(|i| i.live.len() as u64)
            .sum()
    }
}

impl Inode {
    pub fn sync(&mut self) {
        let kept = common_prefix(&self.durable, &self.live);
        self.durable.truncate(kept);
        let lost = self.lost_to.clamp(kept, self.live.len());
        self.durable.resize(lost, 0);
        self.durable.extend_from_slice(&self.live[lost..]);
    }

    pub fn crash(&mut self, rng: &SeededRng) {
        let kept = common_prefix(&self.durable, &self.live);
        let cut_is_durable = kept == self.durable.len() || rng.below(2) == 0;
        if cut_is_durable {
            let fresh = self.live.len() - kept;
            // Whole, nothing and anything in between, all of them often.
            let survives = match rng.below(4) {
                0 => 0,
                1 => fresh,
                _ => rng.below(fresh as u64 + 1) as usize,
            };
            self.live.truncate(kept + survives);
            if rng.below(2) == 0 {
                for sector in self.live[kept..].chunks_mut(SECTOR) {
                    if rng.below(4) == 0 {
                        sector.fill(0);
                    }
                }
            }
            let lost = self.lost_to.clamp(kept, self.live.len());
            self.live[kept..lost].fill(0);
        } else {
            self.live.clone_from(&self.durable);
        }
        self.durable.clone_from(&self.live);
        self.lost_to = 0;
    }
}

/// How many bytes are the same at the front. Sector by sector first: files of tests are megabytes, and bytes one by one were a
/// third of the time that all tests together took.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let sectors = a.chunks_exact(SECTOR).zip(b.chunks_exact(SECTOR));
    let same = sectors.take_while(|(a, b)| a == b).count() * SECTOR;
    let rest = a.iter().zip(b).skip(same);
    same + rest.take_while(|(a, b)| a == b).count()
}
