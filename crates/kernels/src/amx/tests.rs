//! Whole products by the public functions, on tiles and on threads: on those of the processor where it has some, else on
//! the emulation.

extern crate std;
use super::emulator::seen;
use crate::gemm::integer::{self, Left, Right, Target, ZeroPoint};
use crate::gemm::{
    Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len, half_len, pack_b, pack_half, packed_b_len,
};
use crate::{Isa, Parallel, Serial};
use core::sync::atomic::{AtomicUsize, Ordering};
use std::vec::Vec;

/// A thread for each task, which tells what it did with tiles.
#[derive(Default)]
struct Threads {
    tasks: AtomicUsize,
    products: AtomicUsize,
}

impl Parallel for Threads {
    fn threads(&self) -> usize {
        3
    }
    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            for i in 0..n {
                scope.spawn(move || {
                    f(i);
                    if let Some((products, is_configured)) = seen() {
                        assert!(!is_configured, "task {i} left its tiles in use");
                        self.tasks.fetch_add(usize::from(products > 0), Ordering::Relaxed);
                        self.products.fetch_add(products, Ordering::Relaxed);
                    }
                });
            }
        });
    }
}

/// Sizes whose last tiles are cut off in all three directions.
const SIZES: [(usize, usize, usize); 2] = [(203, 330, 178), (603, 18, 970)];

/// Products of tiles that a product of rows of `bytes` takes, where a number has as many.
fn products_of((m, n, k): (usize, usize, usize), bytes: usize) -> usize {
    m.div_ceil(16) * n.div_ceil(16) * (k * bytes).div_ceil(64)
}

/// Checks what the threads did, where that can be seen.
fn assert_on_tiles(threads: &Threads, size: (usize, usize, usize), bytes: usize) {
    if seen().is_some() {
        let done = threads.products.load(Ordering::Relaxed);
        assert_eq!(done, products_of(size, bytes), "{size:?}: products of tiles");
        assert!(threads.tasks.load(Ordering::Relaxed) > 1, "{size:?}: one thread did it all");
    }
}

#[test]
fn products_of_bf16_run_on_tiles() {
    if !Isa::Amx.is_available() {
        return;
    }
    for size in SIZES {
        let (m, n, k) = size;
        // Sums of such numbers are exact in f32.
        let a: Vec<f32> = (0..m * k).map(|i| (i * 7 % 31) as f32 - 15.0).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i * 5 % 23) as f32 - 11.0).collect();
        let threads = Threads::default();
        let [tiles, vectors] = [Isa::Amx, Isa::Avx512].map(|isa| {
            let mut packed = std::vec![0; half_len(isa, k, n)];
            pack_half(isa, k, n, MatRef::rows(&b, n), &mut packed);
            let (a, b) = (Lhs::Strided(MatRef::rows(&a, k)), Rhs::Half(&packed));
            let mut scratch = std::vec![f32::NAN; gemm_scratch_len(isa, m, n, k, &a, &b)];
            let (mut c, e) = (std::vec![f32::NAN; m * n], Epilogue::default());
            gemm(isa, &threads, m, n, k, a, b, &mut c, n, &e, &mut scratch);
            c
        });
        assert!(tiles == vectors, "{size:?}");
        assert_on_tiles(&threads, size, 2);
    }
}

#[test]
fn products_of_bytes_run_on_tiles() {
    if !Isa::Amx.is_available() {
        return;
    }
    for size in SIZES {
        let (m, n, k) = size;
        let a: Vec<u8> = (0..m * k).map(|i| (i * 37 % 256) as u8).collect();
        let b: Vec<i8> = (0..k * n).map(|i| (i * 91 % 256) as u8 as i8).collect();
        let left = Left { matrix: MatRef::rows(&a, k), zero: ZeroPoint::One(131) };
        let right =
            Right { matrix: Some(MatRef::rows(&b, n)), packed: None, zero: ZeroPoint::One(-3) };
        let threads = Threads::default();
        let [tiles, vectors] = [Isa::Amx, Isa::Avx512].map(|isa| {
            let len = integer::scratch_len(isa, m, n, k, &left, &right);
            let (mut scratch, mut c) = (std::vec![-7; len], std::vec![i32::MIN; m * n]);
            let target = Target::Sums(&mut c);
            integer::gemm(isa, &threads, m, n, k, left, right, target, n, &mut scratch);
            c
        });
        assert!(tiles == vectors, "{size:?}");
        assert_on_tiles(&threads, size, 1);
    }
}

/// Memory of which the first byte behind it cannot be read.
struct Guarded {
    map: *mut libc::c_void,
    len: usize,
}

const PAGE: usize = 4096;

impl Guarded {
    fn new() -> Guarded {
        let len = 64 * PAGE;
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, of which the last page is taken away again.
        unsafe {
            let map = libc::mmap(core::ptr::null_mut(), len, access, kind, -1, 0);
            assert!(map != libc::MAP_FAILED, "no memory");
            let last = map.byte_add(len - PAGE);
            assert_eq!(libc::mprotect(last, PAGE, libc::PROT_NONE), 0, "no guard");
            Guarded { map, len: len - PAGE }
        }
    }

    /// Copies `x` to the end of the memory.
    fn hold<T: Copy>(&mut self, x: &[T]) -> &[T] {
        let size = size_of_val(x);
        assert!(size <= self.len);
        // SAFETY: the last `size` bytes, which are aligned for what divides them.
        unsafe {
            let to = self.map.byte_add(self.len - size).cast::<T>();
            core::ptr::copy_nonoverlapping(x.as_ptr(), to, x.len());
            core::slice::from_raw_parts(to, x.len())
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: nothing borrows it any more.
        unsafe { libc::munmap(self.map, self.len + PAGE) };
    }
}

#[test]
fn nothing_is_read_behind_the_operands() {
    if !Isa::Amx.is_available() {
        return;
    }
    let isa = Isa::Amx;
    let (mut of_a, mut of_b) = (Guarded::new(), Guarded::new());
    for (m, n, k) in [(5, 16, 64), (17, 33, 64), (21, 48, 100), (35, 50, 33), (40, 7, 128)] {
        let (a, b) = (std::vec![1f32; m * k], std::vec![1f32; k * n]);
        let mut packed = std::vec![0; half_len(isa, k, n)];
        pack_half(isa, k, n, MatRef::rows(&b, n), &mut packed);
        let (a, b) = (of_a.hold(&a), of_b.hold(&packed));
        let (a, b) = (Lhs::Strided(MatRef::rows(a, k)), Rhs::Half(b));
        let mut scratch = std::vec![f32::NAN; gemm_scratch_len(isa, m, n, k, &a, &b)];
        let (mut c, e) = (std::vec![f32::NAN; m * n], Epilogue::default());
        gemm(isa, &Serial, m, n, k, a, b, &mut c, n, &e, &mut scratch);
        assert!(c.iter().all(|&x| x == k as f32), "bf16 {m}x{n}x{k}");

        let (a, b) = (std::vec![1u8; m * k], std::vec![1i8; k * n]);
        let mut packed = std::vec![0; integer::packed_len(k, n)];
        integer::pack(k, n, MatRef::rows(&b, n), &mut packed);
        let (a, b) = (of_a.hold(&a), of_b.hold(&packed));
        let left = Left { matrix: MatRef::rows(a, k), zero: ZeroPoint::One(0u8) };
        let right = Right { matrix: None, packed: Some(b), zero: ZeroPoint::One(0i8) };
        let mut scratch = std::vec![-7; integer::scratch_len(isa, m, n, k, &left, &right)];
        let mut c = std::vec![i32::MIN; m * n];
        let target = Target::Sums(&mut c);
        integer::gemm(isa, &Serial, m, n, k, left, right, target, n, &mut scratch);
        assert!(c.iter().all(|&x| x == k as i32), "bytes {m}x{n}x{k}");
    }
    for (m, n, k) in [(48, 32, 64), (65, 33, 100), (50, 40, 65), (49, 70, 801)] {
        let (a, b) = (std::vec![1f32; m * k], std::vec![1f32; k * n]);
        let mut packed = std::vec![0.0; packed_b_len(isa, k, n)];
        assert!(pack_b(isa, k, n, MatRef::rows(&b, n), &mut packed));
        let (a, b) = (of_a.hold(&a), of_b.hold(&packed));
        let (a, b) = (Lhs::Strided(MatRef::rows(a, k)), Rhs::Finite(b));
        let mut scratch = std::vec![f32::NAN; gemm_scratch_len(isa, m, n, k, &a, &b)];
        let (mut c, e) = (std::vec![f32::NAN; m * n], Epilogue::default());
        gemm(isa, &Serial, m, n, k, a, b, &mut c, n, &e, &mut scratch);
        assert!(c.iter().all(|&x| x == k as f32), "in three parts {m}x{n}x{k}");
    }
}
