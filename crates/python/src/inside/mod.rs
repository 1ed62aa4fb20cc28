//! Interpreters inside this process, each in a namespace of the dynamic loader.
//!
//! Plain `dlmopen` of libpython crashes in several ways: the copies of libc number their thread-specific keys each for
//! itself in the same slots of a thread, a `dlopen` with `RTLD_GLOBAL` ends in the loader, and threads that another
//! copy made lack tables of the locale. The [interposer](elf) mends all of them: [what it exports](interpose) is found
//! before libc by everything in the namespace.

mod api;
mod budget;
mod buffer;
mod config_offsets;
mod convert;
mod crash;
mod elf;
mod here;
mod host;
mod initialize;
mod interpose;
mod interpreter;
mod namespace;
mod object;
mod python;
mod runtime;
mod self_test;
mod thread;
mod traceback;
mod variables;

pub use crash::{contain_crashes, crashes_contained};
pub use interpreter::{InProcess, namespaces_open, self_test_here};
