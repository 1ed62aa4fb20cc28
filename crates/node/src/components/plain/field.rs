//! Values of fields of documents.

use stead_expr::TensorType;
use stead_python::Value as Plain;
use stead_store::{DataType, DocumentType, FieldValue, Position, predicate};
use stead_tensor::{Bool, DType, Element, Tensor};

use super::array::read_array;
use super::tensor::{read_tensor, tensor};
use super::{PlainError, TAG, Tag, kind, members, tag, tagged, unexpected};

/// The value of a field as components see it. Weighted sets and maps are dicts.
///
/// # Errors
/// When memory is short.
pub(crate) fn field(value: &FieldValue) -> Result<Plain, PlainError> {
    Ok(match value {
        FieldValue::Bool(value) => (*value).into(),
        FieldValue::Integer(number) => (*number).into(),
        FieldValue::Number(number) => (*number).into(),
        FieldValue::Text(text) => text.as_str().into(),
        FieldValue::Bytes(bytes) => bytes.as_slice().into(),
        FieldValue::Position(position) => {
            let degrees = |micro: i32| Plain::Float(f64::from(micro) / 1e6);
            let (lat, lng) = (degrees(position.latitude), degrees(position.longitude));
            tagged(Tag::Position, [("lat", lat), ("lng", lng)])
        }
        FieldValue::Tensor(value) => tensor(value)?,
        FieldValue::Array(list) => Plain::List(list.iter().map(field).collect::<Result<_, _>>()?),
        FieldValue::Weighted(pairs) => {
            let weights = pairs.iter().map(|(key, weight)| Ok((field(key)?, (*weight).into())));
            of_pairs(weights.collect::<Result<_, PlainError>>()?)
        }
        FieldValue::Map(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| Ok((field(key)?, field(value)?)));
            of_pairs(pairs.collect::<Result<_, PlainError>>()?)
        }
        FieldValue::Struct(list) => {
            let pairs = list.iter().map(|(name, value)| Ok((name.clone(), field(value)?)));
            Plain::Dict(pairs.collect::<Result<_, PlainError>>()?)
        }
    })
}

/// A dict of keys of any type.
pub(super) fn of_pairs(pairs: Vec<(Plain, Plain)>) -> Plain {
    if pairs.iter().all(|(key, _)| matches!(key, Plain::Str(text) if text != TAG)) {
        let text = |(key, value): (Plain, Plain)| match key {
            Plain::Str(key) => Some((key, value)),
            _ => None,
        };
        return Plain::Dict(pairs.into_iter().filter_map(text).collect());
    }
    let pairs = pairs.into_iter().map(|(key, value)| Plain::List(vec![key, value]));
    tagged(Tag::Dict, [("items", Plain::List(pairs.collect()))])
}

/// The keys and values of a dict.
pub(super) fn pairs(value: Plain, expected: &str) -> Result<Vec<(Plain, Plain)>, PlainError> {
    match (tag(&value), value) {
        (None, Plain::Dict(pairs)) => {
            Ok(pairs.into_iter().map(|(key, value)| (key.into(), value)).collect())
        }
        (Some(Tag::Dict), value) => {
            let [items] = members(value, Tag::Dict, ["items"])?;
            let Plain::List(items) = items else { return Err(unexpected("items", &items)) };
            let pair = |item| match item {
                Plain::List(pair) => <[Plain; 2]>::try_from(pair)
                    .map(|[key, value]| (key, value))
                    .map_err(|_| PlainError("an item of a dict that is no pair".to_owned())),
                other => Err(unexpected("a pair", &other)),
            };
            items.into_iter().map(pair).collect()
        }
        (_, other) => Err(unexpected(expected, &other)),
    }
}

/// The value of a field that a component gave, read as the type of the field says.
///
/// # Errors
/// When it is none, with the way into it: `expected an int, found "a" at {key}[2]`.
pub(crate) fn read_field(
    kind: &DocumentType,
    of: &DataType,
    value: Plain,
) -> Result<FieldValue, PlainError> {
    let mut reader = Reader { kind, path: String::new() };
    reader.value(of, value).map_err(|error| match reader.path.is_empty() {
        true => error,
        false => PlainError(format!("{error} at {}", reader.path)),
    })
}

/// Reads values, and knows how far into a field it is.
struct Reader<'k> {
    kind: &'k DocumentType,
    /// The way into the field. It stays where an error is.
    path: String,
}

impl Reader<'_> {
    /// A value of a type. What comes of Python nests less deep than the stack is, so this may follow it.
    fn value(&mut self, of: &DataType, value: Plain) -> Result<FieldValue, PlainError> {
        match (of, value) {
            (DataType::Bool, Plain::Bool(value)) => Ok(FieldValue::Bool(value)),
            (DataType::Byte | DataType::Int | DataType::Long, Plain::Int(number)) => {
                let (least, most) = of.integers();
                if (least..=most).contains(&number) {
                    return Ok(FieldValue::Integer(number));
                }
                Err(PlainError(format!(
                    "expected a number of type {of} from {least} to {most}, found {number}"
                )))
            }
            (DataType::Float16 | DataType::Float | DataType::Double, Plain::Float(number)) => {
                Ok(FieldValue::Number(of.rounded(number)))
            }
            (DataType::Float16 | DataType::Float | DataType::Double, Plain::Int(number)) => {
                Ok(FieldValue::Number(of.rounded(number as f64)))
            }
            (DataType::Text, Plain::Str(text)) => Ok(FieldValue::Text(text)),
            (DataType::Predicate, Plain::Str(text)) => match predicate::check(&text) {
                Ok(()) => Ok(FieldValue::Text(text)),
                Err(error) => Err(PlainError(format!("no predicate: {error}"))),
            },
            (DataType::Raw, Plain::Bytes(bytes)) => Ok(FieldValue::Bytes(bytes)),
            (DataType::Position, value) => position(value),
            (DataType::Tensor(kind), value) => of_tensor(kind, value),
            (DataType::Array(element), value) => self.array(of, element, value),
            (DataType::WeightedSet(element), value) => {
                let mut found = Vec::new();
                for (key, weight) in pairs(value, &format!("a dict for a {of}"))? {
                    let shown = kind(&key);
                    found.push(self.within(&format!("{{{shown}}}"), |reader| {
                        let key = reader.value(element, key)?;
                        match reader.value(&DataType::Int, weight)? {
                            FieldValue::Integer(weight) => Ok((key, weight as i32)),
                            _ => Err(PlainError("expected a weight".to_owned())),
                        }
                    })?);
                }
                Ok(FieldValue::Weighted(found))
            }
            (DataType::Map(of_key, of_value), value) => {
                let mut found = Vec::new();
                for (key, value) in pairs(value, &format!("a dict for a {of}"))? {
                    let shown = kind(&key);
                    found.push(self.within(&format!("{{{shown}}}"), |reader| {
                        Ok((reader.value(of_key, key)?, reader.value(of_value, value)?))
                    })?);
                }
                Ok(FieldValue::Map(found))
            }
            (DataType::Struct(name), value) => self.of_struct(name, value),
            (_, other) => Err(unexpected(&format!("a value of type {of}"), &other)),
        }
    }

    /// What is read one step further into the field.
    fn within<T>(
        &mut self,
        step: &str,
        read: impl FnOnce(&mut Self) -> Result<T, PlainError>,
    ) -> Result<T, PlainError> {
        let length = self.path.len();
        self.path += step;
        let found = read(self)?;
        self.path.truncate(length);
        Ok(found)
    }

    /// A list, or an array of one axis.
    fn array(
        &mut self,
        of: &DataType,
        element: &DataType,
        value: Plain,
    ) -> Result<FieldValue, PlainError> {
        let list = match value {
            Plain::List(list) => list,
            Plain::Tensor(array) if array.shape().rank() == 1 => elements(&array)?,
            value if tag(&value) == Some(Tag::Strings) => {
                let texts = read_array(value)?;
                let text = |bytes: &Vec<u8>| match String::from_utf8(bytes.clone()) {
                    Ok(text) => Plain::Str(text),
                    Err(error) => Plain::Bytes(error.into_bytes()),
                };
                texts.view().strings().iter().map(text).collect()
            }
            other => return Err(unexpected(&format!("a list for an {of}"), &other)),
        };
        let mut found = Vec::with_capacity(list.len());
        for (at, value) in list.into_iter().enumerate() {
            found.push(self.within(&format!("[{at}]"), |reader| reader.value(element, value))?);
        }
        Ok(FieldValue::Array(found))
    }

    fn of_struct(&mut self, name: &str, value: Plain) -> Result<FieldValue, PlainError> {
        let Some(known) = self.kind.find_struct(name) else {
            return Err(PlainError(format!("values of the type {name} are not known")));
        };
        let members = match (tag(&value), value) {
            (None, Plain::Dict(members)) => members,
            (_, other) => return Err(unexpected(&format!("a dict for a struct {name}"), &other)),
        };
        let known = known.clone();
        let mut found = Vec::with_capacity(members.len());
        for (member, value) in members {
            let Some((_, of)) = known.members.iter().find(|(n, _)| *n == member) else {
                let names: Vec<&str> = known.members.iter().map(|(n, _)| n.as_str()).collect();
                let names = names.join(", ");
                return Err(PlainError(format!(
                    "struct {name} has no member {member}; it has {names}"
                )));
            };
            if value == Plain::None {
                continue;
            }
            let value = self.within(&format!(".{member}"), |reader| reader.value(of, value))?;
            found.push((member, value));
        }
        Ok(FieldValue::Struct(found))
    }
}

fn position(value: Plain) -> Result<FieldValue, PlainError> {
    let [lat, lng] = members(value, Tag::Position, ["lat", "lng"])?;
    let degrees = |value: Plain| match value {
        Plain::Float(number) => Ok(number),
        Plain::Int(number) => Ok(number as f64),
        other => Err(unexpected("degrees", &other)),
    };
    let (lat, lng) = (degrees(lat)?, degrees(lng)?);
    let found = Position::from_degrees(lat, lng);
    let nowhere = || PlainError(format!("{lat}, {lng} is no place on earth"));
    found.map(FieldValue::Position).ok_or_else(nowhere)
}

/// A tensor of the type of a field, whose sizes it has all.
fn of_tensor(kind: &TensorType, value: Plain) -> Result<FieldValue, PlainError> {
    if tag(&value) != Some(Tag::Tensor) {
        return Err(unexpected(&format!("a stead.Tensor of type {kind}"), &value));
    }
    let found = read_tensor(value)?;
    match kind.takes(found.kind()) {
        true => Ok(FieldValue::Tensor(found)),
        false => {
            let found = found.kind();
            Err(PlainError(format!("expected a stead.Tensor of type {kind}, found a {found}")))
        }
    }
}

/// The elements of an array of numbers.
pub(super) fn elements(array: &Tensor) -> Result<Vec<Plain>, PlainError> {
    fn each<T: Element>(
        array: &Tensor,
        plain: impl Fn(T) -> Plain,
    ) -> Result<Vec<Plain>, PlainError> {
        Ok(array.as_slice::<T>()?.iter().map(|element| plain(*element)).collect())
    }
    let float = |x: f64| Plain::Float(x);
    match array.dtype() {
        DType::F32 => each(array, |x: f32| float(x.into())),
        DType::F64 => each(array, float),
        DType::F16 => each(array, |x: half::f16| float(x.to_f64())),
        DType::I8 => each(array, |x: i8| Plain::Int(x.into())),
        DType::I16 => each(array, |x: i16| Plain::Int(x.into())),
        DType::I32 => each(array, |x: i32| Plain::Int(x.into())),
        DType::I64 => each(array, |x: i64| Plain::Int(x)),
        DType::U8 => each(array, |x: u8| Plain::Int(x.into())),
        DType::U16 => each(array, |x: u16| Plain::Int(x.into())),
        DType::U32 => each(array, |x: u32| Plain::Int(x.into())),
        DType::Bool => each(array, |x: Bool| Plain::Bool(x.get())),
        other => Err(PlainError(format!("an array of {other} is no list; convert it"))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stead_app::application::Application;
    use stead_app::package::PackageFiles;
    use stead_app::services::ServicesOptions;

    use super::super::{dict, random};
    use super::*;

    /// A type of documents with a struct.
    fn documents() -> DocumentType {
        let schema = "schema a { document a {
            struct s { field n type int {} field t type string {} field inner type array<s> {} }
            field f type s {} } }";
        let files = PackageFiles::from_texts([
            (
                "services.xml",
                "<content id='c' version='1.0'><documents><document type='a' mode='index'/></documents></content>",
            ),
            ("schemas/a.sd", schema),
        ]);
        let (application, _) = Application::read(&files.unwrap(), ServicesOptions::default());
        DocumentType::new(application.schema("a").unwrap())
    }

    proptest! {
        /// A value of any type comes back as it was.
        #[test]
        fn values_of_fields_come_back((of, value) in random::typed_field()) {
            let plain = field(&value).unwrap();
            let back = read_field(&documents(), &of, plain);
            prop_assert_eq!(back, Ok(value), "{}", of);
        }
    }

    #[test]
    fn values_that_python_has_otherwise_are_taken() {
        let array = |of: DataType| DataType::Array(Box::new(of));
        let numbers =
            |list: &[f64]| FieldValue::Array(list.iter().map(|n| FieldValue::Number(*n)).collect());
        let tensor = |list: &[f32]| Plain::Tensor(Tensor::from_slice(list, &[list.len()]).unwrap());
        let ints = Tensor::from_slice(&[1u8, 2], &[2]).unwrap();
        let strings = super::super::array::array(
            Tensor::from_strings(vec![b"a".to_vec(), b"b".to_vec()], &[2]).unwrap(),
        );
        let texts = vec![FieldValue::Text("a".to_owned()), FieldValue::Text("b".to_owned())];
        for (label, of, plain, expected) in [
            ("an int for a float", DataType::Float, 3.into(), FieldValue::Number(3.0)),
            (
                "a float is rounded",
                DataType::Float,
                0.1.into(),
                FieldValue::Number(f64::from(0.1f32)),
            ),
            ("a double is not", DataType::Double, 0.1.into(), FieldValue::Number(0.1)),
            ("an array", array(DataType::Float), tensor(&[1.0, 2.5]), numbers(&[1.0, 2.5])),
            (
                "an array of whole numbers",
                array(DataType::Double),
                ints.into(),
                numbers(&[1.0, 2.0]),
            ),
            (
                "an array of texts",
                array(DataType::Text),
                strings.unwrap(),
                FieldValue::Array(texts),
            ),
            (
                "a member that is None",
                DataType::Struct("s".to_owned()),
                dict([("n", Plain::None), ("t", "x".into())]),
                FieldValue::Struct(vec![("t".to_owned(), FieldValue::Text("x".to_owned()))]),
            ),
        ] {
            assert_eq!(read_field(&documents(), &of, plain), Ok(expected), "{label}");
        }
    }

    #[test]
    fn what_is_no_value_of_a_type_is_told() {
        let boxed = |of: DataType| Box::new(of);
        let tensor = |kind: &str| DataType::Tensor(stead_expr::parse_type(kind).unwrap());
        let place =
            |lat: f64| dict([("$", "position".into()), ("lat", lat.into()), ("lng", 0.into())]);
        let floats = super::super::tensor::tensor(&stead_expr::Value::double(1.0)).unwrap();
        let of_struct = || DataType::Struct("s".to_owned());
        for (of, plain, expected) in [
            (DataType::Int, "a".into(), "expected a value of type int, found \"a\""),
            (DataType::Int, Plain::Bool(true), "expected a value of type int, found True"),
            (DataType::Int, 1.5.into(), "expected a value of type int, found 1.5"),
            (
                DataType::Byte,
                200.into(),
                "expected a number of type byte from -128 to 127, found 200",
            ),
            (DataType::Text, Plain::None, "expected a value of type string, found None"),
            (DataType::Raw, "a".into(), "expected a value of type raw, found \"a\""),
            (DataType::Position, Plain::List(vec![]), "expected a stead.Position, found a list"),
            (DataType::Position, place(91.0), "91, 0 is no place on earth"),
            (
                tensor("tensor<float>(x[2])"),
                1.into(),
                "expected a stead.Tensor of type tensor<float>(x[2]), found 1",
            ),
            (
                tensor("tensor<float>(x[2])"),
                floats,
                "expected a stead.Tensor of type tensor<float>(x[2]), found a double",
            ),
            (
                DataType::Array(boxed(DataType::Int)),
                1.into(),
                "expected a list for an array<int>, found 1",
            ),
            (
                DataType::Map(boxed(DataType::Text), boxed(DataType::Array(boxed(DataType::Int)))),
                dict([("k", Plain::List(vec![1.into(), "x".into()]))]),
                "expected a value of type int, found \"x\" at {\"k\"}[1]",
            ),
            (
                DataType::WeightedSet(boxed(DataType::Text)),
                dict([("k", "x".into())]),
                "expected a value of type int, found \"x\" at {\"k\"}",
            ),
            (of_struct(), dict([("z", 1.into())]), "struct s has no member z; it has n, t, inner"),
            (
                of_struct(),
                dict([("n", "z".into())]),
                "expected a value of type int, found \"z\" at .n",
            ),
            (
                of_struct(),
                dict([("$", "tensor".into())]),
                "expected a dict for a struct s, found a stead.Tensor",
            ),
        ] {
            let error = read_field(&documents(), &of, plain).unwrap_err().to_string();
            assert_eq!(error, expected, "{of}");
        }
    }
}
