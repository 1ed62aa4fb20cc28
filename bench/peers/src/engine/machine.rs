//! What one core can do at most: f32 operations a second in registers, and bytes a second from memory.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Each limit is the best of short attempts for this long, so that other processes do not lower it.
const TIME: Duration = Duration::from_millis(150);

/// Operations a second of multiply-adds that stay in registers.
pub fn peak_flops() -> f64 {
    const STEPS: usize = 20_000;
    let (flops, run): (usize, fn(usize) -> f32) = widest();
    best(|| {
        black_box(run(black_box(STEPS)));
    }) * (STEPS * flops) as f64
}

/// Bytes a second that are read from a buffer which no cache of a core holds.
pub fn memory_bytes() -> f64 {
    let buffer = vec![1u64; (256 << 20) / size_of::<u64>()];
    best(|| {
        let mut sums = [0u64; 16];
        for chunk in buffer.chunks_exact(16) {
            sums.iter_mut().zip(chunk).for_each(|(sum, v)| *sum = sum.wrapping_add(*v));
        }
        black_box(sums);
    }) * (256 << 20) as f64
}

/// The most calls a second.
fn best(mut call: impl FnMut()) -> f64 {
    call();
    let (mut shortest, began) = (f64::INFINITY, Instant::now());
    while began.elapsed() < TIME {
        let started = Instant::now();
        call();
        shortest = shortest.min(started.elapsed().as_secs_f64());
    }
    1.0 / shortest
}

/// Chains of multiply-adds that are independent of each other: enough for two ports of latency five.
const CHAINS: usize = 12;

/// Operations of a step, and what runs steps, with the widest registers of the machine.
fn widest() -> (usize, fn(usize) -> f32) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the feature was asked for.
            return (CHAINS * 16 * 2, |steps| unsafe { x86::avx512(steps) });
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the features were asked for.
            return (CHAINS * 8 * 2, |steps| unsafe { x86::avx2(steps) });
        }
    }
    (CHAINS * 2, |steps| {
        let (mut sums, x) = ([1f32; CHAINS], black_box(0.5f32));
        for _ in 0..steps {
            sums.iter_mut().for_each(|sum| *sum = *sum * x + x);
        }
        sums.iter().sum()
    })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::hint::black_box;

    use super::CHAINS;

    /// # Safety
    /// The machine has AVX-512.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn avx512(steps: usize) -> f32 {
        let mut sums = [_mm512_set1_ps(1.0); CHAINS];
        let x = _mm512_set1_ps(black_box(0.5));
        for _ in 0..steps {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, x, x);
            }
        }
        sums.iter().map(|&sum| _mm512_reduce_add_ps(sum)).sum()
    }

    /// # Safety
    /// The machine has AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn avx2(steps: usize) -> f32 {
        let mut sums = [_mm256_set1_ps(1.0); CHAINS];
        let x = _mm256_set1_ps(black_box(0.5));
        for _ in 0..steps {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, x, x);
            }
        }
        sums.iter().map(|&sum| _mm256_cvtss_f32(sum)).sum()
    }
}
