//! Named expressions around models: what their inputs are made of, and what is made of their outputs.

use stead_expr::{CellType, Cells, Compiled, Dimension, Labels, Rate, TensorType, Value, compile};
use stead_search::models::converted;
use stead_search::request::SearchRequest;
use stead_store::{DataType, FieldValue};
use stead_tensor::DType;

use crate::components::native::{NativeError, Query};
use crate::evaluation::{Datum, Port};

/// An expression with a name: that of an input that it makes, or of a field or query tensor that it is for.
pub(super) struct Term {
    pub(super) name: String,
    expression: Compiled,
    /// What stands in the brackets of `field(..)`, for each value that it takes.
    arguments: Vec<String>,
}

impl Term {
    /// Compiles an expression of `word(name)`, such as `field(title)`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn new(
        name: &str,
        text: &str,
        word: &str,
        kind: &dyn Fn(&str) -> Result<TensorType, String>,
    ) -> Result<Term, String> {
        let argument = |known: &str| -> Option<String> {
            let inner = known.strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')')?;
            Some(inner.to_owned())
        };
        let scope = |known: &str| -> Option<(TensorType, Rate)> {
            Some((kind(&argument(known)?).ok()?, Rate::Query))
        };
        let wrong = |error: &dyn std::fmt::Display| format!("{name}: {text}: {error}");
        let expression = match compile(text, &scope) {
            Ok(expression) => expression,
            Err(error) => {
                // Why a name has no type says more than that it is unknown.
                let message = error.to_string();
                let unknown = message.split_once("unknown name ").map(|(_, known)| known);
                let reason = unknown.and_then(argument).and_then(|inner| kind(&inner).err());
                return Err(match reason {
                    Some(reason) => wrong(&reason),
                    None => wrong(&format_args!("{message}; it may name {word}(..)")),
                });
            }
        };
        let names = expression.names().iter();
        let arguments = names.filter_map(|known| argument(known)).collect();
        Ok(Term { name: name.to_owned(), expression, arguments })
    }

    /// The names that it takes values of.
    pub(super) fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// The type of its value.
    pub(super) fn kind(&self) -> &TensorType {
        self.expression.kind()
    }

    /// Its value; nothing where one that it takes is not there.
    pub(super) fn run(
        &self,
        value: &dyn Fn(&str) -> Result<Option<Value>, NativeError>,
    ) -> Result<Option<Value>, NativeError> {
        let mut values = Vec::with_capacity(self.arguments.len());
        for name in &self.arguments {
            match value(name)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        let given: Vec<&Value> = values.iter().collect();
        let found = self.expression.run(&given);
        found.map(Some).map_err(|error| NativeError::Failed(format!("{}: {error}", self.name)))
    }
}

/// The type that an input or output has in expressions: that of a function, or `d0`, `d1`, ... for the axes of a network.
///
/// # Errors
/// Elements that expressions do not have.
pub(super) fn port_type(port: &Port) -> Result<TensorType, String> {
    if let Some(kind) = &port.kind {
        return Ok(kind.clone());
    }
    let dimension = |(at, size): (usize, &i64)| match usize::try_from(*size) {
        Ok(size) => Dimension::indexed(&format!("d{at}"), size),
        Err(_) => Dimension::unbound(&format!("d{at}")),
    };
    if port.dtype == DType::String {
        return Err(format!("{} is of texts", port.name));
    }
    let dimensions = port.shape.iter().enumerate().map(dimension).collect();
    TensorType::new(cell(port.dtype), dimensions).map_err(|error| error.to_string())
}

fn cell(dtype: DType) -> CellType {
    match dtype {
        DType::F32 => CellType::Float,
        DType::BF16 => CellType::BFloat16,
        DType::I8 => CellType::Int8,
        _ => CellType::Double,
    }
}

/// What a model gave, as expressions have it.
///
/// # Errors
/// Elements that expressions do not have.
pub(super) fn datum_value(datum: Datum) -> Result<Value, NativeError> {
    let array = match datum {
        Datum::Value(value) => return Ok(value),
        Datum::Array(array) => array,
    };
    let failed = |text: String| NativeError::Failed(text);
    let dtype = array.dtype();
    let wide = converted(array.view(), DType::F64).map_err(failed)?;
    let numbers = wide.as_slice::<f64>().map_err(|e| failed(e.to_string()))?;
    let shape = array.shape();
    let sizes = shape.dims().iter().enumerate();
    let dimensions: Vec<Dimension> =
        sizes.map(|(at, size)| Dimension::indexed(&format!("d{at}"), *size)).collect();
    let cell = if dimensions.is_empty() { CellType::Double } else { cell(dtype) };
    let kind = TensorType::new(cell, dimensions).map_err(|e| failed(e.to_string()))?;
    let cells = Cells::from_numbers(kind.cell(), numbers);
    Value::new(kind, Labels::default(), cells).map_err(|e| failed(e.to_string()))
}

/// The type that a field has in expressions.
///
/// # Errors
/// Fields that are no numbers.
pub(super) fn field_kind(name: &str, of: &DataType) -> Result<TensorType, String> {
    match of {
        DataType::Tensor(kind) => Ok(kind.clone()),
        DataType::Array(of) if is_number(of) => {
            let dimensions = vec![Dimension::unbound("d0")];
            TensorType::new(CellType::Double, dimensions).map_err(|error| error.to_string())
        }
        of if is_number(of) => Ok(TensorType::double()),
        of => Err(format!(
            "field {name} is of the type {of}; expected a number, an array of numbers or a tensor"
        )),
    }
}

fn is_number(of: &DataType) -> bool {
    matches!(
        of,
        DataType::Bool
            | DataType::Byte
            | DataType::Int
            | DataType::Long
            | DataType::Float16
            | DataType::Float
            | DataType::Double
    )
}

/// A field as expressions have it.
pub(super) fn field_number(value: &FieldValue) -> Option<Value> {
    let number = |value: &FieldValue| match value {
        FieldValue::Bool(bit) => Some(f64::from(u8::from(*bit))),
        FieldValue::Integer(number) => Some(*number as f64),
        FieldValue::Number(number) => Some(*number),
        _ => None,
    };
    match value {
        FieldValue::Tensor(value) => Some(value.clone()),
        FieldValue::Array(list) => {
            let numbers: Vec<f64> = list.iter().map(number).collect::<Option<_>>()?;
            let dimensions = vec![Dimension::indexed("d0", numbers.len())];
            let kind = TensorType::new(CellType::Double, dimensions).ok()?;
            Value::new(kind, Labels::default(), Cells::Double(numbers.into())).ok()
        }
        one => number(one).map(Value::double),
    }
}

/// Whether a value of a type can become that of a field: the same dimensions, of the same sizes where both tell them.
///
/// # Errors
/// That it cannot.
pub(super) fn fits_field(name: &str, of: &DataType, kind: &TensorType) -> Result<(), String> {
    let target = field_kind(name, of)?;
    let is_list = matches!(of, DataType::Array(_));
    let (left, right) = (target.dimensions(), kind.dimensions());
    let is_same = |(a, b): (&Dimension, &Dimension)| {
        (is_list || a.name == b.name)
            && a.is_mapped() == b.is_mapped()
            && (a.size().is_none() || b.size().is_none() || a.size() == b.size())
    };
    match left.len() == right.len() && left.iter().zip(right).all(is_same) {
        true => Ok(()),
        false => {
            Err(format!("field {name} is of the type {of}, and its expression gives a {kind}"))
        }
    }
}

/// The value of a field from that of an expression, with cells or elements of its type.
///
/// # Errors
/// Sizes that do not fit.
pub(super) fn value_field(
    name: &str,
    of: &DataType,
    value: Value,
) -> Result<FieldValue, NativeError> {
    let failed = |text: String| NativeError::Failed(format!("field {name}: {text}"));
    let element = |of: &DataType, number: f64| match of {
        DataType::Bool => FieldValue::Bool(number != 0.0),
        DataType::Byte | DataType::Int | DataType::Long => {
            let (least, most) = of.integers();
            FieldValue::Integer((number.round() as i64).clamp(least, most))
        }
        of => FieldValue::Number(of.rounded(number)),
    };
    match of {
        DataType::Tensor(kind) => {
            let labels = Labels::hold(value.labels().to_vec());
            let cells = Cells::from_numbers(kind.cell(), &value.cells().doubles());
            let dimensions = value.kind().dimensions().to_vec();
            let found =
                TensorType::new(kind.cell(), dimensions).map_err(|e| failed(e.to_string()))?;
            if found != *kind {
                return Err(failed(format!("expected a {kind}, found a {found}")));
            }
            let value = Value::new(found, labels, cells).map_err(|e| failed(e.to_string()))?;
            Ok(FieldValue::Tensor(value))
        }
        DataType::Array(of) => {
            let numbers = value.cells().doubles();
            Ok(FieldValue::Array(numbers.iter().map(|number| element(of, *number)).collect()))
        }
        of => {
            let number = value.as_double();
            let number =
                number.ok_or_else(|| failed(format!("a {} is no number", value.kind())))?;
            Ok(element(of, number))
        }
    }
}

/// The value of `query(name)` of a query, as a searcher before this one or the request says it; nothing if neither does.
///
/// # Errors
/// Texts that are no tensors of the type.
pub(super) fn query_value(
    query: &Query,
    name: &str,
    kind: &TensorType,
) -> Result<Option<Value>, NativeError> {
    if let Some(value) = query.features.get(name) {
        if !kind.takes(value.kind()) {
            let text = format!("query({name}) is a {}; expected a {kind}", value.kind());
            return Err(NativeError::Invalid(text));
        }
        return Ok(Some(value.clone()));
    }
    // What is searched for may be said behind this searcher.
    let mut values = query.values.clone();
    values.set_default("yql", "select * from sources * where true".to_owned());
    let request = SearchRequest::of_values(values, Vec::new());
    let rank = request.map_err(|error| NativeError::Invalid(error.message))?.rank;
    let value = rank.input(name, kind).transpose();
    value.map_err(|error| NativeError::Invalid(format!("query({name}): {error}")))
}
