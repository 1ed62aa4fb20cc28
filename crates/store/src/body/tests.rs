//! What is written is read again, and what was never written is refused.

use stead_expr::compile;

use super::{BodyError, MAX_DEPTH, change, changed, encode, fields, is_change, put_value, value};
use crate::position::Position;
use crate::value::FieldValue;

fn encoded(value: &FieldValue) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_value(value, &mut bytes);
    bytes
}

/// A value of each kind, with its bytes as the format has them.
fn values() -> Vec<(FieldValue, Vec<u8>)> {
    let text = |text: &str| FieldValue::Text(text.to_owned());
    let tensor = compile("tensor<int8>(x[2]):[1,2]", &|_: &str| None).unwrap().run(&[]).unwrap();
    let (latitude, longitude) = (1, -2);
    vec![
        (FieldValue::Bool(false), vec![1]),
        (FieldValue::Bool(true), vec![2]),
        (FieldValue::Integer(-1), vec![3, 1]),
        (FieldValue::Integer(64), vec![3, 0x80, 1]),
        (FieldValue::Integer(i64::MIN), vec![3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        (FieldValue::Number(0.5), vec![4, 0, 0, 0, 0x3f]),
        (FieldValue::Number(0.1), [vec![5], 0.1_f64.to_le_bytes().to_vec()].concat()),
        (text("\u{e4}b"), vec![6, 3, 0xc3, 0xa4, b'b']),
        (FieldValue::Bytes(vec![0, 255]), vec![7, 2, 0, 255]),
        (
            FieldValue::Position(Position { latitude, longitude }),
            vec![8, 1, 0, 0, 0, 254, 255, 255, 255],
        ),
        (FieldValue::Tensor(tensor), vec![9, 8, 6, 3, 1, 1, b'x', 2, 1, 2]),
        (FieldValue::Array(vec![text(""), FieldValue::Bool(true)]), vec![10, 2, 6, 0, 2]),
        (FieldValue::Weighted(vec![(FieldValue::Integer(0), -3)]), vec![11, 1, 3, 0, 5]),
        (FieldValue::Map(vec![(text("k"), FieldValue::Bool(false))]), vec![12, 1, 6, 1, b'k', 1]),
        (FieldValue::Struct(vec![("m".into(), text("v"))]), vec![13, 1, 1, b'm', 6, 1, b'v']),
    ]
}

#[test]
fn values_have_the_bytes_of_the_format() {
    for (of, bytes) in values() {
        assert_eq!(encoded(&of), bytes, "{of:?}");
        assert_eq!(value(&bytes), Ok(of));
        for cut in 0..bytes.len() {
            assert!(value(&bytes[..cut]).is_err(), "{bytes:?} cut to {cut}");
        }
        let long = [bytes, vec![0]].concat();
        assert_eq!(value(&long), Err(BodyError::Long(1)));
    }
}

#[test]
fn what_is_no_value_is_refused() {
    let deep = |depth: usize| [[10, 1].repeat(depth), vec![1]].concat();
    assert!(value(&deep(MAX_DEPTH - 1)).is_ok());
    for (label, bytes, expected) in [
        ("nothing", vec![], BodyError::Short),
        ("an unknown tag", vec![14], BodyError::Tag(14)),
        ("more elements than bytes", vec![10, 255, 255, 255, 127, 1], BodyError::Short),
        ("eleven bytes of a number", [vec![3], vec![255; 11]].concat(), BodyError::Number),
        ("a number in too many bytes", vec![3, 0x80, 0], BodyError::Number),
        ("no UTF-8", vec![6, 1, 255], BodyError::Text),
        ("a weight of 33 bits", vec![11, 1, 1, 128, 128, 128, 128, 32], BodyError::Number),
        ("values within values", deep(MAX_DEPTH), BodyError::Depth),
        ("an endless nest", deep(100_000), BodyError::Depth),
    ] {
        assert_eq!(value(&bytes), Err(expected), "{label}");
    }
}

#[test]
fn bodies_have_fields_in_order() {
    let number = |n| FieldValue::Integer(n);
    let body = encode(&[(300, number(1)), (2, number(2)), (5, number(3))], |field| field == 5);
    assert_eq!(body, [1, 2, 2, 3, 4, 5, 0, 0xac, 2, 2, 3, 2]);
    let expected: Vec<(usize, &[u8])> = vec![(2, &[3, 4]), (5, &[]), (300, &[3, 2])];
    assert_eq!(fields(&body), Ok(expected));
    for (label, body, expected) in [
        ("no version", vec![], BodyError::Short),
        ("another version", vec![2], BodyError::Version(2)),
        ("a field twice", vec![1, 4, 0, 4, 0], BodyError::Order),
        ("a value that ends too early", vec![1, 4, 2, 1], BodyError::Short),
    ] {
        assert_eq!(fields(&body), Err(expected), "{label}");
    }
}

#[test]
fn changes_give_fields_other_values_or_none() {
    let number = FieldValue::Integer;
    let in_column = |field: usize| field == 5;
    let change = |list: &[(usize, Option<i64>)]| {
        let list: Vec<_> = list.iter().map(|(field, n)| (*field, n.map(number))).collect();
        change(&list, in_column)
    };
    let body = |list: &[(usize, i64)]| {
        let list: Vec<_> = list.iter().map(|(field, n)| (*field, number(*n))).collect();
        encode(&list, in_column)
    };
    assert_eq!(
        change(&[(300, Some(1)), (2, None), (5, Some(9))]),
        [2, 2, 0, 5, 1, 0xac, 2, 3, 3, 2]
    );
    let whole = body(&[(2, 7), (5, 1), (300, 8)]);
    for (label, list, expected) in [
        ("nothing", &[][..], whole.clone()),
        ("another value", &[(2, Some(6))], body(&[(2, 6), (5, 1), (300, 8)])),
        ("none", &[(2, None), (300, None)], body(&[(5, 1)])),
        ("none of what has none", &[(3, None)], whole.clone()),
        ("a new field", &[(3, Some(4))], body(&[(2, 7), (3, 4), (5, 1), (300, 8)])),
        ("a field of a column", &[(5, Some(2))], whole.clone()),
        ("a field of a column, none", &[(5, None)], body(&[(2, 7), (300, 8)])),
    ] {
        let change = change(list);
        assert!(is_change(&change) && !is_change(&whole) && !is_change(&[]), "{label}");
        assert_eq!(changed(&whole, &change), Ok(expected), "{label}");
    }
    // Two changes as one, in their order.
    let (first, second) = (change(&[(2, Some(1)), (5, None)]), change(&[(5, Some(0)), (7, None)]));
    let both = changed(&first, &second).unwrap();
    assert_eq!(both, change(&[(2, Some(1)), (5, Some(0)), (7, None)]));
    let one_by_one = changed(&changed(&whole, &first).unwrap(), &second);
    assert_eq!(changed(&whole, &both), one_by_one);
    for (label, bytes, expected) in [
        ("nothing", vec![], BodyError::Short),
        ("a body", whole.clone(), BodyError::Version(1)),
        ("a field twice", vec![2, 4, 0, 4, 0], BodyError::Order),
        ("a value that ends too early", vec![2, 4, 3, 1], BodyError::Short),
    ] {
        assert_eq!(changed(&whole, &bytes), Err(expected), "{label}");
    }
    assert_eq!(changed(&[], &first), Err(BodyError::Short), "of no document");
}
