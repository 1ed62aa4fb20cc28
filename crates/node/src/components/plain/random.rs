//! Values by chance, for tests.

use half::{bf16, f16};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use stead_expr::{CELL_TYPES, Cells, Dimension, Labels, TensorType, Value};
use stead_store::{DataType, FieldValue, Position};
use stead_tensor::{DType, Shape, Tensor};

/// A type with sizes everywhere, with up to two mapped and three indexed dimensions.
fn tensor_type(most_mapped: usize) -> impl Strategy<Value = TensorType> {
    let sizes = vec(1usize..4, 0..=3);
    (0..CELL_TYPES.len(), 0..=most_mapped, sizes).prop_map(|(cell, mapped, sizes)| {
        let mapped = ["b", "m"].into_iter().take(mapped).map(Dimension::mapped);
        let names = ["a", "c", "z"].into_iter().zip(sizes);
        let all = mapped.chain(names.map(|(name, size)| Dimension::indexed(name, size))).collect();
        TensorType::new(CELL_TYPES[cell].0, all).unwrap()
    })
}

fn of_type(kind: TensorType) -> impl Strategy<Value = Value> {
    let mapped = kind.mapped_count();
    let label = prop_oneof!["[a-z]{0,3}", "[0-9]{1,2}", "[ \u{e9}\"$]{1,2}"];
    let rows = btree_set(vec(label, mapped), 0..4);
    rows.prop_flat_map(move |rows| {
        let blocks = if mapped == 0 { 1 } else { rows.len() };
        let (kind, cells) = (kind.clone(), vec(-300.0..300.0, blocks * kind.block_size()));
        cells.prop_map(move |numbers| {
            let mut labels = Labels::default();
            if mapped > 0 {
                rows.iter().flatten().for_each(|text| labels.push(text));
            }
            let numbers = Cells::from_numbers(kind.cell(), &numbers);
            Value::new(kind.clone(), labels, numbers).unwrap()
        })
    })
}

/// A tensor of any type, or a number.
pub(super) fn tensor() -> impl Strategy<Value = Value> {
    tensor_type(2).prop_flat_map(of_type)
}

/// One without mapped dimensions.
pub(super) fn dense() -> impl Strategy<Value = Value> {
    tensor_type(0).prop_flat_map(of_type)
}

/// A tensor of a model, of any element type that Python can have.
pub(super) fn array() -> impl Strategy<Value = Tensor> {
    let types = prop::sample::select(vec![
        DType::F32,
        DType::F64,
        DType::F16,
        DType::BF16,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::Bool,
        DType::String,
    ]);
    (types, vec(1usize..4, 0..4)).prop_flat_map(|(dtype, dims)| {
        let count: usize = dims.iter().product();
        vec(0u8..100, count).prop_map(move |list| elements(dtype, &dims, &list))
    })
}

fn elements(dtype: DType, dims: &[usize], list: &[u8]) -> Tensor {
    fn of<T: stead_tensor::Element>(dims: &[usize], list: &[u8], one: impl Fn(u8) -> T) -> Tensor {
        let list: Vec<T> = list.iter().map(|n| one(*n)).collect();
        Tensor::from_slice(&list, dims).unwrap()
    }
    let half = |n: u8| f32::from(n) / 2.0;
    match dtype {
        DType::F32 => of(dims, list, half),
        DType::F64 => of(dims, list, |n| f64::from(n) / 3.0),
        DType::F16 => of(dims, list, |n| f16::from_f32(half(n))),
        DType::BF16 => of(dims, list, |n| bf16::from_f32(half(n))),
        DType::I8 => of(dims, list, |n| n as i8 - 50),
        DType::I16 => of(dims, list, |n| i16::from(n) - 50),
        DType::I32 => of(dims, list, |n| i32::from(n) - 50),
        DType::I64 => of(dims, list, |n| i64::from(n) << 40),
        DType::U8 => of(dims, list, |n| n),
        DType::U16 => of(dims, list, |n| u16::from(n) * 600),
        DType::U32 => of(dims, list, |n| u32::from(n) << 24),
        DType::U64 => of(dims, list, |n| u64::from(n) << 56),
        DType::Bool => of(dims, list, |n| stead_tensor::Bool::from(n % 2 == 1)),
        _ => {
            let texts = list.iter().map(|n| vec![*n; usize::from(*n) % 5]).collect();
            let shape = Shape::new(dims).unwrap();
            Tensor::from_strings(texts, shape.dims()).unwrap()
        }
    }
}

/// A type of fields and a value of it.
pub(super) fn typed_field() -> impl Strategy<Value = (DataType, FieldValue)> {
    field_type().prop_flat_map(|of| {
        let value = field(&of);
        (Just(of), value)
    })
}

fn field_type() -> BoxedStrategy<DataType> {
    let key = prop::sample::select(vec![DataType::Text, DataType::Int, DataType::Long]);
    let single = prop_oneof![
        prop::sample::select(vec![
            DataType::Bool,
            DataType::Byte,
            DataType::Int,
            DataType::Long,
            DataType::Float,
            DataType::Double,
            DataType::Text,
            DataType::Predicate,
            DataType::Raw,
            DataType::Position,
            DataType::Struct("s".to_owned()),
        ]),
        tensor_type(2).prop_map(DataType::Tensor),
    ];
    single
        .prop_recursive(2, 4, 1, move |inner| {
            let map = (key.clone(), inner.clone());
            prop_oneof![
                inner.prop_map(|of| DataType::Array(Box::new(of))),
                key.clone().prop_map(|of| DataType::WeightedSet(Box::new(of))),
                map.prop_map(|(key, value)| DataType::Map(Box::new(key), Box::new(value))),
            ]
        })
        .boxed()
}

fn field(of: &DataType) -> BoxedStrategy<FieldValue> {
    match of {
        DataType::Bool => any::<bool>().prop_map(FieldValue::Bool).boxed(),
        DataType::Byte => any::<i8>().prop_map(|n| FieldValue::Integer(n.into())).boxed(),
        DataType::Int => any::<i32>().prop_map(|n| FieldValue::Integer(n.into())).boxed(),
        DataType::Long => any::<i64>().prop_map(FieldValue::Integer).boxed(),
        DataType::Float16 | DataType::Float => {
            (-1e6f32..1e6).prop_map(|n| FieldValue::Number(n.into())).boxed()
        }
        DataType::Double => (-1e9..1e9).prop_map(FieldValue::Number).boxed(),
        DataType::Text => "[a$ \u{e9}]{0,3}".prop_map(FieldValue::Text).boxed(),
        DataType::Predicate => "[ab] in \\[[ab]\\]".prop_map(FieldValue::Text).boxed(),
        DataType::Raw => vec(any::<u8>(), 0..4).prop_map(FieldValue::Bytes).boxed(),
        DataType::Position => {
            let place =
                |(latitude, longitude)| FieldValue::Position(Position { latitude, longitude });
            (-90_000_000..=90_000_000, -180_000_000..=180_000_000).prop_map(place).boxed()
        }
        DataType::Tensor(kind) => of_type(kind.clone()).prop_map(FieldValue::Tensor).boxed(),
        DataType::Array(of) => vec(field(of), 0..3).prop_map(FieldValue::Array).boxed(),
        DataType::WeightedSet(of) => {
            vec((field(of), any::<i32>()), 0..3).prop_map(FieldValue::Weighted).boxed()
        }
        DataType::Map(key, value) => {
            vec((field(key), field(value)), 0..3).prop_map(FieldValue::Map).boxed()
        }
        DataType::Struct(_) => {
            let inner = vec(any::<i32>(), 0..3).prop_map(|list| {
                let one = |n: i32| {
                    FieldValue::Struct(vec![("n".to_owned(), FieldValue::Integer(n.into()))])
                };
                FieldValue::Array(list.into_iter().map(one).collect())
            });
            inner.prop_map(|list| FieldValue::Struct(vec![("inner".to_owned(), list)])).boxed()
        }
    }
}
