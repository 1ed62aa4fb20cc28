//! Which instruction sets this machine has, and which one to use.

use core::sync::atomic::{AtomicU16, Ordering};

/// An instruction set level that the kernels are compiled for.
///
/// Any value may be handed to any kernel: a level that the machine lacks runs as
/// [`Isa::Scalar`], never as undefined behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Isa {
    /// Portable Rust on the target's baseline (SSE2 on x86-64).
    Scalar = 0,
    /// AVX2 with FMA, F16C and POPCNT (x86-64-v3): 8 lanes of f32.
    Avx2 = 1,
    /// AVX-512 F, BW, VL and DQ (x86-64-v4): 16 lanes of f32.
    Avx512 = 2,
    /// AMX tiles of bf16 and of bytes beside [`Isa::Avx512`]: Intel from Sapphire Rapids on, with Linux from 5.16 on.
    /// Products by weights in bf16 and of bytes use them; every other kernel is that of AVX-512. Linux is asked for them
    /// when levels are first asked for.
    Amx = 3,
    /// Advanced SIMD of AArch64: 4 lanes of f32.
    Neon = 4,
}

/// Every level, slowest first.
const ALL: [Isa; 5] = [Isa::Scalar, Isa::Neon, Isa::Avx2, Isa::Avx512, Isa::Amx];

/// Bit for [`Isa::has_dot4`], which is no level of its own: few kernels gain by it.
const DOT4: u16 = 1 << 5;

/// Bit set by the first detection, so that "only scalar" differs from "not asked yet".
const KNOWN: u16 = 1 << 7;

/// Bit set where the processor has AVX512-VBMI beside [`Isa::Avx512`].
const PERMUTES: u16 = 1 << 8;

/// Bit set where the processor has AVX512-BF16 beside [`Isa::Avx512`].
const BF16: u16 = 1 << 6;

/// Bit set where its products of bf16 are quicker than those of f32.
const FAST_BF16: u16 = 1 << 9;

impl Isa {
    /// The fastest level of this machine.
    ///
    /// ```
    /// use stead_kernels::Isa;
    /// assert!(Isa::detect().is_available());
    /// ```
    pub fn detect() -> Isa {
        let mut best = Isa::Scalar;
        for isa in Isa::available() {
            best = isa;
        }
        best
    }

    /// Whether the processor and the operating system support this level.
    #[inline]
    pub fn is_available(self) -> bool {
        available_bits() & (1 << self as u8) != 0
    }

    /// Whether kernels of this level may use instructions that multiply bf16 (AVX512-BF16), which
    /// not every processor with AVX-512 has.
    #[cfg(test)]
    pub(crate) fn multiplies_bf16(self) -> bool {
        self.vectors() == Isa::Avx512 && self.is_available() && available_bits() & BF16 != 0
    }

    /// Whether they also gain by it: Intel's processors start such an instruction every other cycle and two of f32 in each,
    /// half the rate.
    #[inline]
    pub(crate) fn gains_by_bf16(self) -> bool {
        self.vectors() == Isa::Avx512 && self.is_available() && available_bits() & FAST_BF16 != 0
    }

    /// The level whose vectors kernels of this level use: itself, but for tiles, which have no vectors of their own.
    #[inline]
    pub(crate) fn vectors(self) -> Isa {
        match self {
            Isa::Amx => Isa::Avx512,
            isa => isa,
        }
    }

    /// The level that kernels run for this one: itself, or [`Isa::Scalar`] if the machine lacks it.
    #[inline]
    pub fn effective(self) -> Isa {
        if self.is_available() { self } else { Isa::Scalar }
    }

    /// Whether this level has an instruction for sums of four products of bytes: AVX-512 VNNI.
    #[inline]
    pub fn has_dot4(self) -> bool {
        self.vectors() == Isa::Avx512 && self.is_available() && available_bits() & DOT4 != 0
    }

    /// Whether kernels of this level may use instructions that permute all bytes of a vector (AVX512-VBMI).
    #[inline]
    pub(crate) fn permutes_bytes(self) -> bool {
        self.vectors() == Isa::Avx512 && self.is_available() && available_bits() & PERMUTES != 0
    }

    /// All levels of this machine, slowest first; always holds [`Isa::Scalar`].
    pub fn available() -> impl Iterator<Item = Isa> + Clone {
        ALL.into_iter().filter(|isa| isa.is_available())
    }

    /// Parses the lower-case name: `scalar`, `avx2`, `avx512`, `amx` or `neon`.
    pub fn from_name(name: &str) -> Option<Isa> {
        ALL.into_iter().find(|isa| isa.name() == name)
    }

    /// The name that [`Isa::from_name`] reads.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
            Isa::Amx => "amx",
            Isa::Neon => "neon",
        }
    }
}

/// One bit per level that is available; asked once, since `cpuid` traps under a hypervisor.
#[inline]
fn available_bits() -> u16 {
    static BITS: AtomicU16 = AtomicU16::new(0);
    let bits = BITS.load(Ordering::Relaxed);
    if bits & KNOWN != 0 {
        return bits;
    }
    let bits = KNOWN | (1 << Isa::Scalar as u8) | machine_bits();
    BITS.store(bits, Ordering::Relaxed);
    bits
}

#[cfg(target_arch = "aarch64")]
fn machine_bits() -> u16 {
    // Advanced SIMD is part of the AArch64 baseline.
    1 << Isa::Neon as u8
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn machine_bits() -> u16 {
    0
}

/// Whether the processor calls itself `GenuineIntel`.
#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    let leaf = core::arch::x86_64::__cpuid(0);
    [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes) == [*b"Genu", *b"ineI", *b"ntel"]
}

/// Intel SDM volume 2, `CPUID` leaves 1 and 7, and `XGETBV` for the registers the system saves.
#[cfg(target_arch = "x86_64")]
fn machine_bits() -> u16 {
    use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

    const OSXSAVE: u32 = 1 << 27;
    const FMA: u32 = 1 << 12;
    const POPCNT: u32 = 1 << 23;
    const AVX: u32 = 1 << 28;
    const F16C: u32 = 1 << 29;
    const AVX2: u32 = 1 << 5;
    const AVX512_VBMI: u32 = 1 << 1;
    const AVX512_VNNI: u32 = 1 << 11;
    const AVX512F_DQ_BW_VL: u32 = (1 << 16) | (1 << 17) | (1 << 30) | (1 << 31);
    const AVX512_BF16: u32 = 1 << 5;
    // XMM and YMM state; then opmask, upper ZMM and ZMM16-31 state.
    const XCR0_YMM: u64 = 0b110;
    const XCR0_ZMM: u64 = 0b1110_0110;

    #[target_feature(enable = "xsave")]
    fn xcr0() -> u64 {
        // SAFETY: the caller has seen OSXSAVE, so XGETBV with index 0 is defined.
        unsafe { _xgetbv(0) }
    }

    let has = |reg: u32, bits: u32| reg & bits == bits;
    let highest = __cpuid(0).eax;
    let leaf1 = __cpuid(1);
    if highest < 7 || !has(leaf1.ecx, OSXSAVE | AVX | FMA | F16C | POPCNT) {
        return 0;
    }
    // SAFETY: OSXSAVE means that the system has enabled XSAVE and XGETBV.
    let saved = unsafe { xcr0() };
    let leaf7 = __cpuid_count(7, 0);
    if saved & XCR0_YMM != XCR0_YMM || !has(leaf7.ebx, AVX2) {
        return 0;
    }
    let mut bits = 1 << Isa::Avx2 as u8;
    if saved & XCR0_ZMM == XCR0_ZMM && has(leaf7.ebx, AVX512F_DQ_BW_VL) {
        bits |= 1 << Isa::Avx512 as u8;
        if leaf7.eax >= 1 && has(__cpuid_count(7, 1).eax, AVX512_BF16) {
            bits |= if is_intel() { BF16 } else { BF16 | FAST_BF16 };
        }
        if has(leaf7.ecx, AVX512_VNNI) {
            bits |= DOT4;
        }
        if has(leaf7.ecx, AVX512_VBMI) {
            bits |= PERMUTES;
        }
        let tiles = crate::amx::is_usable(leaf7.edx, saved);
        // Tests run on an emulation where the processor has no tiles.
        #[cfg(all(test, target_os = "linux"))]
        let tiles = tiles || crate::amx::emulator::install();
        if tiles {
            bits |= 1 << Isa::Amx as u8;
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn names_round_trip() {
        for isa in ALL {
            assert_eq!(Isa::from_name(isa.name()), Some(isa));
        }
        assert_eq!(Isa::from_name("sse9"), None);
    }

    #[test]
    fn scalar_is_always_there_and_tests_have_tiles_beside_avx512() {
        assert!(Isa::Scalar.is_available());
        let has_tiles = cfg!(target_os = "linux") && Isa::Avx512.is_available();
        assert_eq!(Isa::Amx.is_available(), has_tiles);
        assert_eq!(Isa::Amx.has_dot4(), has_tiles && Isa::Avx512.has_dot4());
        assert!(Isa::available().any(|isa| isa == Isa::detect()));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn agrees_with_the_standard_library() {
        let avx2 = std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("fma")
            && std::is_x86_feature_detected!("f16c")
            && std::is_x86_feature_detected!("popcnt");
        let avx512 = std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512dq")
            && std::is_x86_feature_detected!("avx512vl");
        assert_eq!(Isa::Avx2.is_available(), avx2);
        assert_eq!(Isa::Avx512.is_available(), avx512 && avx2);
        let bf16 = std::is_x86_feature_detected!("avx512bf16");
        assert_eq!(Isa::Avx512.multiplies_bf16(), avx512 && avx2 && bf16);
        assert_eq!(Isa::Avx512.gains_by_bf16(), avx512 && avx2 && bf16 && !is_intel());
        let vnni = std::is_x86_feature_detected!("avx512vnni");
        assert_eq!(Isa::Avx512.has_dot4(), avx512 && avx2 && vnni);
        assert!(!Isa::Avx2.has_dot4());
    }
}
