//! stead-app
