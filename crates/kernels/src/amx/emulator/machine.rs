//! The tiles of a thread and what instructions do to them, as the pseudo-code of Intel's SDM has it.

use super::super::block::Kind;

const TILES: usize = 8;
const ROWS: usize = 16;
const BYTES: usize = 64;

/// What an instruction on a processor would be refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Palette,
    StartRow,
    Reserved,
    TooLarge,
    HalfConfigured,
    NotConfigured,
    SameTile,
    Sizes,
}

impl Fault {
    pub fn text(self) -> &'static str {
        match self {
            Fault::Palette => "a palette that does not exist",
            Fault::StartRow => "a first row that is not 0",
            Fault::Reserved => "reserved bytes that are not 0",
            Fault::TooLarge => "a tile of more than 16 rows of 64 bytes",
            Fault::HalfConfigured => "a tile that has rows or bytes, but not both",
            Fault::NotConfigured => "a tile that is not configured",
            Fault::SameTile => "a tile that is two operands",
            Fault::Sizes => "tiles whose sizes do not fit together",
        }
    }
}

#[derive(Clone, Copy)]
struct Tile {
    rows: usize,
    bytes: usize,
    data: [[u8; BYTES]; ROWS],
}

const EMPTY: Tile = Tile { rows: 0, bytes: 0, data: [[0; BYTES]; ROWS] };

/// The state of one thread.
pub(super) struct Machine {
    is_configured: bool,
    tiles: [Tile; TILES],
    /// Products of tiles so far.
    pub products: usize,
}

impl Machine {
    pub const fn new() -> Machine {
        Machine { is_configured: false, tiles: [EMPTY; TILES], products: 0 }
    }

    pub fn is_configured(&self) -> bool {
        self.is_configured
    }

    /// `ldtilecfg`: checked as for palette 1, then all tiles are zero. Palette 0 releases them.
    pub fn configure(&mut self, from: &[u8; 64]) -> Result<(), Fault> {
        match from[0] {
            0 => {
                self.release();
                return Ok(());
            }
            1 => {}
            _ => return Err(Fault::Palette),
        }
        // A processor takes it and goes on from there, which is for interrupted loads alone.
        if from[1] != 0 {
            return Err(Fault::StartRow);
        }
        if [&from[2..16], &from[32..48], &from[56..64]].into_iter().flatten().any(|&x| x != 0) {
            return Err(Fault::Reserved);
        }
        let size = |tile: usize| {
            let bytes = u16::from_le_bytes([from[16 + 2 * tile], from[17 + 2 * tile]]);
            (usize::from(from[48 + tile]), usize::from(bytes))
        };
        for tile in 0..TILES {
            let (rows, bytes) = size(tile);
            if rows > ROWS || bytes > BYTES {
                return Err(Fault::TooLarge);
            }
            if (rows == 0) != (bytes == 0) {
                return Err(Fault::HalfConfigured);
            }
        }
        for tile in 0..TILES {
            let (rows, bytes) = size(tile);
            self.tiles[tile] = Tile { rows, bytes, ..EMPTY };
        }
        self.is_configured = true;
        Ok(())
    }

    /// `tilerelease`
    pub fn release(&mut self) {
        self.tiles = [EMPTY; TILES];
        self.is_configured = false;
    }

    /// The tile if it is configured, with whole lanes.
    fn tile(&mut self, tile: usize) -> Result<&mut Tile, Fault> {
        let is_configured = self.is_configured;
        let tile = &mut self.tiles[tile];
        if !is_configured || tile.rows == 0 || !tile.bytes.is_multiple_of(4) {
            return Err(Fault::NotConfigured);
        }
        Ok(tile)
    }

    /// `tilezero`
    pub fn zero(&mut self, tile: usize) -> Result<(), Fault> {
        self.tile(tile)?.data = EMPTY.data;
        Ok(())
    }

    /// `tileloadd`
    ///
    /// # Safety
    /// The rows of the tile must exist in memory.
    pub unsafe fn load(&mut self, tile: usize, from: u64, stride: u64) -> Result<(), Fault> {
        let tile = self.tile(tile)?;
        tile.data = EMPTY.data;
        for (i, row) in tile.data.iter_mut().enumerate().take(tile.rows) {
            let from = from.wrapping_add(stride.wrapping_mul(i as u64)) as usize as *const u8;
            // SAFETY: the caller's promise; a row of a tile has BYTES bytes and more were refused.
            unsafe { core::ptr::copy_nonoverlapping(from, row.as_mut_ptr(), tile.bytes) };
        }
        Ok(())
    }

    /// `tilestored`
    ///
    /// # Safety
    /// The rows of the tile must exist in memory.
    pub unsafe fn store(&mut self, tile: usize, to: u64, stride: u64) -> Result<(), Fault> {
        let tile = self.tile(tile)?;
        for (i, row) in tile.data.iter().enumerate().take(tile.rows) {
            let to = to.wrapping_add(stride.wrapping_mul(i as u64)) as usize as *mut u8;
            // SAFETY: as in `load`.
            unsafe { core::ptr::copy_nonoverlapping(row.as_ptr(), to, tile.bytes) };
        }
        Ok(())
    }

    /// `tdpbf16ps` and `tdpbusd`: `sums += a b`.
    pub fn multiply(&mut self, kind: Kind, [sums, a, b]: [usize; 3]) -> Result<(), Fault> {
        if sums == a || sums == b || a == b {
            return Err(Fault::SameTile);
        }
        let (left, right, mut to) = (*self.tile(a)?, *self.tile(b)?, *self.tile(sums)?);
        if to.rows != left.rows || to.bytes != right.bytes || left.bytes / 4 != right.rows {
            return Err(Fault::Sizes);
        }
        match kind {
            // SAFETY: emulation is for processors with AVX-512, which have FMA.
            Kind::Pairs => unsafe { pairs(&left, &right, &mut to) },
            Kind::Quads => quads(&left, &right, &mut to),
        }
        self.tiles[sums] = to;
        self.products += 1;
        Ok(())
    }
}

fn lane(row: &[u8; BYTES], i: usize) -> [u8; 4] {
    [row[4 * i], row[4 * i + 1], row[4 * i + 2], row[4 * i + 3]]
}

fn quads(a: &Tile, b: &Tile, to: &mut Tile) {
    for (row, to) in a.data.iter().zip(&mut to.data).take(a.rows) {
        for q in 0..b.rows {
            let x = lane(row, q);
            for n in 0..b.bytes / 4 {
                let mut sum = i32::from_le_bytes(lane(to, n));
                for (x, y) in x.into_iter().zip(lane(&b.data[q], n)) {
                    sum = sum.wrapping_add(i32::from(x) * i32::from(y as i8));
                }
                to[4 * n..4 * n + 4].copy_from_slice(&sum.to_le_bytes());
            }
        }
    }
}

/// Sums of even and of odd products are kept apart until all of a row have been added, each rounded once by a fused
/// multiplication and addition; they are added to one another and that to the old sum.
#[target_feature(enable = "avx2,fma")]
fn pairs(a: &Tile, b: &Tile, to: &mut Tile) {
    let halves = |lane: [u8; 4]| {
        let bits = u32::from_le_bytes(lane);
        [f32::from_bits(bits << 16), f32::from_bits(bits & 0xffff_0000)].map(flushed)
    };
    for (row, to) in a.data.iter().zip(&mut to.data).take(a.rows) {
        let mut sums = [[0f32; 2]; BYTES / 4];
        for q in 0..b.rows {
            let x = halves(lane(row, q));
            for (n, sum) in sums.iter_mut().enumerate().take(b.bytes / 4) {
                let y = halves(lane(&b.data[q], n));
                *sum = [0, 1].map(|i| flushed(x[i].mul_add(y[i], sum[i])));
            }
        }
        for (n, sum) in sums.iter().enumerate().take(b.bytes / 4) {
            let old = flushed(f32::from_le_bytes(lane(to, n)));
            let new = flushed(old + flushed(sum[0] + sum[1]));
            to[4 * n..4 * n + 4].copy_from_slice(&new.to_le_bytes());
        }
    }
}

/// Numbers below the smallest normal one are zero, as operands and as results.
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}
