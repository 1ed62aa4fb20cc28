//! The start of the server anew, with room for as many Python interpreters inside the process as there can be.
//!
//! The C library reserves that room when a program starts, by a variable that it reads there and then. It costs what a start
//! costs, some milliseconds, and is done where a Python is in sight that could run inside: packages that need it may come later.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Replaces this process by one that has the room, if it has not and there is a Python for it. Before any thread is made.
pub fn start_if_python_needs_it() {
    let Some(reexec) = stead_python::reexec_wanted().filter(|_| stead_python::library_in_sight())
    else {
        return;
    };
    let mut arguments = std::env::args_os();
    let name = arguments.next();
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    if let Some(name) = name {
        command.arg0(name);
    }
    let _ = command.args(arguments).envs(reexec.variables).exec();
    // Only what could not be replaced comes here, and serves with less room.
}
