//! Documents that survive a crash: collections, and one log of everything that was done with them.
//!
//! An operation is resolved when it is [submitted](Store::submit): its condition is decided and an update becomes the values of the
//! fields that it changes, by what all operations before it leave behind. What it resolves to is a record of the log. When the
//! log says that a group of records is durable, they are applied in their order, the collections are published once, and then
//! whoever submitted them is told. So readers see a prefix of the log that is durable, and whoever was told sees his own
//! operation. Applying a record knows no clock and no chance: the same log leads to the same documents.
//! [Snapshots](snapshot) of the documents are written in the background, and the log is cut behind them.

mod expiry;
mod ids;
mod journal;
mod known;
mod open;
mod options;
mod record;
mod resolve;
mod room;
mod snapshot;
mod store;
mod submit;
mod verify;
mod writer;

pub use expiry::{Expired, ExpiryScan};
pub use options::{SnapshotOptions, StoreOptions};
pub use record::RecordError;
pub use room::RoomOptions;
pub use snapshot::{CheckedSnapshot, SnapshotStats};
pub use store::{Outcome, Store};
pub use verify::{Verified, stored_bytes, verify};
