//! stead
fn main() {}
