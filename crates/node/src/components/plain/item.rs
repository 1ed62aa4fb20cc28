//! Fields of hits: what results show.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stead_expr::codec::json::Form;
use stead_python::Value as Plain;
use stead_search::result::Item;

use super::array::read_array;
use super::field::{elements, of_pairs, pairs};
use super::tensor::{read_tensor, tensor};
use super::{PlainError, Tag, members, tag};

/// A field of a hit as components see it.
///
/// # Errors
/// When memory is short.
pub(crate) fn item(of: &Item) -> Result<Plain, PlainError> {
    Ok(match of {
        Item::Null => Plain::None,
        Item::Bool(value) => Plain::Bool(*value),
        Item::Integer(number) => Plain::Int(*number),
        Item::Number(number) => Plain::Float(*number),
        Item::Float(number) => Plain::Float((*number).into()),
        Item::Text(text) => Plain::Str(text.clone()),
        Item::Tensor(value, _) => tensor(value)?,
        Item::List(list) => Plain::List(list.iter().map(item).collect::<Result<_, _>>()?),
        Item::Map(list) => {
            let pair = |(name, of): &(String, Item)| Ok((name.as_str().into(), item(of)?));
            of_pairs(list.iter().map(pair).collect::<Result<_, PlainError>>()?)
        }
    })
}

/// A field that a component gave, with tensors in a form of JSON. Bytes are shown in base64, arrays as lists.
///
/// # Errors
/// When it is a tensor whose parts do not fit.
pub(crate) fn read_item(value: Plain, form: Form) -> Result<Item, PlainError> {
    // What comes of Python nests less deep than the stack is, so this may follow it.
    Ok(match (tag(&value), value) {
        (Some(Tag::Tensor), value) => Item::Tensor(read_tensor(value)?, form),
        (Some(Tag::Position), value) => {
            let [lat, lng] = members(value, Tag::Position, ["lat", "lng"])?;
            Item::map([("lat", read_item(lat, form)?), ("lng", read_item(lng, form)?)])
        }
        (Some(Tag::Strings), value) => {
            let array = read_array(value)?;
            let text = |bytes: &Vec<u8>| Item::Text(String::from_utf8_lossy(bytes).into_owned());
            nested(array.view().strings().iter().map(text).collect(), array.shape().dims())
        }
        (Some(Tag::Dict), value) | (None, value @ Plain::Dict(_)) => {
            let pair = |(key, value)| Ok((name(key), read_item(value, form)?));
            let pairs = pairs(value, "a dict")?.into_iter().map(pair);
            Item::Map(pairs.collect::<Result<_, PlainError>>()?)
        }
        (None, Plain::None) => Item::Null,
        (None, Plain::Bool(value)) => Item::Bool(value),
        (None, Plain::Int(number)) => Item::Integer(number),
        (None, Plain::Float(number)) => Item::Number(number),
        (None, Plain::Str(text)) => Item::Text(text),
        (None, Plain::Bytes(bytes)) => Item::Text(STANDARD.encode(bytes)),
        (None, Plain::List(list)) => {
            let items = list.into_iter().map(|value| read_item(value, form));
            Item::List(items.collect::<Result<_, _>>()?)
        }
        (None, Plain::Tensor(array)) => {
            let items = elements(&array)?.into_iter().map(|value| read_item(value, form));
            nested(items.collect::<Result<_, _>>()?, array.shape().dims())
        }
    })
}

/// A key as the name of a member.
fn name(key: Plain) -> String {
    match key {
        Plain::Str(text) => text,
        Plain::Int(number) => number.to_string(),
        Plain::Float(number) => format!("{number:?}"),
        Plain::Bool(value) => value.to_string(),
        other => super::kind(&other),
    }
}

/// Elements as lists of lists.
fn nested(mut items: Vec<Item>, dims: &[usize]) -> Item {
    let (Some((_, inner)), false) = (dims.split_first(), items.is_empty()) else {
        return items.pop().filter(|_| dims.is_empty()).unwrap_or(Item::List(Vec::new()));
    };
    for size in inner.iter().rev() {
        let mut left = items.into_iter().peekable();
        let mut lists = Vec::new();
        while left.peek().is_some() {
            lists.push(Item::List(left.by_ref().take(*size).collect()));
        }
        items = lists;
    }
    Item::List(items)
}

#[cfg(test)]
mod tests {
    use stead_expr::compile;
    use stead_tensor::Tensor;

    use super::super::{array, dict};
    use super::*;

    fn tensor_item(text: &str) -> Item {
        let value = compile(text, &|_: &str| None).unwrap().run(&[]).unwrap();
        Item::Tensor(value, Form::Long)
    }

    #[test]
    fn fields_come_back() {
        for of in [
            Item::Null,
            Item::Bool(true),
            Item::Integer(-7),
            Item::Number(0.1),
            Item::text("a"),
            tensor_item("tensor<float>(a{},x[2]):{p:[1,2]}"),
            Item::List(vec![Item::Integer(1), Item::List(vec![])]),
            Item::map([("a", Item::map([("$", Item::text("tensor"))])), ("b", Item::Null)]),
        ] {
            let plain = item(&of).unwrap();
            assert_eq!(read_item(plain, Form::Long), Ok(of));
        }
        assert_eq!(item(&Item::Float(0.1)).unwrap(), Plain::Float(f64::from(0.1_f32)));
    }

    #[test]
    fn values_of_python_are_shown() {
        let floats = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
        let texts = Tensor::from_strings(vec![b"a".to_vec(), b"b".to_vec()], &[2]).unwrap();
        let numbers = |list: &[f64]| Item::List(list.iter().map(|n| Item::Number(*n)).collect());
        let degrees = [("$", "position".into()), ("lat", 1.5.into()), ("lng", (-2.0).into())];
        let keys = Plain::List(vec![Plain::List(vec![5.into(), true.into()])]);
        for (label, plain, expected) in [
            ("bytes", Plain::Bytes(vec![1, 2, 3]), Item::text("AQID")),
            (
                "an array",
                floats.into(),
                Item::List(vec![numbers(&[1.0, 2.0]), numbers(&[3.0, 4.0])]),
            ),
            (
                "a number of numpy",
                Tensor::from_slice(&[7i64], &[]).unwrap().into(),
                Item::Integer(7),
            ),
            (
                "an empty array",
                Tensor::from_slice::<f32>(&[], &[2, 0]).unwrap().into(),
                Item::List(vec![]),
            ),
            (
                "texts",
                array::array(texts).unwrap(),
                Item::List(vec![Item::text("a"), Item::text("b")]),
            ),
            (
                "a position",
                dict(degrees),
                Item::map([("lat", Item::Number(1.5)), ("lng", Item::Number(-2.0))]),
            ),
            (
                "keys that are numbers",
                dict([("$", "dict".into()), ("items", keys)]),
                Item::map([("5", Item::Bool(true))]),
            ),
        ] {
            assert_eq!(read_item(plain, Form::Short), Ok(expected), "{label}");
        }
    }
}
