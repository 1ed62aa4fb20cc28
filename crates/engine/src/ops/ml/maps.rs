//! ZipMap, which names the columns of a table, and DictVectorizer and CastMap, which make tensors of maps.

use super::ML;
use super::encode::positions;
use crate::error::{BuildError, PlanError, RunError};
use crate::ir::{Form, FormSet, Typed};
use crate::ops::strings::{fits, numbers};
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Out, Param, TypeSet, plan_fn, types};
use crate::plan::{Fact, View};
use std::sync::Arc;
use stead_onnx::Attributes;
use stead_tensor::{DType, MAX_RANK, Shape, Tensor};

/// CastMap, DictVectorizer, ZipMap.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "CastMap",
        &[Param::required(0, types::F32_ONLY.or(types::STRING)).in_form(FormSet::MAP_BY_INT)],
        &[Out::Of(cast_type)],
        cast,
    )
    .domain(ML),
    OpDef::new(
        "DictVectorizer",
        &[Param::required(0, COUNTED.or(types::STRING)).in_form(FormSet::MAP)],
        &[Out::Element(0)],
        vectorize,
    )
    .domain(ML),
    OpDef::new("ZipMap", &[Param::required(0, types::F32_ONLY)], &[Out::Typed(zip_type)], zip)
        .domain(ML),
];

/// Numbers that features may be.
const COUNTED: TypeSet = TypeSet::of(&[DType::I64, DType::F32, DType::F64]);

/// The one of two lists of keys that an operator has.
fn keys(attributes: &Attributes, ints: &str, strings: &str) -> Result<Tensor, BuildError> {
    let texts = attributes.bytes_list(strings)?.filter(|list| !list.is_empty());
    let numbers = attributes.ints(ints)?.filter(|list| !list.is_empty());
    match (numbers, texts) {
        (Some(numbers), None) => Ok(Tensor::from_slice(numbers, &[numbers.len()])?),
        (None, Some(texts)) => {
            let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.to_vec()).collect();
            let count = texts.len();
            Ok(Tensor::from_strings(texts, &[count])?)
        }
        _ => Err(BuildError::unsupported(format!("one of {ints} and {strings} expected"))),
    }
}

fn labels(attributes: &Attributes) -> Result<Tensor, BuildError> {
    keys(attributes, "classlabels_int64s", "classlabels_strings")
}

fn zip_type(attributes: &Attributes, _: &[Option<Typed>]) -> Result<Typed, BuildError> {
    let form = match labels(attributes)?.dtype() {
        DType::String => Form::MapsByString,
        _ => Form::MapsByInt,
    };
    Ok(Typed { dtype: DType::F32, form })
}

/// A map for each row: the labels are the same in all of them, and the values stay where they lie.
fn zip(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let labels = labels(spec.attributes())?;
    plan_fn(move |cx| {
        let mut values = cx.held(0)?;
        let dims = values.shape.to_vec();
        if let [columns] = dims[..] {
            let stride = values.strided()?.strides[0];
            let mut strides = [0; MAX_RANK];
            strides[..2].copy_from_slice(&[columns as isize * stride, stride]);
            values.shape = Shape::new(&[1, columns])?;
            values.view = values.view.map(|view| View { strides, ..view });
        }
        match values.shape.dims() {
            [_, columns] if *columns == labels.shape().elements() => {}
            [_, columns] => {
                let count = labels.shape().elements();
                return Err(PlanError::shape(format!("{columns} columns for {count} labels")));
            }
            dims => {
                return Err(PlanError::shape(format!("a table expected, got {dims:?}")));
            }
        }
        cx.give(0, Fact::map(Fact::constant(labels.clone()), values));
        Ok(())
    })
}

/// A row of features: the value of each key of the vocabulary, and zero or an empty string for those that a map has not.
fn vectorize(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let vocabulary = keys(spec.attributes(), "int64_vocabulary", "string_vocabulary")?;
    let (key, dtype) = (vocabulary.dtype(), spec.dtype()?);
    if spec.input_form(0).and_then(Form::key) != Some(key) {
        let text = format!("a vocabulary of {key} for maps with keys of another type");
        return Err(BuildError::unsupported(text));
    }
    let count = vocabulary.shape().elements();
    let columns = positions(&vocabulary)?;
    if columns.len() != count {
        return Err(BuildError::unsupported("the vocabulary has a key twice"));
    }
    let row = Shape::new(&[1, count])?;
    let columns = Arc::new(columns);
    plan_fn(move |cx| {
        let (pairs, columns) = (cx.pairs(0)?, columns.clone());
        let slot = cx.output(0, row)?;
        cx.step("dict vectorizer", &pairs, &[slot], move |a| {
            let columns = columns.places(a, key)?;
            if dtype == DType::String {
                let mut texts = vec![Vec::new(); count];
                for (column, text) in columns.iter().zip(a.strings(1)?) {
                    if let Some(place) = column.and_then(|at| texts.get_mut(at)) {
                        place.clone_from(text);
                    }
                }
                return a.write_strings(0, texts);
            }
            let size = dtype.size();
            let (values, out) = (a.read_bytes(1)?, a.write_bytes()?);
            out.fill(0);
            for (column, value) in columns.iter().zip(values.chunks_exact(size)) {
                if let Some(place) = column.and_then(|at| out.get_mut(at * size..(at + 1) * size)) {
                    place.copy_from_slice(value);
                }
            }
            Ok(())
        });
        Ok(())
    })
}

fn cast_type(attributes: &Attributes, _: &[Option<DType>]) -> Result<DType, BuildError> {
    match attributes.string_or("cast_to", "TO_FLOAT")? {
        "TO_FLOAT" => Ok(DType::F32),
        "TO_INT64" => Ok(DType::I64),
        "TO_STRING" => Ok(DType::String),
        other => Err(BuildError::unsupported(format!(
            "cast_to is {other}; supported: TO_FLOAT, TO_INT64, TO_STRING"
        ))),
    }
}

/// The values of a map in the order of their keys, or each at the place that its key is.
fn cast(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let (from, to) = (spec.dtype()?, cast_type(attributes, &[])?);
    let places = match attributes.string_or("map_form", "DENSE")? {
        "DENSE" => None,
        "SPARSE" => {
            let most = attributes.int_or("max_map", 1)?;
            let places = usize::try_from(most).ok().filter(|&places| places > 0);
            let wrong =
                || BuildError::unsupported(format!("max_map is {most}, at least 1 expected"));
            Some(places.ok_or_else(wrong)?)
        }
        other => {
            let text = format!("map_form is {other}; supported: DENSE, SPARSE");
            return Err(BuildError::unsupported(text));
        }
    };
    plan_fn(move |cx| {
        let pairs = cx.pairs(0)?;
        let len = places.unwrap_or(pairs[0].ty.1.elements());
        if to == DType::String {
            fits(len, 0).map_err(|e| PlanError::shape(e.to_string()))?;
        }
        let slot = cx.output(0, Shape::new(&[1, len])?)?;
        cx.step("cast map", &pairs, &[slot], move |a| {
            let order = order(a.read::<i64>(0)?, places)?;
            match (from, to) {
                (DType::String, DType::String) => {
                    give(a, a.strings(1)?, &order, |text| Ok(text.clone()))
                }
                (_, DType::String) => {
                    give(a, a.read::<f32>(1)?, &order, |&value| Ok(fixed(value).into_bytes()))
                }
                (DType::String, DType::F32) => {
                    put::<_, f32>(a, a.strings(1)?, &order, |text| numbers::number(text))
                }
                (DType::String, _) => {
                    put::<_, i64>(a, a.strings(1)?, &order, |text| numbers::number(text))
                }
                (_, DType::F32) => put(a, a.read::<f32>(1)?, &order, |&value| Ok(value)),
                _ => put(a, a.read::<f32>(1)?, &order, |&value| Ok(value as i64)),
            }
        });
        Ok(())
    })
}

/// Which value stands at each place of the result: that of the smallest key first, or of the key that the place is.
fn order(keys: &[i64], places: Option<usize>) -> Result<Vec<Option<usize>>, RunError> {
    if let Some(places) = places {
        let mut order = vec![None; places];
        for (at, &key) in keys.iter().enumerate() {
            let place = usize::try_from(key);
            let place =
                place.map_err(|_| RunError::value(format!("{key} is no place of a row")))?;
            // Keys behind the last place are left out.
            if let Some(slot) = order.get_mut(place) {
                *slot = Some(at);
            }
        }
        return Ok(order);
    }
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|&at| keys.get(at));
    Ok(order.into_iter().map(Some).collect())
}

/// Writes numbers, zero where there is none.
fn put<V, T: stead_tensor::Element + Default>(
    a: &mut Args<'_>,
    values: &[V],
    order: &[Option<usize>],
    cast: impl Fn(&V) -> Result<T, RunError>,
) -> Result<(), RunError> {
    for (out, at) in a.write::<T>()?.iter_mut().zip(order) {
        *out = at.and_then(|at| values.get(at)).map_or(Ok(T::default()), &cast)?;
    }
    Ok(())
}

/// Writes strings; where there is no value stands what ONNX Runtime puts there.
fn give<V>(
    a: &Args<'_>,
    values: &[V],
    order: &[Option<usize>],
    cast: impl Fn(&V) -> Result<Vec<u8>, RunError>,
) -> Result<(), RunError> {
    let text = |at: &Option<usize>| {
        at.and_then(|at| values.get(at)).map_or_else(|| Ok(b"0.f".to_vec()), &cast)
    };
    let texts = order.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    fits(texts.len(), texts.iter().map(Vec::len).fold(0, usize::saturating_add))?;
    a.write_strings(0, texts)
}

/// A number with six digits behind the point, as `std::to_string` of C++ writes it.
fn fixed(value: f32) -> String {
    match value.is_nan() {
        true => "nan".to_owned(),
        false => format!("{value:.6}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As ONNX Runtime has them.
    #[test]
    fn values_stand_in_the_order_of_their_keys_or_at_them() {
        let cases: [(&[i64], Option<usize>, Option<&[Option<usize>]>); 6] = [
            (&[3, 1, 0], None, Some(&[Some(2), Some(1), Some(0)])),
            (&[-3, -5], None, Some(&[Some(1), Some(0)])),
            (&[], None, Some(&[])),
            (&[3, 1, 9], Some(4), Some(&[None, Some(1), None, Some(0)])),
            (&[], Some(2), Some(&[None, None])),
            (&[1, -1], Some(2), None),
        ];
        for (keys, places, expected) in cases {
            let found = order(keys, places).ok();
            assert_eq!(found.as_deref(), expected, "{keys:?} {places:?}");
        }
    }

    #[test]
    fn numbers_are_written_with_six_digits() {
        for (value, expected) in [
            (1.5, "1.500000"),
            (-2.7, "-2.700000"),
            (1e20, "100000002004087734272.000000"),
            (f32::NAN, "nan"),
            (f32::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(fixed(value), expected);
        }
    }
}
