//! Cells to the elements of an input, and the elements of an output to cells, exactly or to the nearest as
//! [`Element`] tells.

use half::{bf16, f16};
use stead_expr::{Bit, CellType, Cells, Element, Number, Numbers, each_number};
use stead_tensor::{AlignedBuf, DType, Tensor, TensorError, TensorView};

/// A number that does not become an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfit {
    /// As text: a whole number has more digits than a float.
    pub(super) number: String,
}

/// Numbers as bytes, if they are elements of this type as they lie.
pub(super) fn bytes(numbers: Numbers<'_>, dtype: DType) -> Option<&[u8]> {
    Some(match (numbers, dtype) {
        (Numbers::F64(list), DType::F64) => bytemuck::cast_slice(list),
        (Numbers::F32(list), DType::F32) => bytemuck::cast_slice(list),
        (Numbers::BF16(list), DType::BF16) => bytemuck::cast_slice(list),
        (Numbers::F16(list), DType::F16) => bytemuck::cast_slice(list),
        (Numbers::I64(list), DType::I64) => bytemuck::cast_slice(list),
        (Numbers::I32(list), DType::I32) => bytemuck::cast_slice(list),
        (Numbers::I16(list), DType::I16) => bytemuck::cast_slice(list),
        (Numbers::I8(list), DType::I8) => bytemuck::cast_slice(list),
        (Numbers::U8(list), DType::U8) => bytemuck::cast_slice(list),
        _ => return None,
    })
}

/// Writes numbers as elements into memory that has room for exactly these, aligned for them.
pub(super) fn write(
    numbers: Numbers<'_>,
    dtype: DType,
    is_rounded: bool,
    out: &mut [u8],
) -> Result<(), Unfit> {
    if let Some(bytes) = bytes(numbers, dtype) {
        out.copy_from_slice(bytes);
        return Ok(());
    }
    match dtype {
        DType::F32 => convert::<f32>(numbers, is_rounded, out),
        DType::F64 => convert::<f64>(numbers, is_rounded, out),
        DType::F16 => convert::<f16>(numbers, is_rounded, out),
        DType::BF16 => convert::<bf16>(numbers, is_rounded, out),
        DType::I8 => convert::<i8>(numbers, is_rounded, out),
        DType::I16 => convert::<i16>(numbers, is_rounded, out),
        DType::I32 => convert::<i32>(numbers, is_rounded, out),
        DType::I64 => convert::<i64>(numbers, is_rounded, out),
        DType::U8 => convert::<u8>(numbers, is_rounded, out),
        DType::U16 => convert::<u16>(numbers, is_rounded, out),
        DType::U32 => convert::<u32>(numbers, is_rounded, out),
        DType::U64 => convert::<u64>(numbers, is_rounded, out),
        DType::Bool => each(numbers, is_rounded, out.iter_mut(), |bit: Bit| bit.0),
        _ => Err(Unfit { number: "a number".to_owned() }),
    }
}

fn convert<T: Element + bytemuck::Pod>(
    numbers: Numbers<'_>,
    is_rounded: bool,
    out: &mut [u8],
) -> Result<(), Unfit> {
    let out: &mut [T] = bytemuck::cast_slice_mut(out);
    each(numbers, is_rounded, out.iter_mut(), |element: T| element)
}

fn each<'o, T: Element, S: 'o>(
    numbers: Numbers<'_>,
    is_rounded: bool,
    out: impl Iterator<Item = &'o mut S>,
    stored: impl Fn(T) -> S,
) -> Result<(), Unfit> {
    each_number!(numbers, list => {
        for (to, from) in out.zip(list) {
            let element = T::of(Number::from(*from), is_rounded);
            *to = stored(element.ok_or_else(|| Unfit { number: from.to_string() })?);
        }
    });
    Ok(())
}

/// A tensor of a model with elements of another type: those that it does not have exactly are no elements of it, but for
/// fractions, which become the nearest.
///
/// # Errors
/// In words: an element that does not fit, texts, or memory that is short.
pub fn converted(view: TensorView<'_>, dtype: DType) -> Result<Tensor, String> {
    let (from, shape) = (view.dtype(), view.shape());
    let short = |e: TensorError| e.to_string();
    if from == dtype {
        return view.to_tensor().map_err(short);
    }
    let unfit = |unfit: Unfit| format!("{} is no {dtype}", unfit.number);
    if !is_number(from) || !is_number(dtype) {
        return Err(format!("elements of {from} become no {dtype}"));
    }
    let mut buf = AlignedBuf::zeroed(shape.byte_len(dtype)).map_err(short)?;
    match numbers(&view).map_err(unfit)? {
        Some(list) => write(list, dtype, false, &mut buf),
        None => {
            let mut wide = no_cells(CellType::Int64);
            read(&view, false, &mut wide).map_err(unfit)?;
            match &wide {
                Cells::Int64(list) => write(Numbers::I64(list), dtype, false, &mut buf),
                _ => Ok(()),
            }
        }
    }
    .map_err(unfit)?;
    Tensor::from_buffer(dtype, shape, buf).map_err(short)
}

/// The elements of an array where they lie; nothing for types that only tensors of models have.
fn numbers<'v>(view: &TensorView<'v>) -> Result<Option<Numbers<'v>>, Unfit> {
    Ok(Some(match view.dtype() {
        DType::F64 => Numbers::F64(list(view)?),
        DType::F32 => Numbers::F32(list(view)?),
        DType::BF16 => Numbers::BF16(list(view)?),
        DType::F16 => Numbers::F16(list(view)?),
        DType::I64 => Numbers::I64(list(view)?),
        DType::I32 => Numbers::I32(list(view)?),
        DType::I16 => Numbers::I16(list(view)?),
        DType::I8 => Numbers::I8(list(view)?),
        DType::U8 => Numbers::U8(list(view)?),
        _ => return Ok(None),
    }))
}

fn list<'v, T: stead_tensor::Element>(view: &TensorView<'v>) -> Result<&'v [T], Unfit> {
    view.as_slice::<T>().map_err(|_| Unfit { number: format!("a {}", view.dtype().name()) })
}

/// Whether numbers can become elements of a type at all.
pub(super) fn is_number(dtype: DType) -> bool {
    use DType::{BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(dtype, F32 | F64 | F16 | BF16 | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | Bool)
}

/// Adds the elements of an output to cells of the type that they come in.
pub(super) fn read(
    view: &TensorView<'_>,
    is_rounded: bool,
    cells: &mut Cells<'static>,
) -> Result<(), Unfit> {
    fn add<T: stead_tensor::Element>(
        view: &TensorView<'_>,
        is_rounded: bool,
        cells: &mut Cells<'static>,
        number: impl Fn(T) -> Number,
    ) -> Result<(), Unfit> {
        let numbers = list::<T>(view)?.iter().map(|x| number(*x));
        cells.extend_numbers(numbers, is_rounded).map_err(|e| Unfit { number: e.number })
    }
    match (&mut *cells, view.dtype()) {
        (Cells::Double(to), DType::F64) => to.to_mut().extend_from_slice(list(view)?),
        (Cells::Float(to), DType::F32) => to.to_mut().extend_from_slice(list(view)?),
        (Cells::BFloat16(to), DType::BF16) => to.to_mut().extend_from_slice(list(view)?),
        (Cells::Float16(to), DType::F16) => to.to_mut().extend_from_slice(list(view)?),
        (Cells::Int8(to), DType::I8) => to.to_mut().extend_from_slice(list(view)?),
        (Cells::Int16(to), DType::I16) => to.to_mut().extend_from_slice(list(view)?),
        (Cells::Int32(to), DType::I32) => to.to_mut().extend_from_slice(list(view)?),
        (Cells::Int64(to), DType::I64) => to.to_mut().extend_from_slice(list(view)?),
        (Cells::UInt8(to), DType::U8) => to.to_mut().extend_from_slice(list(view)?),
        (_, DType::F16) => add::<f16>(view, is_rounded, cells, Number::from)?,
        (_, DType::I16) => add::<i16>(view, is_rounded, cells, Number::from)?,
        (_, DType::I32) => add::<i32>(view, is_rounded, cells, Number::from)?,
        (_, DType::I64) => add::<i64>(view, is_rounded, cells, Number::from)?,
        (_, DType::U8) => add::<u8>(view, is_rounded, cells, Number::from)?,
        (_, DType::U16) => add::<u16>(view, is_rounded, cells, |x| i64::from(x).into())?,
        (_, DType::U32) => add::<u32>(view, is_rounded, cells, |x| i64::from(x).into())?,
        (_, DType::U64) => {
            let is_double = |x: &u64| *x as f64 as u128 == u128::from(*x);
            let all = list::<u64>(view)?;
            let large = all.iter().find(|x| i64::try_from(**x).is_err() && !is_double(x));
            if let (Some(large), false) = (large, is_rounded) {
                return Err(Unfit { number: large.to_string() });
            }
            let number = |x| i64::try_from(x).map_or(Number::Float(x as f64), Number::from);
            add::<u64>(view, is_rounded, cells, number)?;
        }
        (_, DType::Bool) => {
            let bit = |x: stead_tensor::Bool| i64::from(x.get()).into();
            add::<stead_tensor::Bool>(view, is_rounded, cells, bit)?;
        }
        (_, other) => return Err(Unfit { number: format!("a {}", other.name()) }),
    }
    Ok(())
}

/// Cells of a type without any.
pub(super) fn no_cells(cell: CellType) -> Cells<'static> {
    Cells::zeros(cell, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a number becomes, and what it becomes when it may be rounded.
    fn both(numbers: Numbers<'_>, dtype: DType) -> (Result<Vec<u8>, String>, Vec<u8>) {
        let mut out = vec![0_u64; 1];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut out);
        let out = &mut bytes[..dtype.bits() / 8];
        let exact = write(numbers, dtype, false, out).map(|()| out.to_vec()).map_err(|u| u.number);
        write(numbers, dtype, true, out).unwrap();
        (exact, out.to_vec())
    }

    #[test]
    fn whole_numbers_never_change_and_fractions_are_rounded_between_floats() {
        use DType::{BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let nearest = |x: f32| x.to_le_bytes().to_vec();
        let cases: Vec<(&str, Numbers<'_>, DType, Result<Vec<u8>, &str>, Vec<u8>)> = vec![
            ("a fraction", Numbers::F64(&[0.1]), F32, Ok(nearest(0.1)), nearest(0.1)),
            (
                "2^24 + 1",
                Numbers::F64(&[16_777_217.0]),
                F32,
                Err("16777217"),
                nearest(16_777_216.0),
            ),
            ("too large", Numbers::F64(&[1e300]), F32, Err(""), nearest(f32::INFINITY)),
            (
                "infinite",
                Numbers::F64(&[f64::INFINITY]),
                F32,
                Ok(nearest(f32::INFINITY)),
                nearest(f32::INFINITY),
            ),
            (
                "half too large",
                Numbers::F32(&[65_520.0]),
                F16,
                Err("65520"),
                f16::INFINITY.to_le_bytes().to_vec(),
            ),
            (
                "half",
                Numbers::F32(&[0.1]),
                F16,
                Ok(f16::from_f32(0.1).to_le_bytes().to_vec()),
                f16::from_f32(0.1).to_le_bytes().to_vec(),
            ),
            (
                "257 as bf16",
                Numbers::F32(&[257.0]),
                BF16,
                Err("257"),
                bf16::from_f32(256.0).to_le_bytes().to_vec(),
            ),
            (
                "an id",
                Numbers::I64(&[(1 << 53) + 1]),
                I64,
                Ok(((1_i64 << 53) + 1).to_le_bytes().to_vec()),
                ((1_i64 << 53) + 1).to_le_bytes().to_vec(),
            ),
            (
                "an id as float",
                Numbers::I64(&[(1 << 53) + 1]),
                F64,
                Err("9007199254740993"),
                (9_007_199_254_740_992.0_f64).to_le_bytes().to_vec(),
            ),
            (
                "no whole number",
                Numbers::F32(&[1.5]),
                I64,
                Err("1.5"),
                2_i64.to_le_bytes().to_vec(),
            ),
            (
                "2^63",
                Numbers::F64(&[9_223_372_036_854_775_808.0]),
                I64,
                Err("9223372036854776000"),
                i64::MAX.to_le_bytes().to_vec(),
            ),
            (
                "-2^63",
                Numbers::F64(&[-9_223_372_036_854_775_808.0]),
                I64,
                Ok(i64::MIN.to_le_bytes().to_vec()),
                i64::MIN.to_le_bytes().to_vec(),
            ),
            (
                "2^64",
                Numbers::F64(&[18_446_744_073_709_551_616.0]),
                U64,
                Err("18446744073709552000"),
                u64::MAX.to_le_bytes().to_vec(),
            ),
            ("below zero", Numbers::I8(&[-1]), U32, Err("-1"), vec![0; 4]),
            ("NaN", Numbers::F64(&[f64::NAN]), I32, Err("NaN"), vec![0; 4]),
            ("256", Numbers::I16(&[256]), U8, Err("256"), vec![255]),
            ("255", Numbers::I16(&[255]), U8, Ok(vec![255]), vec![255]),
            ("-129", Numbers::I32(&[-129]), I8, Err("-129"), vec![128]),
            ("u16", Numbers::F32(&[65_535.0]), U16, Ok(vec![255, 255]), vec![255, 255]),
            ("i16", Numbers::F32(&[40_000.0]), I16, Err("40000"), i16::MAX.to_le_bytes().to_vec()),
            ("1", Numbers::F32(&[1.0]), Bool, Ok(vec![1]), vec![1]),
            ("2", Numbers::U8(&[2]), Bool, Err("2"), vec![1]),
            ("0.5", Numbers::F32(&[0.5]), Bool, Err("0.5"), vec![1]),
        ];
        for (label, numbers, dtype, exact, rounded) in cases {
            let (found, nearest) = both(numbers, dtype);
            assert_eq!(nearest, rounded, "{label}");
            match exact {
                Err("") => assert!(found.is_err(), "{label}"),
                exact => assert_eq!(found, exact.map_err(str::to_owned), "{label}"),
            }
        }
    }

    #[test]
    fn tensors_take_other_elements_where_nothing_is_lost() {
        use DType::{BF16, Bool, F32, F64, I32, I64, String, U16};
        let f64s = |list: &[f64]| Tensor::from_slice(list, &[list.len()]).unwrap();
        let i64s = |list: &[i64]| Tensor::from_slice(list, &[list.len()]).unwrap();
        let texts = Tensor::from_strings(vec![b"1".to_vec()], &[1]).unwrap();
        let f32s = Tensor::from_slice(&[0.1f32, 2.0], &[2]).unwrap();
        for (label, from, to, expected) in [
            ("doubles", f64s(&[0.1, 2.0]), F32, Ok(f32s)),
            ("whole doubles", f64s(&[7.0]), I64, Ok(i64s(&[7]))),
            ("whole numbers", i64s(&[1, -2]), F64, Ok(f64s(&[1.0, -2.0]))),
            ("the same", i64s(&[1 << 60]), I64, Ok(i64s(&[1 << 60]))),
            ("unsigned", Tensor::from_slice(&[9u16], &[1]).unwrap(), I64, Ok(i64s(&[9]))),
            (
                "bits",
                Tensor::from_slice(&[stead_tensor::Bool(1)], &[1]).unwrap(),
                F64,
                Ok(f64s(&[1.0])),
            ),
            ("a fraction", f64s(&[1.5]), I32, Err("1.5 is no i32")),
            ("too large", i64s(&[1 << 40]), I32, Err("1099511627776 is no i32")),
            ("below zero", i64s(&[-1]), U16, Err("-1 is no u16")),
            ("no bit", i64s(&[2]), Bool, Err("2 is no bool")),
            ("not whole in bfloat16", i64s(&[257]), BF16, Err("257 is no bf16")),
            ("texts", texts, F32, Err("elements of string become no f32")),
            ("numbers as texts", i64s(&[1]), String, Err("elements of i64 become no string")),
        ] {
            let found = converted(from.view(), to);
            assert_eq!(found, expected.map_err(str::to_owned), "{label}");
        }
    }
}
