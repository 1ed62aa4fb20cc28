//! Functions of single bytes as tables.

use crate::chunks::{split_chunks, tasks};
use crate::{Isa, Parallel};

/// `y[i] = table[x[i]]`.
///
/// # Panics
/// When the lengths of `x` and `y` differ.
pub fn look_up(isa: Isa, par: &dyn Parallel, table: &[u8; 256], x: &[u8], y: &mut [u8]) {
    assert_eq!(x.len(), y.len(), "lengths of source and destination");
    let count = tasks(par, x.len(), x.len());
    split_chunks(par, count, x.len(), y, 1, &|range, y| {
        let x = &x[range];
        match isa.permutes_bytes() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the machine has the instructions.
            true => unsafe { permute(table, x, y) },
            _ => each(table, x, y),
        }
    });
}

fn each(table: &[u8; 256], x: &[u8], y: &mut [u8]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = table[usize::from(*x)];
    }
}

/// By AVX512-VBMI, whose permutations of two vectors are tables of half of all bytes.
///
/// # Safety
/// The machine must have AVX512-VBMI.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn permute(table: &[u8; 256], x: &[u8], y: &mut [u8]) {
    use core::arch::x86_64::{
        __m512i, _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_movepi8_mask,
        _mm512_permutex2var_epi8, _mm512_storeu_si512,
    };
    let whole = x.len() / 64 * 64;
    debug_assert!(y.len() >= whole);
    // SAFETY: the table has four vectors, and all vectors of `x` and `y` lie below `whole`.
    unsafe {
        let part = |i: usize| _mm512_loadu_si512(table.as_ptr().add(64 * i).cast::<__m512i>());
        let table = [part(0), part(1), part(2), part(3)];
        for at in (0..whole).step_by(64) {
            let x = _mm512_loadu_si512(x.as_ptr().add(at).cast::<__m512i>());
            let low = _mm512_permutex2var_epi8(table[0], x, table[1]);
            let high = _mm512_permutex2var_epi8(table[2], x, table[3]);
            let looked = _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
            _mm512_storeu_si512(y.as_mut_ptr().add(at).cast::<__m512i>(), looked);
        }
    }
    each(table, &x[whole..], &mut y[whole..]);
}
