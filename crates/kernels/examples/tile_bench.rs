//! Prints what tiles of AMX reach: products in registers, and by packed weights in bf16 and of bytes that stay in a cache
//! or come from memory.
//!
//! `cargo run --release -p stead-kernels --example tile_bench`

#![allow(clippy::print_stdout, reason = "what it is for")]

#[cfg(target_arch = "x86_64")]
fn main() {
    tiles::main();
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("no tiles: another architecture");
}

#[cfg(target_arch = "x86_64")]
mod timed;

#[cfg(target_arch = "x86_64")]
mod tiles {
    #![allow(unsafe_code, reason = "products in registers, which no public function makes")]

    use super::timed::best;
    use std::arch::asm;
    use stead_kernels::gemm::{
        Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len, half_len, integer, pack_half,
    };
    use stead_kernels::{Isa, Serial};

    /// Rows, columns and inner dimension: those of BERT-base, of MiniLM and of few rows.
    const SIZES: [(usize, usize, usize); 7] = [
        (128, 768, 768),
        (128, 3072, 768),
        (128, 768, 3072),
        (128, 384, 384),
        (128, 1536, 384),
        (512, 1024, 1024),
        (16, 768, 768),
    ];

    /// Bytes in all copies of a matrix that is to come from memory.
    const FROM_MEMORY: usize = 256 << 20;

    pub fn main() {
        if !Isa::Amx.is_available() {
            println!("no tiles on this machine");
            return;
        }
        // SAFETY: the machine has tiles, and nothing else uses them meanwhile.
        let peaks = unsafe { [registers(false), registers(true)] };
        println!(
            "peak {:.0} GFLOP/s of bf16 and {:.0} GOP/s of bytes on one core",
            peaks[0], peaks[1]
        );
        println!(
            "{:>16} {:>12} {:>12} {:>12} {:>12}",
            "m x n x k", "bf16", "from memory", "bytes", "from memory"
        );
        for size in SIZES {
            let (m, n, k) = size;
            let rates = [halves(size, false), halves(size, true)];
            let bytes = [bytes(size, false), bytes(size, true)];
            let cells: String = [(rates, peaks[0]), (bytes, peaks[1])]
                .into_iter()
                .flat_map(|(rates, peak)| rates.map(|rate| (rate, 100.0 * rate / peak)))
                .map(|(rate, part)| format!(" {rate:7.0} {part:3.0}%"))
                .collect();
            println!("{:>16}{cells}", format!("{m}x{n}x{k}"));
        }
    }

    /// Billions of operations a second of products of tiles that are in registers.
    ///
    /// # Safety
    /// The machine must have tiles, and this thread must use none.
    unsafe fn registers(is_bytes: bool) -> f64 {
        #[repr(C, align(64))]
        struct Lines<const N: usize>([u8; N]);
        let mut configuration = Lines([0; 64]);
        configuration.0[0] = 1;
        for tile in 0..8 {
            // 64 bytes in each of 16 rows.
            configuration.0[16 + 2 * tile] = 64;
            configuration.0[48 + tile] = 16;
        }
        // Of 0x3e3e as bf16, about a fifth, sums stay finite.
        let numbers = Lines([0x3e; 1024]);
        let count = 100_000usize;
        // SAFETY: the caller's promise; one tile is read, and no compiled code uses tiles.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const configuration, options(nostack, readonly));
            asm!(
                "tileloadd tmm4, [{at} + {stride}*1]",
                "tileloadd tmm5, [{at} + {stride}*1]",
                "tileloadd tmm6, [{at} + {stride}*1]",
                "tileloadd tmm7, [{at} + {stride}*1]",
                at = in(reg) &raw const numbers,
                stride = in(reg) 64usize,
                options(nostack, readonly),
            );
        }
        let t = best(|| {
            macro_rules! run {
                ($multiply:literal) => {
                    // SAFETY: tiles are configured above, and are all that is changed.
                    unsafe {
                        asm!(
                            "2:",
                            concat!($multiply, " tmm0, tmm4, tmm6"),
                            concat!($multiply, " tmm1, tmm4, tmm7"),
                            concat!($multiply, " tmm2, tmm5, tmm6"),
                            concat!($multiply, " tmm3, tmm5, tmm7"),
                            "dec {count}",
                            "jnz 2b",
                            count = inout(reg) count => _,
                            options(nostack, nomem),
                        );
                    }
                };
            }
            if is_bytes { run!("tdpbusd") } else { run!("tdpbf16ps") }
        });
        // SAFETY: tiles are not used any more.
        unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) };
        let products = if is_bytes { 64 } else { 32 };
        (count * 4 * 2 * 16 * 16 * products) as f64 / t / 1e9
    }

    fn halves((m, n, k): (usize, usize, usize), is_far: bool) -> f64 {
        let isa = Isa::Amx;
        let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32).collect();
        let bias = vec![1.0; n];
        let len = half_len(isa, k, n);
        let mut packed = vec![0; len];
        pack_half(isa, k, n, MatRef::rows(&b, n), &mut packed);
        let copies = Copies::new(&packed, is_far);
        let lhs = Lhs::Strided(MatRef::rows(&a, k));
        let mut scratch = vec![0.0; gemm_scratch_len(isa, m, n, k, &lhs, &Rhs::Half(&packed))];
        let mut c = vec![0.0; m * n];
        let e = Epilogue { bias_col: Some(&bias), ..Epilogue::default() };
        let mut turn = 0;
        let t = best(|| {
            turn += 1;
            let rhs = Rhs::Half(copies.get(turn));
            gemm(isa, &Serial, m, n, k, lhs, rhs, &mut c, n, &e, &mut scratch);
        });
        (2 * m * n * k) as f64 / t / 1e9
    }

    fn bytes((m, n, k): (usize, usize, usize), is_far: bool) -> f64 {
        use integer::{
            Along, Left, Right, Scaled, Target, ZeroPoint, pack, packed_len, scratch_len,
        };
        let isa = Isa::Amx;
        let a: Vec<u8> = (0..m * k).map(|i| (i % 251) as u8).collect();
        let b: Vec<i8> = (0..k * n).map(|i| (i % 253) as u8 as i8).collect();
        let mut packed = vec![0; packed_len(k, n)];
        pack(k, n, MatRef::rows(&b, n), &mut packed);
        let copies = Copies::new(&packed, is_far);
        let left = Left { matrix: MatRef::rows(&a, k), zero: ZeroPoint::One(117) };
        let right =
            |packed| Right { matrix: None, packed: Some(packed), zero: ZeroPoint::One(0i8) };
        let mut scratch = vec![0; scratch_len(isa, m, n, k, &left, &right(&packed))];
        let (scales, bias, mut c) = (vec![0.01; n], vec![1.0; n], vec![0.0; m * n]);
        let mut turn = 0;
        let t = best(|| {
            turn += 1;
            let scaled = Scaled {
                a_scale: 0.1,
                b_scale: &scales,
                bias: Some(&bias),
                along: Along::Columns,
                residual: None,
                activation: Default::default(),
            };
            let target = Target::Floats(&mut c, scaled);
            let right = right(copies.get(turn));
            integer::gemm(isa, &Serial, m, n, k, left, right, target, n, &mut scratch);
        });
        (2 * m * n * k) as f64 / t / 1e9
    }

    /// Copies of a packed matrix, one or as many as no cache holds. Each begins with a line of the cache, as the engine's do.
    struct Copies<T> {
        data: Vec<T>,
        from: usize,
        /// Lanes from one to the next.
        apart: usize,
        len: usize,
    }

    impl<T: Copy + Default> Copies<T> {
        fn new(packed: &[T], is_far: bool) -> Copies<T> {
            const LINE: usize = 16;
            let apart = packed.len().next_multiple_of(LINE);
            let count = if is_far { (FROM_MEMORY / 4 / apart).max(1) } else { 1 };
            let mut data = vec![T::default(); count * apart + LINE];
            let from = data.as_ptr().align_offset(4 * LINE).min(LINE);
            for copy in data[from..].chunks_exact_mut(apart).take(count) {
                copy[..packed.len()].copy_from_slice(packed);
            }
            Copies { data, from, apart, len: packed.len() }
        }

        fn get(&self, turn: usize) -> &[T] {
            let count = (self.data.len() - self.from) / self.apart;
            &self.data[self.from + turn % count * self.apart..][..self.len]
        }
    }
}
