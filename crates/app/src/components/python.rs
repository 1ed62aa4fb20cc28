//! Components in Python, and where a package has the code of them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::{BindingPattern, Dependencies, Settings};
use crate::package::{Located, PackageFiles, Place};

/// The folder of an application package with Python in it.
const FOLDER: &str = "python";

/// What a component is, by the element that declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PythonKind {
    /// `component`: what its class says.
    Component,
    /// `handler`: answers requests.
    Handler,
    /// `searcher`
    Searcher,
    /// `documentprocessor`
    DocumentProcessor,
}

impl PythonKind {
    /// The element.
    #[must_use]
    pub fn element(self) -> &'static str {
        match self {
            PythonKind::Component => "component",
            PythonKind::Handler => "handler",
            PythonKind::Searcher => "searcher",
            PythonKind::DocumentProcessor => "documentprocessor",
        }
    }
}

/// A class: `module:Class`. The first part of the module's name is that of its package.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PythonClass {
    /// The module, with dots.
    pub module: String,
    /// The class in it.
    pub class: String,
}

/// Why a text names no class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected python=\"module:Class\", found {0:?}")]
pub struct ClassError(pub String);

impl PythonClass {
    /// Reads `module:Class`.
    ///
    /// # Errors
    /// [`ClassError`].
    pub fn parse(text: &str) -> Result<PythonClass, ClassError> {
        let (module, class) = text.split_once(':').unwrap_or_default();
        let is_name = |name: &str| name.split('.').all(is_identifier);
        match is_name(module) && is_name(class) {
            true => Ok(PythonClass { module: module.to_owned(), class: class.to_owned() }),
            false => Err(ClassError(text.to_owned())),
        }
    }

    /// The package that it is of: `python/<package>.pkg`, `python/<package>/` or `python/<package>.py`.
    #[must_use]
    pub fn package(&self) -> &str {
        self.module.split('.').next().unwrap_or_default()
    }

    /// The name of the class without those around it.
    #[must_use]
    pub fn short(&self) -> &str {
        self.class.rsplit('.').next().unwrap_or_default()
    }
}

impl fmt::Display for PythonClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.module, self.class)
    }
}

/// Whether a text is a name in Python. Others than ASCII are not: files have these names too.
fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A component in Python.
#[derive(Debug, Clone, PartialEq)]
pub struct PythonComponent {
    /// Its id, `name@chain` of one that is declared within a chain.
    pub id: String,
    /// The element that declares it.
    pub kind: PythonKind,
    /// Its class.
    pub class: PythonClass,
    /// What it is given.
    pub settings: Vec<Settings>,
    /// The requests that it gets, of a handler.
    pub bindings: Vec<Located<BindingPattern>>,
    /// Where it stands in chains, as far as services.xml says; its class may say more.
    pub dependencies: Dependencies,
    /// Where it is written.
    pub place: Place,
}

/// Where a package runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Inside the server, where that can be.
    #[default]
    InProcess,
    /// In processes of its own.
    Process,
}

/// How Python is run: the element `python` of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonOptions {
    /// How long a request may take in all, waiting for an interpreter too.
    pub timeout: Duration,
    /// How long all components together may take to be created.
    pub start_timeout: Duration,
    /// What packages want that is not usual.
    pub packages: Vec<PythonPackage>,
}

impl Default for PythonOptions {
    fn default() -> PythonOptions {
        PythonOptions {
            timeout: Duration::from_secs(10),
            start_timeout: Duration::from_secs(120),
            packages: Vec::new(),
        }
    }
}

/// What a package wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonPackage {
    /// The package.
    pub name: String,
    /// Where it runs.
    pub isolation: Isolation,
    /// The name of a virtual environment of the server; the server's own Python if it names none.
    pub environment: Option<String>,
    /// Where it is written.
    pub place: Place,
}

/// The code of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PythonSource {
    /// `python/<name>.pkg`, which `stead_package` wrote.
    Archive(String),
    /// The sources in `python/<name>/`, or the one that is `python/<name>.py`: the paths of the files.
    Sources(Vec<String>),
}

/// The packages in the folder `python`, by their names. What lies there under other names is for the packages to read.
#[must_use]
pub fn python_packages(files: &PackageFiles) -> BTreeMap<String, Vec<PythonSource>> {
    let mut sources: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut found: BTreeMap<String, Vec<PythonSource>> = BTreeMap::new();
    for path in files.below(FOLDER) {
        let Some(rest) = path.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/')) else {
            continue;
        };
        if let Some((folder, _)) = rest.split_once('/') {
            if is_identifier(folder) && path.ends_with(".py") {
                sources.entry(folder).or_default().push(path.to_owned());
            }
        } else if let Some((name, end)) = rest.rsplit_once('.')
            && is_identifier(name)
        {
            let source = match end {
                "pkg" => PythonSource::Archive(path.to_owned()),
                "py" => PythonSource::Sources(vec![path.to_owned()]),
                _ => continue,
            };
            found.entry(name.to_owned()).or_default().push(source);
        }
    }
    for (name, paths) in sources {
        found.entry(name.to_owned()).or_default().push(PythonSource::Sources(paths));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_a_module_and_a_name() {
        for (text, expected) in [
            ("shop:Rank", Some(("shop", "shop", "Rank"))),
            ("shop.rank.late:Outer.Inner", Some(("shop", "shop.rank.late", "Inner"))),
            ("_a1:B_2", Some(("_a1", "_a1", "B_2"))),
            ("", None),
            ("shop", None),
            ("shop:", None),
            (":Rank", None),
            ("shop:Rank:x", None),
            ("shop-x:Rank", None),
            ("1shop:Rank", None),
            ("shop.:Rank", None),
            ("../shop:Rank", None),
            ("sh\u{f6}p:Rank", None),
        ] {
            let class = PythonClass::parse(text);
            let found = class.as_ref().ok().map(|c| (c.package(), c.module.as_str(), c.short()));
            assert_eq!(found, expected, "{text}");
        }
        let error = PythonClass::parse("shop").unwrap_err().to_string();
        assert_eq!(error, "expected python=\"module:Class\", found \"shop\"");
    }

    #[test]
    fn packages_are_archives_folders_and_modules() {
        let files = [
            ("python/a.pkg", ""),
            ("python/b/__init__.py", ""),
            ("python/b/deep/er.py", ""),
            ("python/b/data.json", ""),
            ("python/c.py", ""),
            ("python/d.py", ""),
            ("python/d/x.py", ""),
            ("python/not-a-name.py", ""),
            ("python/readme.md", ""),
            ("python/only-data/x.py", ""),
            ("services.xml", ""),
        ];
        let found = python_packages(&PackageFiles::from_texts(files).unwrap());
        let sources =
            |paths: &[&str]| PythonSource::Sources(paths.iter().map(|p| (*p).to_owned()).collect());
        let expected = [
            ("a", vec![PythonSource::Archive("python/a.pkg".to_owned())]),
            ("b", vec![sources(&["python/b/__init__.py", "python/b/deep/er.py"])]),
            ("c", vec![sources(&["python/c.py"])]),
            ("d", vec![sources(&["python/d.py"]), sources(&["python/d/x.py"])]),
        ];
        let expected = expected.map(|(name, list)| (name.to_owned(), list));
        assert_eq!(found, BTreeMap::from(expected));
    }
}
