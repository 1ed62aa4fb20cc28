//! What namespaces call instead of their own libc, and the table by which the [interposer](super::elf) finds it.
//!
//! The environment is not among it: a namespace has its own, which nothing outside reads, so that `os.environ[...] = ...`
//! in one interpreter neither shows in another nor races with threads of this process that read theirs.
#![allow(unsafe_code)] // functions of C that other libraries call

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use libc::{pthread_attr_t, pthread_key_t, pthread_t};

use super::crash;
use super::elf::{Code, Export};

/// How code ended the process, had it been alone in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Death {
    /// `exit`, `_exit` and the like.
    Exit(c_int),
    /// `abort`.
    Abort,
    /// A signal by which code crashes, where crashes are contained.
    Crash(c_int),
}

impl std::fmt::Display for Death {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Death::Exit(status) => write!(f, "its code called exit({status})"),
            Death::Abort => f.write_str("its code called abort()"),
            Death::Crash(signal) => write!(f, "its code crashed with {}", crash::name(*signal)),
        }
    }
}

type Function = AtomicPtr<c_void>;

/// The functions behind the interposer of one namespace. It is never freed, as the namespace is not.
#[repr(C)]
pub(super) struct Table {
    open: Function,
    own_handle: Function,
    thread_create: Function,
    key_create: Function,
    key_delete: Function,
    key_get: Function,
    key_set: Function,
    exit: Function,
    exit_at_once: Function,
    abort: Function,
    /// The namespace's own `uselocale` and `exit`.
    locale: Function,
    own_exit: Function,
    /// The process that opened the namespace; a child of it may end itself.
    process: libc::pid_t,
    died: OnceLock<Box<dyn Fn(Death) + Send + Sync>>,
}

/// What the interposer exports.
pub(super) fn exports() -> Vec<Export> {
    let at = |name, code, offset: usize| Export { name, code, offset: offset as i32 };
    let own_handle = offset_of!(Table, own_handle) as i32;
    let exit_at_once = offset_of!(Table, exit_at_once);
    vec![
        at("dlopen", Code::Open { own_handle }, offset_of!(Table, open)),
        at("pthread_create", Code::Context(5), offset_of!(Table, thread_create)),
        at("pthread_key_create", Code::Jump, offset_of!(Table, key_create)),
        at("pthread_key_delete", Code::Jump, offset_of!(Table, key_delete)),
        at("pthread_getspecific", Code::Jump, offset_of!(Table, key_get)),
        at("pthread_setspecific", Code::Jump, offset_of!(Table, key_set)),
        at("exit", Code::Context(2), offset_of!(Table, exit)),
        at("quick_exit", Code::Context(2), exit_at_once),
        at("_exit", Code::Context(2), exit_at_once),
        at("_Exit", Code::Context(2), exit_at_once),
        at("abort", Code::Context(1), offset_of!(Table, abort)),
    ]
}

fn address(function: *const ()) -> Function {
    AtomicPtr::new(function as *mut c_void)
}

impl Table {
    /// A table whose entries are valid before anything is loaded.
    pub(super) fn leaked() -> &'static Table {
        // The loader knows the caller by its return address, whichever copy of `dlopen` is asked; the namespace's own
        // copy, which comes later, keeps the texts of errors where `dlerror` looks for them.
        Box::leak(Box::new(Table {
            open: address(libc::dlopen as *const ()),
            own_handle: AtomicPtr::default(),
            thread_create: address(thread_create as *const ()),
            key_create: address(key_create as *const ()),
            key_delete: address(key_delete as *const ()),
            key_get: address(libc::pthread_getspecific as *const ()),
            key_set: address(libc::pthread_setspecific as *const ()),
            exit: address(exit as *const ()),
            exit_at_once: address(exit_at_once as *const ()),
            abort: address(abort as *const ()),
            locale: AtomicPtr::default(),
            own_exit: AtomicPtr::default(),
            // SAFETY: no argument, no failure.
            process: unsafe { libc::getpid() },
            died: OnceLock::new(),
        }))
    }

    /// The address that the code of the interposer holds.
    pub(super) fn address(&'static self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    /// Sets what is known once the namespace is there: the handle of its first object, its own `dlopen`, `uselocale`
    /// and `exit`.
    pub(super) fn complete(
        &self,
        handle: *mut c_void,
        [open, locale, exit]: [std::ptr::NonNull<c_void>; 3],
    ) {
        self.own_handle.store(handle, Ordering::Release);
        self.open.store(open.as_ptr(), Ordering::Release);
        self.own_exit.store(exit.as_ptr(), Ordering::Release);
        self.locale.store(locale.as_ptr(), Ordering::Release);
    }

    /// Who hears that code of the namespace wanted to end the process. The first who asks is told.
    pub(super) fn on_death(&self, told: Box<dyn Fn(Death) + Send + Sync>) {
        // A namespace has one interpreter, which asks once.
        let _ = self.died.set(told);
    }

    /// Makes the calling thread one of the namespace: its libc keeps tables of the locale for each thread, which only
    /// the thread that opened it and those that it made itself have. Without them the tokenizer of CPython crashes.
    pub(super) fn enter_thread(&self) {
        let locale = self.locale.load(Ordering::Acquire);
        if locale.is_null() {
            return;
        }
        // SAFETY: the address is that of `uselocale` in the namespace's libc, `locale_t uselocale(locale_t)`, and a
        // `locale_t` is a pointer; -1 is LC_GLOBAL_LOCALE, which fills the tables of the calling thread.
        unsafe {
            let uselocale: extern "C" fn(isize) -> isize = std::mem::transmute(locale);
            uselocale(-1);
        }
    }

    /// Tells of the end of the interpreter.
    pub(super) fn tell(&self, death: Death) {
        if let Some(died) = self.died.get() {
            died(death);
        }
    }

    /// Tells of the end and never returns: the thread may hold the interpreter's lock and has no way back.
    fn park(&self, death: Death) -> ! {
        self.tell(death);
        loop {
            std::thread::park();
        }
    }

    /// Whether this is a child of the process that opened the namespace.
    pub(super) fn is_in_child(&self) -> bool {
        // SAFETY: no argument, no failure.
        unsafe { libc::getpid() != self.process }
    }
}

/// Keys that namespaces hold.
static KEYS: AtomicUsize = AtomicUsize::new(0);

/// Keys that namespaces hold now.
pub(super) fn keys_held() -> usize {
    KEYS.load(Ordering::Relaxed)
}

/// Keys come from one libc: numbered by each namespace for itself, they would be the same slots of a thread.
///
/// # Safety
/// As `pthread_key_create`.
unsafe extern "C" fn key_create(
    key: *mut pthread_key_t,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
) -> c_int {
    // SAFETY: the caller's arguments, passed on.
    let result = unsafe { libc::pthread_key_create(key, destructor) };
    if result == 0 {
        KEYS.fetch_add(1, Ordering::Relaxed);
    }
    result
}

/// # Safety
/// As `pthread_key_delete`.
unsafe extern "C" fn key_delete(key: pthread_key_t) -> c_int {
    // SAFETY: the caller's argument, passed on.
    let result = unsafe { libc::pthread_key_delete(key) };
    if result == 0 {
        KEYS.fetch_sub(1, Ordering::Relaxed);
    }
    result
}

/// What a new thread runs, and in which namespace.
struct Start {
    main: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    table: &'static Table,
}

/// Threads come from one libc too, which then frees what it keeps for each.
///
/// # Safety
/// As `pthread_create`; `table` is the table of the caller's namespace.
unsafe extern "C" fn thread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    main: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    table: *const Table,
) -> c_int {
    debug_assert!(!table.is_null());
    // SAFETY: the interposer passes the address of a table that is never freed.
    let table: &'static Table = unsafe { &*table };
    let start = Box::into_raw(Box::new(Start { main, argument, table }));
    // `pthread_create` takes a function that does not unwind, by a signature that cannot say that a thread may end
    // itself in the middle.
    let run: extern "C-unwind" fn(*mut c_void) -> *mut c_void = run;
    // SAFETY: both types are addresses of functions with the same arguments and result.
    let run: extern "C" fn(*mut c_void) -> *mut c_void = unsafe { std::mem::transmute(run) };
    // SAFETY: the caller's arguments, passed on; `start` belongs to the new thread.
    let result = unsafe { libc::pthread_create(thread, attributes, run, start.cast()) };
    if result != 0 {
        // SAFETY: no thread was made, so nobody else has it.
        drop(unsafe { Box::from_raw(start) });
    }
    result
}

/// The first function of a thread that a namespace made.
extern "C-unwind" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: `thread_create` made it for this thread alone.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    let Start { main, argument, table } = *start;
    table.enter_thread();
    crash::enter(table);
    main(argument)
}

/// # Safety
/// `table` is the table of the caller's namespace.
unsafe extern "C" fn exit(status: c_int, table: *const Table) -> ! {
    debug_assert!(!table.is_null());
    // SAFETY: the interposer passes the address of a table that is never freed.
    let table = unsafe { &*table };
    let own = table.own_exit.load(Ordering::Acquire);
    if !table.is_in_child() {
        table.park(Death::Exit(status));
    }
    if own.is_null() {
        // SAFETY: ends a child that nothing else lives in.
        unsafe { libc::_exit(status) }
    }
    // SAFETY: the address is that of `exit` in the namespace's libc, which writes what its streams hold.
    unsafe {
        let exit: extern "C" fn(c_int) -> ! = std::mem::transmute(own);
        exit(status)
    }
}

/// # Safety
/// `table` is the table of the caller's namespace.
unsafe extern "C" fn exit_at_once(status: c_int, table: *const Table) -> ! {
    debug_assert!(!table.is_null());
    // SAFETY: the interposer passes the address of a table that is never freed.
    let table = unsafe { &*table };
    if table.is_in_child() {
        // SAFETY: ends a child that nothing else lives in.
        unsafe { libc::_exit(status) }
    }
    table.park(Death::Exit(status))
}

/// # Safety
/// `table` is the table of the caller's namespace.
unsafe extern "C" fn abort(table: *const Table) -> ! {
    debug_assert!(!table.is_null());
    // SAFETY: the interposer passes the address of a table that is never freed.
    let table = unsafe { &*table };
    if table.is_in_child() {
        std::process::abort();
    }
    table.park(Death::Abort)
}
