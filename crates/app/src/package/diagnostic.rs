//! What is wrong with a package, all of it and not the first only.

use std::fmt;

use super::Place;

/// The most errors and warnings that are kept: nobody reads more, and a hostile file has no end of them.
pub const MAX_DIAGNOSTICS: usize = 200;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The package cannot be used.
    Error,
    /// The package can be used, but something in it has no effect or another one than its author may think.
    Warning,
}

/// Something to tell about a package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Diagnostic {
    /// Where.
    pub place: Place,
    /// How bad it is.
    pub severity: Severity,
    /// What was found and what was expected.
    pub text: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.severity == Severity::Warning { "warning: " } else { "" };
        write!(f, "{}: {kind}{}", self.place, self.text)
    }
}

/// All that there is to tell, in the order in which it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    list: Vec<Diagnostic>,
    errors: usize,
    omitted: usize,
}

impl Report {
    /// Adds an error.
    pub fn error(&mut self, place: &Place, text: impl Into<String>) {
        self.errors += 1;
        self.add(place, Severity::Error, text.into());
    }

    /// Adds a warning.
    pub fn warning(&mut self, place: &Place, text: impl Into<String>) {
        self.add(place, Severity::Warning, text.into());
    }

    fn add(&mut self, place: &Place, severity: Severity, text: String) {
        let diagnostic = Diagnostic { place: place.clone(), severity, text };
        if self.list.len() >= MAX_DIAGNOSTICS {
            self.omitted += 1;
        } else if !self.list.contains(&diagnostic) {
            self.list.push(diagnostic);
        }
    }

    /// Adds all of another report.
    pub fn append(&mut self, other: Report) {
        for diagnostic in other.list {
            self.errors += usize::from(diagnostic.severity == Severity::Error);
            self.add(&diagnostic.place, diagnostic.severity, diagnostic.text);
        }
        self.omitted += other.omitted;
    }

    /// Whether the package cannot be used.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether no more will be kept.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.list.len() >= MAX_DIAGNOSTICS
    }

    /// How many were found beyond those that are kept.
    #[must_use]
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// All that is kept.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.list
    }

    /// The errors among them.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter().filter(|d| d.severity == Severity::Error)
    }

    /// The warnings among them.
    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter().filter(|d| d.severity == Severity::Warning)
    }

    /// Sorts by file and place, errors and warnings together.
    pub fn sort(&mut self) {
        self.list.sort();
    }
}
