//! Types from text: `double`, `tensor(x{},y[3])`, `tensor<float>(x[128])`.

use super::{CELL_TYPES, CellType, Dimension, TensorType, TypeError};
use crate::reader::Reader;

/// Reads a type; spaces may stand between its parts.
///
/// # Errors
/// When the text is no type, with what was found and what was expected.
pub fn parse_type(text: &str) -> Result<TensorType, TypeError> {
    let mut reader = Reader { text, at: 0 };
    let found = read_type(&mut reader)?;
    if reader.rest().is_empty() {
        return Ok(found);
    }
    Err(unexpected(&mut reader, "the end of the type"))
}

/// A type from where the reader stands in a longer text.
pub(crate) fn read_type(reader: &mut Reader<'_>) -> Result<TensorType, TypeError> {
    match reader.word() {
        "double" => Ok(TensorType::double()),
        "tensor" => tensor(reader),
        _ => Err(unexpected(reader, "a type such as tensor<float>(x[3])")),
    }
}

/// What follows the word `tensor`.
fn tensor(reader: &mut Reader<'_>) -> Result<TensorType, TypeError> {
    let mut cell = CellType::Double;
    if reader.take("<") {
        let name = reader.word();
        let names = || CELL_TYPES.map(|(_, n)| n).join(", ");
        cell = CellType::from_name(name)
            .ok_or_else(|| TypeError::CellType { found: name.to_owned(), known: names() })?;
        expect(reader, ">", "> after the cell type")?;
    }
    expect(reader, "(", "( before the dimensions")?;
    let mut dimensions = Vec::new();
    if !reader.take(")") {
        loop {
            dimensions.push(dimension(reader)?);
            if reader.take(")") {
                break;
            }
            expect(reader, ",", ", or ) after a dimension")?;
        }
    }
    TensorType::new(cell, dimensions)
}

fn dimension(reader: &mut Reader<'_>) -> Result<Dimension, TypeError> {
    let name = reader.word();
    if name.is_empty() {
        return Err(unexpected(reader, "the name of a dimension"));
    }
    if reader.take("{") {
        expect(reader, "}", "} after {")?;
        return Ok(Dimension::mapped(name));
    }
    expect(reader, "[", "{} or [size] after the name of a dimension")?;
    if reader.take("]") {
        return Ok(Dimension::unbound(name));
    }
    let Ok(size) = reader.word().parse() else {
        return Err(unexpected(reader, "the size of an indexed dimension"));
    };
    expect(reader, "]", "] after the size")?;
    Ok(Dimension::indexed(name, size))
}

fn expect(reader: &mut Reader<'_>, sign: &str, expected: &'static str) -> Result<(), TypeError> {
    if reader.take(sign) { Ok(()) } else { Err(unexpected(reader, expected)) }
}

fn unexpected(reader: &mut Reader<'_>, expected: &'static str) -> TypeError {
    let found: String = reader.rest().chars().take(20).collect();
    TypeError::Text { found, expected }
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
            ("tensor<float>(y[3],x[ ])", "tensor<float>(x[],y[3])"),
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
                "unknown cell type real; known are double, float, bfloat16, int8, float16, int16, int32, int64, uint8, bool",
            ),
            ("tensor(x)", "expected {} or [size] after the name of a dimension, found \")\""),
            ("tensor(x[-1])", "expected the size of an indexed dimension, found \"-1])\""),
            ("tensor(x[],x[2])", "dimension x stands twice"),
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
            (
                "tensor(x[4294967296],y[4294967296])",
                "a block is larger than 67108864 cells at dimension x",
            ),
            (
                "tensor(a[67108864],b{},c[9223372036854775807],d[18446744073709551615])",
                "a block is larger than 67108864 cells at dimension c",
            ),
            ("double x", "expected the end of the type, found \"x\""),
        ] {
            assert_eq!(parse_type(text).unwrap_err().to_string(), message, "{text}");
        }
    }
}
