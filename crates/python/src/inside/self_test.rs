//! What is tried before interpreters are trusted in a process: the two faults that depend on the C library.
#![allow(unsafe_code)] // states of threads

use super::object;
use super::python::{Attached, ThreadState};
use super::thread::Resident;

/// Has threads that belong to neither interpreter compile code in both, enter one from the other, and ask each whose
/// state they have. Several threads, so that some end while the interpreters go on.
///
/// # Errors
/// What is wrong. A fault that cannot be told crashes.
pub(super) fn run(first: &'static Resident, second: &'static Resident) -> Result<(), String> {
    for _ in 0..3 {
        let ended = std::thread::spawn(move || nested(first, second)).join();
        ended.map_err(|_| "a thread panicked".to_owned())??;
    }
    Ok(())
}

fn nested(first: &Resident, second: &Resident) -> Result<(), String> {
    let of = |resident: &Resident| resident.python().ok_or("an interpreter did not start");
    let (mut outer, mut inner) = (ThreadState::new(of(first)?), ThreadState::new(of(second)?));
    outer.attach(compile)?;
    inner.attach(compile)?;
    outer.attach(|outer| {
        own_state(outer, "outside")?;
        inner.attach(|inner| own_state(inner, "inside").and_then(|()| compile(inner)))?;
        own_state(outer, "outside again")?;
        compile(outer)
    })
}

/// Names and numbers: what the tokenizer asks its tables of the locale.
fn compile(at: &Attached) -> Result<(), String> {
    let source =
        "def double_of(number_1):\n    return 2.5e0 * number_1\nassert double_of(0x2) == 5\n";
    object::execute(at, c"_stead_self_test", c"<self test>", source)
        .map(drop)
        .map_err(|e| format!("code does not compile on a foreign thread: {e}"))
}

/// Whether Python knows this thread's state in this interpreter, also when it asks again from within.
fn own_state(at: &Attached, place: &str) -> Result<(), String> {
    let api = at.api();
    // SAFETY: the lock is held; what is ensured is released.
    let (known, nested, checked) = unsafe {
        let known = (api.PyGILState_GetThisThreadState)();
        let ensured = (api.PyGILState_Ensure)();
        let nested = (api.PyGILState_GetThisThreadState)();
        let checked = (api.PyGILState_Check)();
        (api.PyGILState_Release)(ensured);
        (known, nested, checked)
    };
    if known.is_null() || known != nested || checked != 1 {
        return Err(format!("a thread finds the state of another interpreter ({place})"));
    }
    Ok(())
}
