//! Tiles for tests on processors that have none: what such a processor does not know, it hands to the system as an illegal
//! instruction, and the handler of that signal executes it.
//!
//! The handler runs on the thread and the stack of the code that it interrupts. It may do what is allowed at any point of
//! that code: it reads and writes the registers that were saved, memory as the instruction would, and tiles of this
//! thread, which are initialised without code and have no destructor. It allocates nothing and takes no lock. An
//! instruction that would fault on a processor with tiles ends the process with a message.

extern crate std;
use std::cell::UnsafeCell;
use std::sync::OnceLock;

mod decode;
mod machine;

use decode::{Address, Instruction, decode};
use machine::{Fault, Machine};

std::thread_local! {
    static MACHINE: UnsafeCell<Machine> = const { UnsafeCell::new(Machine::new()) };
}

static IS_INSTALLED: OnceLock<bool> = OnceLock::new();

/// Makes instructions on tiles work on a processor without them; whether that succeeded. The processor must have FMA.
pub(crate) fn install() -> bool {
    *IS_INSTALLED.get_or_init(|| {
        // SAFETY: a zeroed `sigaction` is one without flags, whose mask is empty; the handler is of the type that
        // SA_SIGINFO stands for.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGILL, &raw const action, core::ptr::null_mut()) == 0
        }
    })
}

/// Products of tiles on this thread so far, and whether its tiles are configured; `None` where the processor has tiles.
pub(crate) fn seen() -> Option<(usize, bool)> {
    IS_INSTALLED.get()?;
    // SAFETY: no instruction on tiles, which alone changes them, runs on this thread meanwhile.
    Some(MACHINE.with(|m| unsafe { ((*m.get()).products, (*m.get()).is_configured()) }))
}

/// Where `ucontext_t` keeps the registers, by their numbers in instructions.
const REGISTERS: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

extern "C" fn handle(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system hands the registers of this thread at the instruction that it could not execute.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let at = registers[libc::REG_RIP as usize] as usize as *const u8;
        let Some((instruction, length)) = decode(|i| *at.add(i)) else {
            // Some other illegal instruction: it shall end the process as it would have without this.
            libc::signal(libc::SIGILL, libc::SIG_DFL);
            return;
        };
        let get = |n: u8| registers[REGISTERS[usize::from(n)] as usize] as u64;
        if let Err(fault) = MACHINE.with(|m| execute(&mut *m.get(), instruction, get)) {
            for text in ["an instruction on tiles would fault: ", fault.text(), "\n"] {
                libc::write(2, text.as_ptr().cast(), text.len());
            }
            libc::abort();
        }
        registers[libc::REG_RIP as usize] += length as i64;
    }
}

/// Executes an instruction with these registers.
///
/// # Safety
/// The memory that the instruction reads or writes must exist.
unsafe fn execute(
    machine: &mut Machine,
    instruction: Instruction,
    get: impl Fn(u8) -> u64,
) -> Result<(), Fault> {
    let base = |a: Address| (get(a.base)).wrapping_add(i64::from(a.displacement) as u64);
    let stride = |a: Address| a.index.map_or(0, |index| get(index) << a.scale);
    // SAFETY: the caller's promise.
    unsafe {
        match instruction {
            Instruction::LoadConfiguration(a) => {
                let from = base(a).wrapping_add(stride(a)) as usize as *const [u8; 64];
                machine.configure(&from.read_unaligned())
            }
            Instruction::Release => {
                machine.release();
                Ok(())
            }
            Instruction::Zero(tile) => machine.zero(tile),
            Instruction::Load(tile, a) => machine.load(tile, base(a), stride(a)),
            Instruction::Store(tile, a) => machine.store(tile, base(a), stride(a)),
            Instruction::Multiply(kind, tiles) => machine.multiply(kind, tiles),
        }
    }
}

#[cfg(test)]
mod tests;
