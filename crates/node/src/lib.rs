//! stead-node
