//! npy and npz files.
