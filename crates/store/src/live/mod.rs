//! Documents that change while they are read.
//!
//! A [`Collection`] has one writer and many readers. Documents lie in [blocks](Block) of a power of two of rows; a block has a
//! [column](crate::Column) for each attribute, so that ranking reads them in place. A document is known within the process
//! by its number (`lid`, from *local id*): the number of its block and its row in it, in one number. It keeps it while it lives; that
//! of a removed document is given to a new one, the lowest first.
//!
//! Readers have a [`View`]: all documents as they were at a moment. To take one costs a few instructions, to keep it costs
//! the memory of what has changed since. The writer copies the columns of a block that a view still has before it changes them,
//! and [publishes](Collection::publish) what it has changed as the next view. Of what lies on disk it reads nothing: what changes is in
//! memory beside it, until a snapshot has both as one.

mod block;
mod bodies;
mod chunked;
mod collection;
mod cursor;
mod directory;
mod far;
mod fetched;
mod graphs;
mod group;
mod imports;
mod index;
mod locations;
mod places;
mod streamed;
mod texts;
mod vectors;
mod view;

pub use block::Block;
pub(crate) use bodies::Bodies;
pub(crate) use collection::Replaced;
pub use collection::{Collection, Reader};
pub use cursor::Cursor;
pub(crate) use directory::Directory;
pub(crate) use fetched::Fetched;
pub use fetched::FieldReader;
pub(crate) use group::{Changes, GROUP, Group};
pub use imports::Imports;
pub use index::Index;
pub use locations::Location;
pub use streamed::Streamed;
pub use texts::{TextMerge, TextMerged};
pub use view::{AttributeView, View};
