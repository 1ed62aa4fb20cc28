//! How interpreters are started.

use std::path::PathBuf;

/// The variable by which an interpreter is told the folders of its [`StartOptions`]; `bootstrap.py` removes it.
const FOLDERS: &str = "STEAD_PYTHON_FOLDERS";

/// How an interpreter is started, wherever it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StartOptions {
    /// The most interpreters inside this process; as many as there is room for, without it.
    pub limit: Option<usize>,
    /// Variables of its environment, beside those of this process: numbers of threads of BLAS libraries.
    pub variables: Vec<(String, String)>,
    /// Folders with modules that are found before those that are installed, such as
    /// [unpacked distributions](crate::unpack_bundles).
    pub folders: Vec<PathBuf>,
}

impl StartOptions {
    /// The variables that an interpreter is started with. Interpreters with the same ones can stand for each other.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let mut variables = self.variables.clone();
        if !self.folders.is_empty() {
            let folders: Vec<_> = self.folders.iter().map(|f| f.to_string_lossy()).collect();
            variables.push((FOLDERS.to_owned(), folders.join("\n")));
        }
        variables
    }
}
