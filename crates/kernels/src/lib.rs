//! stead-kernels
#![no_std]
