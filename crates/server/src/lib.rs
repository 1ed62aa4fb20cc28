//! stead-server
