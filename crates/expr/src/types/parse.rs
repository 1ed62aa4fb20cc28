//! Types from text: `double`, `tensor(x{},y[3])`, `tensor<float>(x[128])`.

use super::{CELL_TYPES, CellType, Dimension, TensorType, TypeError};

/// Reads a type; spaces may stand between its parts.
///
/// # Errors
/// When the text is no type, with what was found and what was expected.
pub fn parse_type(text: &str) -> Result<TensorType, TypeError> {
    let mut reader = TypeReader { text, at: 0 };
    let found = reader.read()?;
    reader.spaces();
    match reader.rest().chars().next() {
        None => Ok(found),
        Some(_) => Err(reader.unexpected("the end of the type")),
    }
}

/// Whether a byte may stand in a name of a dimension, or of anything else that is not quoted.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Reads types out of a longer text.
pub(crate) struct TypeReader<'t> {
    pub(crate) text: &'t str,
    /// The byte at which it stands.
    pub(crate) at: usize,
}

impl<'t> TypeReader<'t> {
    /// A type from where it stands.
    pub(crate) fn read(&mut self) -> Result<TensorType, TypeError> {
        match self.name() {
            "double" => Ok(TensorType::double()),
            "tensor" => self.tensor(),
            _ => Err(self.unexpected("a type such as tensor<float>(x[3])")),
        }
    }

    /// What follows the word `tensor`.
    fn tensor(&mut self) -> Result<TensorType, TypeError> {
        let mut cell = CellType::Double;
        if self.take(b'<') {
            let name = self.name();
            let names = || CELL_TYPES.map(|(_, n)| n).join(", ");
            cell = CellType::from_name(name)
                .ok_or_else(|| TypeError::CellType { found: name.to_owned(), known: names() })?;
            self.expect(b'>', "> after the cell type")?;
        }
        self.expect(b'(', "( before the dimensions")?;
        let mut dimensions = Vec::new();
        if !self.take(b')') {
            loop {
                dimensions.push(self.dimension()?);
                if self.take(b')') {
                    break;
                }
                self.expect(b',', ", or ) after a dimension")?;
            }
        }
        TensorType::new(cell, dimensions)
    }

    fn dimension(&mut self) -> Result<Dimension, TypeError> {
        let name = self.name();
        if name.is_empty() {
            return Err(self.unexpected("the name of a dimension"));
        }
        if self.take(b'{') {
            self.expect(b'}', "} after {")?;
            return Ok(Dimension::mapped(name));
        }
        self.expect(b'[', "{} or [size] after the name of a dimension")?;
        let digits = self.name();
        let Ok(size) = digits.parse() else {
            return Err(self.unexpected("the size of an indexed dimension"));
        };
        self.expect(b']', "] after the size")?;
        Ok(Dimension::indexed(name, size))
    }

    /// The letters, digits and underscores from where it stands, after spaces.
    pub(crate) fn name(&mut self) -> &'t str {
        self.spaces();
        let rest = self.rest();
        let end = rest.bytes().position(|b| !is_name_byte(b)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    pub(crate) fn take(&mut self, byte: u8) -> bool {
        self.spaces();
        let is_there = self.rest().as_bytes().first() == Some(&byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), TypeError> {
        if self.take(byte) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_ascii_start().len();
    }

    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn unexpected(&self, expected: &'static str) -> TypeError {
        let found: String = self.rest().chars().take(20).collect();
        TypeError::Text { found, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::parse_type;

    #[test]
    fn types_are_printed_as_they_are_written() {
        for (text, printed) in [
            ("double", "double"),
            ("tensor()", "double"),
            ("tensor<float>()", "double"),
            ("tensor(x{})", "tensor(x{})"),
            ("tensor<double>(x[3])", "tensor(x[3])"),
            ("tensor<float>(y[3],x{})", "tensor<float>(x{},y[3])"),
            (" tensor < int8 > ( x [ 16 ] , y { } ) ", "tensor<int8>(x[16],y{})"),
        ] {
            assert_eq!(parse_type(text).map(|t| t.to_string()), Ok(printed.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_no_type_is_refused_with_what_was_expected() {
        for (text, message) in [
            ("tensor", "expected ( before the dimensions, found the end"),
            (
                "tensor<real>(x{})",
                "unknown cell type real; known are double, float, bfloat16, int8",
            ),
            ("tensor(x)", "expected {} or [size] after the name of a dimension, found \")\""),
            ("tensor(x[])", "expected the size of an indexed dimension, found \"])\""),
            ("tensor(x[0])", "dimension x has size 0"),
            ("tensor(x{},x[2])", "dimension x stands twice"),
            (
                "tensor(x[99999999999999999999])",
                "expected the size of an indexed dimension, found \"])\"",
            ),
            (
                "tensor(x[1000000],y[1000000])",
                "a block is larger than 67108864 cells at dimension y",
            ),
            ("double x", "expected the end of the type, found \"x\""),
        ] {
            assert_eq!(parse_type(text).unwrap_err().to_string(), message, "{text}");
        }
    }
}
