//! The attributes of a node and typed access to them.

use crate::{Graph, OnnxError, ValueType, error::quote};
use std::fmt;
use stead_tensor::Tensor;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    /// `f`.
    Float(f32),
    /// `i`.
    Int(i64),
    /// `s`: bytes, UTF-8 by convention.
    String(Vec<u8>),
    /// `t`.
    Tensor(Tensor),
    /// `g`.
    Graph(Graph),
    /// `sparse_tensor`, stored dense.
    SparseTensor(Tensor),
    /// `tp`.
    Type(ValueType),
    /// `floats`.
    Floats(Vec<f32>),
    /// `ints`.
    Ints(Vec<i64>),
    /// `strings`.
    Strings(Vec<Vec<u8>>),
    /// `tensors`.
    Tensors(Vec<Tensor>),
    /// `graphs`.
    Graphs(Vec<Graph>),
    /// `sparse_tensors`, stored dense.
    SparseTensors(Vec<Tensor>),
    /// `type_protos`.
    Types(Vec<ValueType>),
    /// Inside a function: the value of this attribute of the calling node.
    Ref {
        /// The attribute of the call.
        name: String,
        /// What kind of value it has.
        kind: AttributeKind,
    },
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = ($number:literal, $name:literal),)*) => {
        /// The kinds of attribute.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum AttributeKind { $($(#[$doc])* $kind,)* }

        impl AttributeKind {
            /// The kind with this number in `AttributeProto.AttributeType`.
            pub const fn from_onnx_number(number: i32) -> Option<AttributeKind> {
                match number { $($number => Some(AttributeKind::$kind),)* _ => None }
            }

            /// The number of this kind in `AttributeProto.AttributeType`.
            pub const fn onnx_number(self) -> i32 {
                match self { $(AttributeKind::$kind => $number,)* }
            }
        }

        impl fmt::Display for AttributeKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(AttributeKind::$kind => $name,)* })
            }
        }

        impl AttributeValue {
            /// The kind of this value; for a reference the kind that it stands for.
            pub const fn kind(&self) -> AttributeKind {
                match self {
                    $(AttributeValue::$kind { .. } => AttributeKind::$kind,)*
                    AttributeValue::Ref { kind, .. } => *kind,
                }
            }
        }
    };
}

kinds! {
    /// One `f32`.
    Float = (1, "float"),
    /// One `i64`.
    Int = (2, "int"),
    /// One string.
    String = (3, "string"),
    /// One tensor.
    Tensor = (4, "tensor"),
    /// One graph.
    Graph = (5, "graph"),
    /// A list of `f32`.
    Floats = (6, "list of floats"),
    /// A list of `i64`.
    Ints = (7, "list of ints"),
    /// A list of strings.
    Strings = (8, "list of strings"),
    /// A list of tensors.
    Tensors = (9, "list of tensors"),
    /// A list of graphs.
    Graphs = (10, "list of graphs"),
    /// One sparse tensor.
    SparseTensor = (11, "sparse tensor"),
    /// A list of sparse tensors.
    SparseTensors = (12, "list of sparse tensors"),
    /// One type.
    Type = (13, "type"),
    /// A list of types.
    Types = (14, "list of types"),
}

impl AttributeValue {
    /// The graphs in this value, of which most values have none.
    pub fn graphs(&self) -> &[Graph] {
        match self {
            AttributeValue::Graph(graph) => std::slice::from_ref(graph),
            AttributeValue::Graphs(graphs) => graphs,
            _ => &[],
        }
    }

    /// The graphs in this value, to be changed.
    pub fn graphs_mut(&mut self) -> &mut [Graph] {
        match self {
            AttributeValue::Graph(graph) => std::slice::from_mut(graph),
            AttributeValue::Graphs(graphs) => graphs,
            _ => &mut [],
        }
    }
}

/// The attributes of one node in file order.
///
/// The getters return `Ok(None)` for an attribute that the node does not have and an error that names node
/// and attribute for one of another kind.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes {
    node: String,
    entries: Vec<(String, AttributeValue)>,
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $kind:ident, $value:pat => $get:expr, $ty:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// [`OnnxError::AttributeKind`] when it is of another kind.
        pub fn $name(&self, name: &str) -> Result<Option<$ty>, OnnxError> {
            match self.get(name) {
                None => Ok(None),
                Some(AttributeValue::$kind($value)) => Ok(Some($get)),
                Some(other) => Err(self.wrong_kind(name, AttributeKind::$kind, other)),
            }
        }
    )*};
}

impl Attributes {
    /// No attributes, of the node that messages shall call `node` (see [`Node::label`](crate::Node::label)).
    pub const fn of(node: String) -> Attributes {
        Attributes { node, entries: Vec::new() }
    }

    /// The value of an attribute of whatever kind.
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.entries.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Whether there is an attribute of this name.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets an attribute and returns the value that it had.
    pub fn set(&mut self, name: &str, value: AttributeValue) -> Option<AttributeValue> {
        match self.entries.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => Some(std::mem::replace(old, value)),
            None => {
                self.entries.push((name.to_owned(), value));
                None
            }
        }
    }

    /// Removes an attribute and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<AttributeValue> {
        let at = self.entries.iter().position(|(n, _)| n == name)?;
        Some(self.entries.remove(at).1)
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AttributeValue)> {
        self.entries.iter().map(|(n, v)| (n.as_str(), v))
    }

    /// Names and values, the values to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut AttributeValue)> {
        self.entries.iter_mut().map(|(n, v)| (n.as_str(), v))
    }

    /// The number of attributes.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    getters! {
        /// An integer.
        int: Int, v => *v, i64;
        /// A float.
        float: Float, v => *v, f32;
        /// The bytes of a string.
        bytes: String, v => v.as_slice(), &[u8];
        /// A tensor.
        tensor: Tensor, v => v, &Tensor;
        /// A sparse tensor, stored dense.
        sparse_tensor: SparseTensor, v => v, &Tensor;
        /// A graph.
        graph: Graph, v => v, &Graph;
        /// A type.
        type_proto: Type, v => v, &ValueType;
        /// A list of integers.
        ints: Ints, v => v.as_slice(), &[i64];
        /// A list of floats.
        floats: Floats, v => v.as_slice(), &[f32];
        /// A list of strings as bytes.
        bytes_list: Strings, v => v.as_slice(), &[Vec<u8>];
        /// A list of tensors.
        tensors: Tensors, v => v.as_slice(), &[Tensor];
        /// A list of graphs.
        graphs: Graphs, v => v.as_slice(), &[Graph];
        /// A list of types.
        types: Types, v => v.as_slice(), &[ValueType];
    }

    /// A string.
    ///
    /// # Errors
    /// [`OnnxError::AttributeKind`] when it is of another kind, [`OnnxError::AttributeUtf8`] when it is not
    /// UTF-8.
    pub fn string(&self, name: &str) -> Result<Option<&str>, OnnxError> {
        self.bytes(name)?.map(|bytes| self.utf8(name, bytes)).transpose()
    }

    /// A list of strings.
    ///
    /// # Errors
    /// As [`string`](Self::string).
    pub fn strings(&self, name: &str) -> Result<Option<Vec<&str>>, OnnxError> {
        let Some(list) = self.bytes_list(name)? else { return Ok(None) };
        list.iter().map(|bytes| self.utf8(name, bytes)).collect::<Result<_, _>>().map(Some)
    }

    /// An integer, or `default`.
    ///
    /// # Errors
    /// As [`int`](Self::int).
    pub fn int_or(&self, name: &str, default: i64) -> Result<i64, OnnxError> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    /// A float, or `default`.
    ///
    /// # Errors
    /// As [`float`](Self::float).
    pub fn float_or(&self, name: &str, default: f32) -> Result<f32, OnnxError> {
        Ok(self.float(name)?.unwrap_or(default))
    }

    /// A string, or `default`.
    ///
    /// # Errors
    /// As [`string`](Self::string).
    pub fn string_or<'a>(&'a self, name: &str, default: &'a str) -> Result<&'a str, OnnxError> {
        Ok(self.string(name)?.unwrap_or(default))
    }

    /// An integer that is 0 or 1 in the file, or `default`.
    ///
    /// # Errors
    /// As [`int`](Self::int).
    pub fn bool_or(&self, name: &str, default: bool) -> Result<bool, OnnxError> {
        Ok(self.int(name)?.map_or(default, |v| v != 0))
    }

    /// Changes what messages call the node.
    pub(crate) fn set_label(&mut self, node: String) {
        self.node = node;
    }

    /// The error for a required attribute that is absent.
    pub fn missing(&self, name: &str) -> OnnxError {
        OnnxError::AttributeMissing { node: self.node.clone(), attribute: name.to_owned() }
    }

    fn utf8<'a>(&self, name: &str, bytes: &'a [u8]) -> Result<&'a str, OnnxError> {
        std::str::from_utf8(bytes).map_err(|_| OnnxError::AttributeUtf8 {
            node: self.node.clone(),
            attribute: quote(name),
        })
    }

    fn wrong_kind(&self, name: &str, expected: AttributeKind, got: &AttributeValue) -> OnnxError {
        OnnxError::AttributeKind {
            node: self.node.clone(),
            attribute: name.to_owned(),
            expected,
            actual: got.kind(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn getters_tell_absent_from_wrong() {
        let mut attributes = Attributes::of("Concat node \"c\"".to_owned());
        assert_eq!(attributes.set("axis", AttributeValue::Int(1)), None);
        assert_eq!(attributes.int("axis"), Ok(Some(1)));
        assert_eq!(attributes.int("other"), Ok(None));
        assert_eq!(attributes.int_or("other", 7), Ok(7));
        assert_eq!(
            attributes.ints("axis").unwrap_err().to_string(),
            "Concat node \"c\": attribute \"axis\": list of ints expected, got int"
        );
        attributes.set("mode", AttributeValue::String(vec![0xff]));
        assert!(matches!(attributes.string("mode"), Err(OnnxError::AttributeUtf8 { .. })));
    }

    #[test]
    fn kinds_have_the_numbers_of_the_format() {
        for number in 1..=14 {
            let kind = AttributeKind::from_onnx_number(number);
            assert_eq!(kind.map(AttributeKind::onnx_number), Some(number));
        }
        assert_eq!(AttributeKind::from_onnx_number(0), None);
    }
}
