//! Types of fields, inputs and constants.

use std::fmt;

use stead_expr::{TensorType, parse_type};

use super::reader::{Fault, Reader};

/// How deep types may hold types. Vespa's own go to three.
const MAX_DEPTH: usize = 8;

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// `bool`
    Bool,
    /// `byte`
    Byte,
    /// `int`
    Int,
    /// `long`
    Long,
    /// `float16`
    Float16,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `string`
    String,
    /// `raw`
    Raw,
    /// `uri`
    Uri,
    /// `position`
    Position,
    /// `predicate`
    Predicate,
    /// `array<T>`
    Array(Box<FieldType>),
    /// `weightedset<T>`
    WeightedSet(Box<FieldType>),
    /// `map<K,V>`
    Map(Box<FieldType>, Box<FieldType>),
    /// `tensor<float>(x[3])`
    Tensor(TensorType),
    /// `reference<document>`
    Reference(String),
    /// A struct by its name, or a document.
    Named(String),
}

/// The types that are one word.
const WORDS: [(&str, FieldType); 12] = [
    ("bool", FieldType::Bool),
    ("byte", FieldType::Byte),
    ("int", FieldType::Int),
    ("long", FieldType::Long),
    ("float16", FieldType::Float16),
    ("float", FieldType::Float),
    ("double", FieldType::Double),
    ("string", FieldType::String),
    ("raw", FieldType::Raw),
    ("uri", FieldType::Uri),
    ("position", FieldType::Position),
    ("predicate", FieldType::Predicate),
];

impl FieldType {
    /// Whether it is a number, `bool` among them.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(
            self,
            FieldType::Bool
                | FieldType::Byte
                | FieldType::Int
                | FieldType::Long
                | FieldType::Float16
                | FieldType::Float
                | FieldType::Double
        )
    }

    /// The type of the elements of an array or weighted set; of anything else the type itself.
    #[must_use]
    pub fn element(&self) -> &FieldType {
        match self {
            FieldType::Array(of) | FieldType::WeightedSet(of) => of,
            other => other,
        }
    }

    /// The tensor type, if it is one.
    #[must_use]
    pub fn tensor(&self) -> Option<&TensorType> {
        match self {
            FieldType::Tensor(kind) => Some(kind),
            _ => None,
        }
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldType::Array(of) => write!(f, "array<{of}>"),
            FieldType::WeightedSet(of) => write!(f, "weightedset<{of}>"),
            FieldType::Map(key, value) => write!(f, "map<{key},{value}>"),
            FieldType::Tensor(kind) if kind.is_double() => f.write_str("tensor()"),
            FieldType::Tensor(kind) => write!(f, "{kind}"),
            FieldType::Reference(name) => write!(f, "reference<{name}>"),
            FieldType::Named(name) => f.write_str(name),
            word => f.write_str(WORDS.iter().find(|(_, w)| w == word).map_or("", |(n, _)| n)),
        }
    }
}

/// Reads a type on this line.
pub(crate) fn read_type(reader: &mut Reader<'_>) -> Result<FieldType, Fault> {
    nested(reader, 0)
}

fn nested(reader: &mut Reader<'_>, depth: usize) -> Result<FieldType, Fault> {
    if depth == MAX_DEPTH {
        return Err(Fault {
            at: reader.at,
            text: format!("expected a type with at most {MAX_DEPTH} types within each other"),
        });
    }
    let word = reader.expect_word("a type")?.value;
    let takes = |reader: &mut Reader<'_>, sign: &str| {
        let expected = format!("{sign} of {word}<...>");
        reader.expect(sign, &expected)
    };
    match word {
        "tensor" => {
            reader.at -= word.len();
            tensor(reader)
        }
        "array" | "weightedset" | "map" | "reference" if reader.take("<") => {
            let kind = match word {
                "reference" => {
                    let name = reader.expect_word("the name of a document")?;
                    FieldType::Reference(name.value.to_owned())
                }
                "map" => {
                    let key = nested(reader, depth + 1)?;
                    takes(reader, ",")?;
                    FieldType::Map(Box::new(key), Box::new(nested(reader, depth + 1)?))
                }
                "array" => FieldType::Array(Box::new(nested(reader, depth + 1)?)),
                _ => FieldType::WeightedSet(Box::new(nested(reader, depth + 1)?)),
            };
            takes(reader, ">")?;
            Ok(kind)
        }
        "annotationreference" => Err(Fault {
            at: reader.at - word.len(),
            text: "annotationreference is not supported: annotations of texts are not supported"
                .to_owned(),
        }),
        // A weighted set of texts as Vespa's first versions had it.
        "tag" => Ok(FieldType::WeightedSet(Box::new(FieldType::String))),
        _ => {
            let known = WORDS.iter().find(|(name, _)| *name == word);
            let kind = known.map_or_else(|| FieldType::Named(word.to_owned()), |(_, k)| k.clone());
            Ok(if reader.take("[]") { FieldType::Array(Box::new(kind)) } else { kind })
        }
    }
}

fn tensor(reader: &mut Reader<'_>) -> Result<FieldType, Fault> {
    let (at, rest) = (reader.at, reader.rest());
    let line = rest.lines().next().unwrap_or_default();
    let end = line.find(')').map_or(line.len(), |end| end + 1);
    match parse_type(&rest[..end]) {
        Ok(kind) => {
            reader.at += end;
            Ok(FieldType::Tensor(kind))
        }
        Err(error) => Err(Fault { at, text: error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Reader, read_type};

    #[test]
    fn types_are_read_as_they_are_printed() {
        for (text, printed) in [
            ("int", "int"),
            ("array<string>", "array<string>"),
            ("array < string >", "array<string>"),
            ("string[]", "array<string>"),
            ("map<string,array<int>>", "map<string,array<int>>"),
            ("weightedset<int>", "weightedset<int>"),
            ("tag", "weightedset<string>"),
            ("reference<campaign>", "reference<campaign>"),
            ("tensor<float>(y[3],x{})", "tensor<float>(x{},y[3])"),
            ("tensor()", "tensor()"),
            ("person", "person"),
            ("float16 {", "float16"),
        ] {
            let read = read_type(&mut Reader::new("a.sd", text));
            assert_eq!(read.map(|t| t.to_string()).unwrap(), printed, "{text}");
        }
    }

    #[test]
    fn what_is_no_type_is_refused() {
        let deep = format!("{}int{}", "array<".repeat(5000), ">".repeat(5000));
        for (text, at, message) in [
            ("", 0, "expected a type, found the end of the file"),
            ("3", 0, "expected a type, found \"3\""),
            ("array<int", 9, "expected > of array<...>, found the end of the file"),
            ("map<int>", 7, "expected , of map<...>, found \">\""),
            ("tensor(x[0])", 0, "dimension x has size 0"),
            (
                "annotationreference<a>",
                0,
                "annotationreference is not supported: annotations of texts are not supported",
            ),
            (deep.as_str(), 48, "expected a type with at most 8 types within each other"),
        ] {
            let fault = read_type(&mut Reader::new("a.sd", text)).unwrap_err();
            assert_eq!((fault.at, fault.text.as_str()), (at, message), "{text:.20}");
        }
    }
}
