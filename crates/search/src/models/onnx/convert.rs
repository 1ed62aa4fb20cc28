//! Cells to the elements of an input, and the elements of an output to cells.
//!
//! Whole numbers never change: one that the other type does not have is an error, and so is a fraction where whole numbers
//! are expected. Fractions are rounded to the nearest of a narrower float, as Vespa rounds them.

use half::{bf16, f16};
use stead_expr::{CellType, Cells, Numbers, each_number};
use stead_tensor::{DType, TensorView};

use super::element::{Bit, Element, Number};

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
        DType::Bool => convert::<Bit>(numbers, is_rounded, out),
        _ => Err(Unfit { number: "a number".to_owned() }),
    }
}

fn convert<T: Element>(
    numbers: Numbers<'_>,
    is_rounded: bool,
    out: &mut [u8],
) -> Result<(), Unfit> {
    let out: &mut [T] = bytemuck::cast_slice_mut(out);
    each_number!(numbers, list => {
        for (to, from) in out.iter_mut().zip(list) {
            let number = Number::from(*from);
            *to = match T::exact(number) {
                Some(element) => element,
                None if is_rounded => T::nearest(number),
                None => return Err(Unfit { number: from.to_string() }),
            };
        }
    });
    Ok(())
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
    fn list<'v, T: stead_tensor::Element>(view: &TensorView<'v>) -> Result<&'v [T], Unfit> {
        view.as_slice::<T>().map_err(|_| Unfit { number: format!("a {}", view.dtype().name()) })
    }
    fn wide<T: Copy + ToString>(
        from: &[T],
        is_rounded: bool,
        to: &mut Vec<f64>,
        widen: impl Fn(T) -> f64,
        is_same: impl Fn(T, f64) -> bool,
    ) -> Result<(), Unfit> {
        for x in from {
            let number = widen(*x);
            if !is_rounded && !is_same(*x, number) {
                return Err(Unfit { number: x.to_string() });
            }
            to.push(number);
        }
        Ok(())
    }
    match (cells, view.dtype()) {
        (Cells::Int8(to), DType::I8) => to.to_mut().extend_from_slice(list(view)?),
        (Cells::BFloat16(to), DType::BF16) => to.to_mut().extend_from_slice(list(view)?),
        (Cells::Float(to), dtype) => {
            let to = to.to_mut();
            match dtype {
                DType::F32 => to.extend_from_slice(list(view)?),
                DType::F16 => to.extend(list::<f16>(view)?.iter().map(|x| x.to_f32())),
                DType::U8 => to.extend(list::<u8>(view)?.iter().map(|x| f32::from(*x))),
                DType::U16 => to.extend(list::<u16>(view)?.iter().map(|x| f32::from(*x))),
                DType::I16 => to.extend(list::<i16>(view)?.iter().map(|x| f32::from(*x))),
                DType::Bool => {
                    let bits = list::<stead_tensor::Bool>(view)?;
                    to.extend(bits.iter().map(|x| f32::from(u8::from(x.0 != 0))));
                }
                other => return Err(Unfit { number: format!("a {}", other.name()) }),
            }
        }
        (Cells::Double(to), dtype) => {
            let to = to.to_mut();
            match dtype {
                DType::F64 => to.extend_from_slice(list(view)?),
                DType::I32 => to.extend(list::<i32>(view)?.iter().map(|x| f64::from(*x))),
                DType::U32 => to.extend(list::<u32>(view)?.iter().map(|x| f64::from(*x))),
                DType::I64 => wide::<i64>(
                    list(view)?,
                    is_rounded,
                    to,
                    |x| x as f64,
                    |x, f| f as i128 == i128::from(x),
                )?,
                DType::U64 => wide::<u64>(
                    list(view)?,
                    is_rounded,
                    to,
                    |x| x as f64,
                    |x, f| f as u128 == u128::from(x),
                )?,
                other => return Err(Unfit { number: format!("a {}", other.name()) }),
            }
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
}
