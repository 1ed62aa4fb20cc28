//! Crashes of code inside interpreters, which end only their interpreter where somebody has asked for it.
//!
//! A signal that says that the code of an interpreter's thread crashed stops that thread for ever and tells a thread of ours,
//! by a pipe, for a handler of signals may take no lock. The interpreter is never called again: it may hold its lock. What
//! the code has done to memory before it crashed, or a lock of the loader or of this process's allocator that it held, is done:
//! containment makes time for others to finish, and the process should be replaced soon.
#![allow(unsafe_code)] // handlers of signals

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::{self, Read};
use std::mem::size_of;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::interpose::{Death, Table};

/// The signals, by which code crashes.
const SIGNALS: [(c_int, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
];

thread_local! {
    /// The namespace whose code this thread runs. Without a destructor, so that a handler can read it.
    static OF: Cell<*const Table> = const { Cell::new(ptr::null()) };
}

/// Where the handler writes; -1 while crashes are not contained.
static PIPE: AtomicI32 = AtomicI32::new(-1);

static CRASHED: AtomicUsize = AtomicUsize::new(0);

/// The handlers before ours, in the order of [`SIGNALS`].
static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

/// What the handler writes: the namespace and the signal.
const RECORD: usize = 2 * size_of::<usize>();

/// The name of a signal.
pub(super) fn name(signal: c_int) -> &'static str {
    SIGNALS.iter().find(|(number, _)| *number == signal).map_or("a signal", |(_, name)| name)
}

/// From now on the calling thread runs code of a namespace.
pub(super) fn enter(table: &'static Table) {
    OF.set(table);
}

/// Runs `work`, which is no code of the namespace: a crash of it is one of this process.
pub(super) fn outside<T>(work: impl FnOnce() -> T) -> T {
    struct Again(*const Table);
    impl Drop for Again {
        fn drop(&mut self) {
            OF.set(self.0);
        }
    }
    let _again = Again(OF.replace(ptr::null()));
    work()
}

/// Interpreters that crashed inside this process and were contained.
pub fn crashes_contained() -> usize {
    CRASHED.load(Ordering::Relaxed)
}

/// From now on a crash of code on a thread of an interpreter inside this process ends that interpreter only. Crashes of
/// other threads end the process as before. Once is enough.
///
/// # Errors
/// What the system refuses.
pub fn contain_crashes() -> io::Result<()> {
    static BEGUN: Mutex<bool> = Mutex::new(false);
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    if *begun {
        return Ok(());
    }
    let mut ends = [0; 2];
    // SAFETY: writes two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: new descriptors that nobody else has.
    let (told, tell) = unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
    std::thread::Builder::new().name("python-crashes".to_owned()).spawn(move || listen(told))?;
    PIPE.store(tell.into_raw_fd(), Ordering::Release);
    BEFORE.get_or_init(|| SIGNALS.map(|(signal, _)| action_of(signal)));
    for (signal, _) in SIGNALS {
        install(signal)?;
    }
    *begun = true;
    Ok(())
}

fn action_of(signal: c_int) -> libc::sigaction {
    // SAFETY: a structure of numbers and an optional address, which is written whole.
    unsafe {
        let mut action = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &raw mut action);
        action
    }
}

fn install(signal: c_int) -> io::Result<()> {
    let mut action = action_of(signal);
    action.sa_sigaction = on_signal as *const () as usize;
    // A thread that stops takes no signal any more, and one whose stack overflowed has another for this.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: a handler with this signature, which calls only what handlers may call.
    let result = unsafe {
        libc::sigfillset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// # Safety
/// Called by the system.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let table = OF.get();
    // SAFETY: a table is never freed, and the system gives information about the signal.
    let is_contained = unsafe {
        let own = (*info).si_code > 0 || (*info).si_pid() == libc::getpid();
        own && table.as_ref().is_some_and(|table| !table.is_in_child())
    };
    if !is_contained {
        // SAFETY: what was given.
        return unsafe { forward(signal, info, context) };
    }
    let mut record = [0u8; RECORD];
    let (address, number) = record.split_at_mut(size_of::<usize>());
    address.copy_from_slice(&(table as usize).to_ne_bytes());
    number.copy_from_slice(&(signal as usize).to_ne_bytes());
    // SAFETY: a pipe takes so few bytes at once. The thread never returns to code that has crashed.
    unsafe {
        libc::write(PIPE.load(Ordering::Acquire), record.as_ptr().cast(), RECORD);
        loop {
            libc::pause();
        }
    }
}

/// Does what would have been done without containment.
///
/// # Safety
/// What the system gave to a handler.
unsafe fn forward(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let of = SIGNALS.iter().position(|(number, _)| *number == signal);
    let before = BEFORE.get().zip(of).and_then(|(before, at)| before.get(at));
    // SAFETY: handlers are called as they were installed; resetting one is what any handler may do.
    unsafe {
        match before {
            Some(action) if !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) => {
                let handler = action.sa_sigaction as *const ();
                if action.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        std::mem::transmute(handler);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
            _ => {
                libc::signal(signal, libc::SIG_DFL);
                // What the processor raised comes again; what was sent has to be sent again.
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
        }
    }
}

/// The thread that hears of crashes.
fn listen(mut pipe: File) {
    let mut record = [0u8; RECORD];
    while pipe.read_exact(&mut record).is_ok() {
        let (address, number) = record.split_at(size_of::<usize>());
        let word = |bytes: &[u8]| usize::from_ne_bytes(bytes.try_into().unwrap_or_default());
        CRASHED.fetch_add(1, Ordering::Relaxed);
        let death = Death::Crash(word(number) as c_int);
        tracing::error!(
            "a Python interpreter inside this process is lost: {death}; this process should be replaced soon"
        );
        // SAFETY: the handler wrote the address of a table, which is never freed.
        let table: &'static Table = unsafe { &*(word(address) as *const Table) };
        table.tell(death);
    }
}
