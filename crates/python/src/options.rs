//! How interpreters are started.

/// How an interpreter is started, wherever it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StartOptions {
    /// The most interpreters inside this process; as many as there is room for, without it.
    pub limit: Option<usize>,
    /// Variables of its environment, beside those of this process: numbers of threads of BLAS libraries.
    pub variables: Vec<(String, String)>,
}
