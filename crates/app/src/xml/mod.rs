//! XML to a tree of elements with places, within limits. Document types and entities of their own are refused, so that
//! a short file stays short.

mod preprocess;
mod read;
mod tree;

pub use preprocess::preprocess;
pub use read::{MAX_XML, parse_xml};
pub use tree::XmlElement;
