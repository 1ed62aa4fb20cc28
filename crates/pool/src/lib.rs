//! stead-pool
