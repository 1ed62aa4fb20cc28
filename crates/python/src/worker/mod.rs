//! Interpreters in processes of their own: for code that crashes or that nothing but a signal can stop, for Pythons that
//! cannot run inside this process, and for more interpreters than fit into it.
//!
//! A worker talks over one socket, by [frames](frame) whose [values](codec) stand in a body; large tensors lie in files
//! without names, which are passed along and sealed before anybody reads them where they lie. There is nothing that two
//! processes lock, and the end of one is the end of the socket to the other.

mod codec;
mod frame;
mod helper;
mod interpreter;
mod process;
mod segment;
mod shared;

pub use interpreter::{Worker, WorkerLimits};
pub(crate) use shared::share;
