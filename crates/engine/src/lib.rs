//! stead-engine
