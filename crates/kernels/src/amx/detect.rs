//! Whether this process may use tiles.

/// Whether the processor has tiles of bf16 and of bytes, by `edx` of leaf 7 of `CPUID`, the system saves them, by `XCR0`,
/// and lets this process use them, which it is asked for here.
pub(crate) fn is_usable(edx: u32, xcr0: u64) -> bool {
    const BF16_TILE_INT8: u32 = (1 << 22) | (1 << 24) | (1 << 25);
    // Configuration of the tiles, and what is in them.
    const XCR0_TILES: u64 = (1 << 17) | (1 << 18);
    edx & BF16_TILE_INT8 == BF16_TILE_INT8 && xcr0 & XCR0_TILES == XCR0_TILES && is_permitted()
}

/// Asks Linux for tiles: without, the first instruction on them would end the process. It refuses where it is older than
/// 5.16, by rules of a sandbox, and where a thread has a stack for signals that is too small for 8 KB more; then there
/// are no tiles. What it grants holds for all threads, until the process ends.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn is_permitted() -> bool {
    const ARCH_PRCTL: usize = 158;
    const ARCH_REQ_XCOMP_PERM: usize = 0x1023;
    const XFEATURE_XTILEDATA: usize = 18;
    let result: isize;
    // SAFETY: the system call of this number takes two numbers, reads and writes no memory, and keeps all registers but
    // these three.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XFEATURE_XTILEDATA,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result == 0
}

/// Other systems have other ways, which nobody has tried.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn is_permitted() -> bool {
    false
}
