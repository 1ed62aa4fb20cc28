//! A block of sums: up to two tiles of rows of `A` by one or two of columns of `B`.
//!
//! Of the eight tiles four hold sums, two rows of `A` and two columns of `B`: each load is used twice.

use core::arch::asm;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

/// Most rows of a tile.
pub(crate) const ROWS: usize = 16;

/// How many tiles there are.
const TILES: usize = 8;

/// Lanes of 32 bits in a row of a tile: pairs or quads along `k` of `A`, columns of `B` and of sums.
pub(crate) const LANES: usize = 16;

/// Bytes in a row of a tile.
const BYTES: usize = 4 * LANES;

/// Lanes from one row of [`Sums`] to the next: two tiles of columns.
pub(crate) const SUMS_STRIDE: usize = 2 * LANES;

/// What is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Pairs of bf16, summed in f32.
    Pairs,
    /// Quads of bytes, unsigned in `A` and signed in `B`, summed in i32, wrapping.
    Quads,
}

/// What a block reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands {
    /// Where the rows of the first and of the second tile begin.
    pub a: [*const u8; 2],
    /// Whether there is a second one.
    pub has_two: bool,
    /// Bytes from one row to the next.
    pub a_stride: usize,
    /// Bytes from 64 bytes of a row to the next ones, for each tile.
    pub a_step: [usize; 2],
    /// Whole tiles along `k`.
    pub steps: usize,
    /// Lane `j` of row `q` is at `q * width + j`.
    pub b: *const u32,
    /// Columns: one tile or two.
    pub width: usize,
    /// Rows of `B` behind the last step, filled up to [`ROWS`]; or null. `A` must have 64 bytes for them too.
    pub rest: *const u32,
    /// What is asked for meanwhile: [`ASKED`] bytes from here on at each step, and how many bytes further at the next one.
    pub later: (*const u8, usize),
    /// Whether the sums begin with what is stored, and not with zeros.
    pub adds: bool,
}

/// What a block of numbers in three parts reads: as [`Operands`], with tiles of `A` that lie one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thirds {
    pub a: [*const u8; 2],
    pub has_two: bool,
    pub steps: usize,
    pub b: *const u32,
    pub width: usize,
    pub adds: bool,
}

/// Bytes of the three tiles of `A` of a step.
const THIRDS: usize = 3 * ROWS * BYTES;

/// Bytes that are asked for at each step: with four blocks of two tiles of rows all of the next `B`. A step takes 64 cycles,
/// in which a core gets no more from memory.
pub(crate) const ASKED: usize = 512;

/// Rows of `B` that do not fill a tile, with zeros behind them: what is read behind the end could be anything, and that of
/// `A` a NaN.
pub(crate) struct Rest([u32; ROWS * SUMS_STRIDE]);

impl Rest {
    /// Room for them.
    pub fn new() -> Rest {
        Rest([0; ROWS * SUMS_STRIDE])
    }

    /// The rows of `B` behind the last of `rows` that make whole tiles, or null if there are none.
    ///
    /// # Safety
    /// `b` must have `rows` rows of `width` lanes, at most two tiles of them.
    pub unsafe fn of(&mut self, b: *const u32, rows: usize, width: usize) -> *const u32 {
        debug_assert!(width <= SUMS_STRIDE);
        let rest = rows % ROWS;
        if rest == 0 {
            return core::ptr::null();
        }
        // SAFETY: the caller's promise.
        let from =
            unsafe { core::slice::from_raw_parts(b.add((rows - rest) * width), rest * width) };
        let (lanes, zeros) = self.0.split_at_mut(from.len());
        lanes.copy_from_slice(from);
        zeros.fill(0);
        self.0.as_ptr()
    }
}

/// Room for the sums of `N` blocks: [`ROWS`] rows for each tile of rows, [`SUMS_STRIDE`] lanes apart.
#[repr(C, align(64))]
pub(crate) struct Sums<const N: usize>(MaybeUninit<[[u32; 2 * ROWS * SUMS_STRIDE]; N]>);

impl<const N: usize> Sums<N> {
    /// Room whose content means nothing yet.
    pub fn new() -> Sums<N> {
        Sums(MaybeUninit::uninit())
    }

    /// The sums of a block.
    pub fn of_block(&mut self, block: usize) -> *mut u32 {
        debug_assert!(block < N);
        self.0.as_mut_ptr().cast::<u32>().wrapping_add(block * 2 * ROWS * SUMS_STRIDE)
    }
}

/// What `ldtilecfg` reads.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    /// Bytes in a row of each tile.
    bytes: [u16; 16],
    rows: [u8; 16],
}

impl Configuration {
    /// Tiles 0 and 1 hold sums of the first tile of rows and 4 its part of `A`, 2, 3 and 5 those of the second; 6 and 7
    /// hold `B`.
    fn new(rows: usize) -> Configuration {
        debug_assert!((1..=ROWS).contains(&rows));
        let mut c = Configuration {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            bytes: [0; 16],
            rows: [0; 16],
        };
        c.bytes[..TILES].fill(BYTES as u16);
        c.rows[..6].fill(rows as u8);
        c.rows[6..TILES].fill(ROWS as u8);
        c
    }
}

/// The tiles of this thread, configured until this is dropped. Tiles that are in use make every switch of threads save and
/// restore 8 KB: they are released as soon as a task ends. A task configures them once, as that waits for all before it.
pub(crate) struct Tiles {
    /// They are those of one thread.
    thread: PhantomData<*mut u8>,
}

/// The sums of a block as they are stored, or zeros, in its tiles.
macro_rules! begin {
    ($o:ident, $sums:ident, [$($tile:literal $at:literal),*]) => {
        if $o.adds {
            asm!(
                $(concat!("tileloadd tmm", $tile, ", [{sums} + {stride}*1 + ", $at, "]"),)*
                sums = in(reg) $sums,
                stride = in(reg) 4 * SUMS_STRIDE,
                options(nostack, readonly),
            );
        } else {
            asm!($(concat!("tilezero tmm", $tile),)* options(nostack, nomem));
        }
    };
}

/// The tiles with the sums of a block to where these are stored.
macro_rules! store {
    ($sums:ident, [$($tile:literal $at:literal),*]) => {
        asm!(
            $(concat!("tilestored [{sums} + {stride}*1 + ", $at, "], tmm", $tile),)*
            sums = in(reg) $sums,
            stride = in(reg) 4 * SUMS_STRIDE,
            options(nostack),
        )
    };
}

/// One block: which tiles hold its sums, and the instructions of a step.
macro_rules! block {
    ($o:ident, $sums:ident, $width:expr, [$($tile:literal $at:literal),*], [$($step:expr,)*]) => {{
        begin!($o, $sums, [$($tile $at),*]);
        asm!(
            "test {steps}, {steps}",
            "jz 3f",
            "2:",
            $($step,)*
            "prefetcht1 [{later}]",
            "prefetcht1 [{later} + 64]",
            "prefetcht1 [{later} + 128]",
            "prefetcht1 [{later} + 192]",
            "prefetcht1 [{later} + 256]",
            "prefetcht1 [{later} + 320]",
            "prefetcht1 [{later} + 384]",
            "prefetcht1 [{later} + 448]",
            "add {later}, {later_step}",
            "add {a0}, {a0_step}",
            "add {a1}, {a1_step}",
            "add {b}, {b_step}",
            "dec {steps}",
            "jnz 2b",
            "3:",
            // One more step, by the rows that do not fill a tile.
            "test {rest}, {rest}",
            "jz 4f",
            "mov {b}, {rest}",
            "xor {rest:e}, {rest:e}",
            "mov {steps:e}, 1",
            "jmp 2b",
            "4:",
            steps = inout(reg) $o.steps => _,
            a0 = inout(reg) $o.a[0] => _,
            a1 = inout(reg) $o.a[1] => _,
            a_stride = in(reg) $o.a_stride,
            a0_step = in(reg) $o.a_step[0],
            a1_step = in(reg) $o.a_step[1],
            b = inout(reg) $o.b => _,
            b_stride = in(reg) 4 * $width,
            b_step = const 4 * $width * ROWS,
            rest = inout(reg) $o.rest => _,
            later = inout(reg) $o.later.0 => _,
            later_step = in(reg) $o.later.1,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack, readonly),
        );
        store!($sums, [$($tile $at),*]);
    }};
}

/// Blocks of one and two tiles of rows and columns, by the instruction `$multiply`. Sums of the second tile of rows and of
/// columns are 2048 and 64 bytes behind those of the first.
macro_rules! blocks {
    ($o:ident, $sums:ident, $multiply:literal) => {
        match ($o.has_two, $o.width > LANES) {
            (false, false) => block!(
                $o,
                $sums,
                LANES,
                [0 0],
                [
                    "tileloadd tmm4, [{a0} + {a_stride}*1]",
                    "tileloadd tmm6, [{b} + {b_stride}*1]",
                    concat!($multiply, " tmm0, tmm4, tmm6"),
                ]
            ),
            (false, true) => block!(
                $o,
                $sums,
                SUMS_STRIDE,
                [0 0, 1 64],
                [
                    "tileloadd tmm4, [{a0} + {a_stride}*1]",
                    "tileloadd tmm6, [{b} + {b_stride}*1]",
                    concat!($multiply, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm7, [{b} + {b_stride}*1 + 64]",
                    concat!($multiply, " tmm1, tmm4, tmm7"),
                ]
            ),
            (true, false) => block!(
                $o,
                $sums,
                LANES,
                [0 0, 2 2048],
                [
                    "tileloadd tmm6, [{b} + {b_stride}*1]",
                    "tileloadd tmm4, [{a0} + {a_stride}*1]",
                    concat!($multiply, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm5, [{a1} + {a_stride}*1]",
                    concat!($multiply, " tmm2, tmm5, tmm6"),
                ]
            ),
            (true, true) => block!(
                $o,
                $sums,
                SUMS_STRIDE,
                [0 0, 1 64, 2 2048, 3 2112],
                [
                    "tileloadd tmm4, [{a0} + {a_stride}*1]",
                    "tileloadd tmm6, [{b} + {b_stride}*1]",
                    concat!($multiply, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm7, [{b} + {b_stride}*1 + 64]",
                    concat!($multiply, " tmm1, tmm4, tmm7"),
                    "tileloadd tmm5, [{a1} + {a_stride}*1]",
                    concat!($multiply, " tmm2, tmm5, tmm6"),
                    concat!($multiply, " tmm3, tmm5, tmm7"),
                ]
            ),
        }
    };
}

/// A block of numbers in three parts: as `block`, a third of a step at a time.
macro_rules! block_of_thirds {
    (
        $o:ident, $sums:ident, $between:ident, $width:expr, [$($tile:literal $at:literal),*],
        $([$($step:expr,)*],)*
    ) => {{
        begin!($o, $sums, [$($tile $at),*]);
        let ([mut a0, mut a1], mut b) = ($o.a, $o.b);
        let mut third = 0;
        for _ in 0..$o.steps {
            $(
                asm!(
                    $($step,)*
                    // Operands that a block without them does not name.
                    "/* {a0} {a1} {b} {b_stride} */",
                    a0 = in(reg) a0,
                    a1 = in(reg) a1,
                    a_stride = in(reg) BYTES,
                    b = in(reg) b,
                    b_stride = in(reg) 4 * $width,
                    options(nostack, readonly, preserves_flags),
                );
                $between(third);
                third += 1;
            )*
            (a0, a1) = (a0.wrapping_add(THIRDS), a1.wrapping_add(THIRDS));
            b = b.wrapping_add(3 * ROWS * $width);
        }
        store!($sums, [$($tile $at),*]);
    }};
}

/// Blocks as above of numbers in three parts (see `gemm::thirds`), upper ones first: of nine products six, small ones before large ones. The
/// tiles of `A` are 1024 bytes behind each other, those of `B` as many or, side by side, twice as many.
macro_rules! blocks_of_thirds {
    ($o:ident, $sums:ident, $between:ident) => {
        match ($o.has_two, $o.width > LANES) {
            (false, false) => block_of_thirds!(
                $o,
                $sums,
                $between,
                LANES,
                [0 0],
                [
                    "tileloadd tmm4, [{a0} + {a_stride}*1]",
                    "tileloadd tmm6, [{b} + {b_stride}*1 + 2048]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm6, [{b} + {b_stride}*1 + 1024]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                ],
                [
                    "tileloadd tmm5, [{a0} + {a_stride}*1 + 1024]",
                    "tdpbf16ps tmm0, tmm5, tmm6",
                    "tileloadd tmm6, [{b} + {b_stride}*1]",
                    "tdpbf16ps tmm0, tmm5, tmm6",
                ],
                [
                    "tileloadd tmm5, [{a0} + {a_stride}*1 + 2048]",
                    "tdpbf16ps tmm0, tmm5, tmm6",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                ],
            ),
            (false, true) => block_of_thirds!(
                $o,
                $sums,
                $between,
                SUMS_STRIDE,
                [0 0, 1 64],
                [
                    "tileloadd tmm4, [{a0} + {a_stride}*1]",
                    "tileloadd tmm6, [{b} + {b_stride}*1 + 4096]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm7, [{b} + {b_stride}*1 + 4160]",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tileloadd tmm6, [{b} + {b_stride}*1 + 2048]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm7, [{b} + {b_stride}*1 + 2112]",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                ],
                [
                    "tileloadd tmm5, [{a0} + {a_stride}*1 + 1024]",
                    "tdpbf16ps tmm0, tmm5, tmm6",
                    "tdpbf16ps tmm1, tmm5, tmm7",
                    "tileloadd tmm6, [{b} + {b_stride}*1]",
                    "tdpbf16ps tmm0, tmm5, tmm6",
                    "tileloadd tmm7, [{b} + {b_stride}*1 + 64]",
                    "tdpbf16ps tmm1, tmm5, tmm7",
                ],
                [
                    "tileloadd tmm5, [{a0} + {a_stride}*1 + 2048]",
                    "tdpbf16ps tmm0, tmm5, tmm6",
                    "tdpbf16ps tmm1, tmm5, tmm7",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                ],
            ),
            (true, false) => block_of_thirds!(
                $o,
                $sums,
                $between,
                LANES,
                [0 0, 2 2048],
                [
                    "tileloadd tmm4, [{a0} + {a_stride}*1]",
                    "tileloadd tmm6, [{b} + {b_stride}*1 + 2048]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm5, [{a1} + {a_stride}*1]",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tileloadd tmm6, [{b} + {b_stride}*1 + 1024]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                ],
                [
                    "tileloadd tmm4, [{a0} + {a_stride}*1 + 1024]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm5, [{a1} + {a_stride}*1 + 1024]",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tileloadd tmm6, [{b} + {b_stride}*1]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                ],
                [
                    "tileloadd tmm4, [{a0} + {a_stride}*1 + 2048]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm5, [{a1} + {a_stride}*1 + 2048]",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tileloadd tmm4, [{a0} + {a_stride}*1]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm5, [{a1} + {a_stride}*1]",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                ],
            ),
            (true, true) => block_of_thirds!(
                $o,
                $sums,
                $between,
                SUMS_STRIDE,
                [0 0, 1 64, 2 2048, 3 2112],
                [
                    "tileloadd tmm4, [{a0} + {a_stride}*1]",
                    "tileloadd tmm6, [{b} + {b_stride}*1 + 4096]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm7, [{b} + {b_stride}*1 + 4160]",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tileloadd tmm5, [{a1} + {a_stride}*1]",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                    "tileloadd tmm6, [{b} + {b_stride}*1 + 2048]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm7, [{b} + {b_stride}*1 + 2112]",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                ],
                [
                    "tileloadd tmm4, [{a0} + {a_stride}*1 + 1024]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tileloadd tmm5, [{a1} + {a_stride}*1 + 1024]",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                    "tileloadd tmm6, [{b} + {b_stride}*1]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm7, [{b} + {b_stride}*1 + 64]",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                ],
                [
                    "tileloadd tmm4, [{a0} + {a_stride}*1 + 2048]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tileloadd tmm5, [{a1} + {a_stride}*1 + 2048]",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                    "tileloadd tmm4, [{a0} + {a_stride}*1]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tileloadd tmm5, [{a1} + {a_stride}*1]",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                ],
            ),
        }
    };
}

// The displacements above.
const _: () = assert!(BYTES == 64 && 4 * ROWS * SUMS_STRIDE == 2048 && ASKED == 8 * 64);
const _: () = assert!(BYTES * ROWS == 1024);

impl Tiles {
    /// Configures them for tiles of `rows` rows of `A`.
    ///
    /// # Safety
    /// The machine must have [`Isa::Amx`](crate::Isa::Amx), and this thread no other `Tiles` alive.
    pub unsafe fn new(rows: usize) -> Tiles {
        let configuration = Configuration::new(rows);
        // SAFETY: the machine has tiles, and the configuration is one that every machine with them takes.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const configuration, options(nostack, readonly))
        };
        Tiles { thread: PhantomData }
    }

    /// Adds to or writes the sums of a block: those of the rows and columns of its tiles.
    ///
    /// # Safety
    /// Each row of a tile of `A` must have 64 bytes for each step, and for `rest` if that is not null; `b` must have `width` lanes, one
    /// tile or two, in each of 16 rows for each step, and `rest` in 16 rows. `sums` must be those of a block of [`Sums`].
    pub unsafe fn multiply(&mut self, kind: Kind, o: &Operands, sums: *mut u32) {
        debug_assert!(o.width == LANES || o.width == SUMS_STRIDE);
        // SAFETY: the tiles are configured; the caller promises what is read, and `sums` has room for two tiles of rows;
        // prefetches do not fault. The registers of tiles are those of assembly alone: code that is compiled never uses them,
        // so that they keep their content from one part to the next.
        unsafe {
            match kind {
                Kind::Pairs => blocks!(o, sums, "tdpbf16ps"),
                Kind::Quads => blocks!(o, sums, "tdpbusd"),
            }
        }
    }
}

impl Tiles {
    /// As [`multiply`](Tiles::multiply), of numbers in three parts. After each third of a step `between` is called, with its number: what
    /// vectors do then is done beside the products of tiles, of which a processor has no more than a step or two in sight.
    ///
    /// # Safety
    /// As there, but `a` and `b` must have three tiles for each step, those of the upper, of the middle and of the lower parts, and those of
    /// `A` 16 rows, whether they are in use or not. `between` must not use tiles.
    #[inline(always)]
    pub unsafe fn multiply_thirds(
        &mut self,
        o: &Thirds,
        sums: *mut u32,
        mut between: impl FnMut(usize),
    ) {
        debug_assert!(o.width == LANES || o.width == SUMS_STRIDE);
        // SAFETY: as there.
        unsafe { blocks_of_thirds!(o, sums, between) }
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: the machine has tiles, and nothing of them is needed any more.
        unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) };
    }
}
