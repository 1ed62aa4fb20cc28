//! An open file of the folder in memory.

use super::Call;
use super::disk::{Disk, Inode};
use crate::io::IoFile;
use crate::rng::SeededRng;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};

pub(super) struct SimFile {
    pub disk: Arc<Mutex<Disk>>,
    pub boot: u64,
    pub inode: usize,
}

impl SimFile {
    /// Runs `act` on the file if the call may succeed; `torn` on it if not, with the error.
    fn with<T>(
        &self,
        call: Call,
        act: impl FnOnce(&mut Inode, Option<u64>) -> io::Result<T>,
        torn: impl FnOnce(&mut Inode, &SeededRng),
    ) -> io::Result<T> {
        let mut disk = self.disk.lock().unwrap_or_else(PoisonError::into_inner);
        if disk.boot != self.boot {
            return Err(io::Error::other("the file was opened before a crash"));
        }
        let powered = disk.power_off_at.is_none_or(|at| disk.calls < at);
        let result = disk.call(call);
        let room = disk.capacity.map(|capacity| capacity.saturating_sub(disk.used()));
        let Disk { inodes, rng, .. } = &mut *disk;
        let Some(inode) = inodes.get_mut(self.inode) else {
            return Err(ErrorKind::NotFound.into());
        };
        match result {
            Ok(()) => act(inode, room),
            Err(error) => {
                if powered {
                    torn(inode, rng);
                }
                Err(error)
            }
        }
    }
}

impl IoFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        self.with(Call::Read, |inode, _| Ok(inode.live.len() as u64), |_, _| {})
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        self.with(
            Call::Read,
            |inode, _| {
                let from =
                    usize::try_from(offset).map_or(inode.live.len(), |at| at.min(inode.live.len()));
                let len = out.len().min(inode.live.len() - from);
                out[..len].copy_from_slice(&inode.live[from..from + len]);
                Ok(len)
            },
            |_, _| {},
        )
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.with(
            Call::Append,
            |inode, room| {
                let fits = room.map_or(bytes.len(), |room| {
                    usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()))
                });
                inode.live.extend_from_slice(&bytes[..fits]);
                if fits < bytes.len() { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
            },
            |inode, rng| {
                let part = rng.below(bytes.len() as u64 + 1) as usize;
                inode.live.extend_from_slice(&bytes[..part]);
            },
        )
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.with(
            Call::Truncate,
            |inode, _| {
                inode.live.truncate(usize::try_from(len).unwrap_or(usize::MAX));
                inode.lost_to = inode.lost_to.min(inode.live.len());
                Ok(())
            },
            |_, _| {},
        )
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.with(
            Call::Sync,
            |inode, _| {
                inode.sync();
                Ok(())
            },
            |inode, _| inode.lost_to = inode.live.len(),
        )
    }
}
