//! Where in a package something stands.

use std::fmt;
use std::sync::Arc;

/// A place in a file of a package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The path from the root of the package.
    pub file: Arc<str>,
    /// From 1; 0 means the file as a whole.
    pub line: u32,
    /// Characters from the beginning of the line, from 1.
    pub column: u32,
}

impl Place {
    /// A file as a whole.
    #[must_use]
    pub fn file(path: &str) -> Place {
        Place { file: path.into(), line: 0, column: 0 }
    }

    /// The place of a line and column within a text that begins here, both from 1.
    #[must_use]
    pub fn within(&self, line: usize, column: usize) -> Place {
        let (line, column) = (line.max(1) as u32, column as u32);
        let column = if line == 1 { self.column.saturating_add(column - 1) } else { column };
        Place { file: self.file.clone(), line: self.line.saturating_add(line - 1), column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file),
            line => write!(f, "{}:{line}:{}", self.file, self.column),
        }
    }
}

/// A value with the place where it is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Located<T> {
    /// What is written.
    pub value: T,
    /// Where.
    pub place: Place,
}

impl<T> Located<T> {
    /// A value at a place.
    #[must_use]
    pub fn new(value: T, place: Place) -> Located<T> {
        Located { value, place }
    }
}

impl<T> std::ops::Deref for Located<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn places_within_a_text_continue_its_first_line() {
        let from = Place { file: "schemas/a.sd".into(), line: 10, column: 21 };
        for (line, column, expected) in
            [(1, 1, "10:21"), (1, 5, "10:25"), (2, 3, "11:3"), (0, 1, "10:21")]
        {
            let place = from.within(line, column).to_string();
            assert_eq!(place, format!("schemas/a.sd:{expected}"));
        }
        assert_eq!(Place::file("services.xml").to_string(), "services.xml");
    }
}
