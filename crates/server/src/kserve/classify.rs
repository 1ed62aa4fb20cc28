//! Triton's classification extension: the best classes instead of the tensor.

use crate::fault::Fault;
use crate::tensors::for_dtype;
use stead_tensor::{Bool, DType, Tensor};

/// The `k` largest values of each batch row as strings `value:index`, best first, ties by lower index. With
/// `batched`, axis 0 is the batch and the answer has shape `[B,k]`; without, the whole tensor is one row and
/// the answer has shape `[k]`.
///
/// # Errors
/// Types that are no numbers.
pub fn classify(tensor: &Tensor, k: u64, batched: bool) -> Result<Tensor, Fault> {
    let values: Vec<f64> = for_dtype!(tensor.dtype(),
        T => tensor.as_slice::<T>()?.iter().map(|v| v.score()).collect(),
        _ => return Err(no_classes(tensor.dtype())));
    let rows = match tensor.shape().dims().first() {
        Some(&rows) if batched => rows,
        _ => 1,
    };
    let width = values.len() / rows.max(1);
    let k = usize::try_from(k).unwrap_or(usize::MAX).min(width);
    let mut strings = Vec::with_capacity(rows * k);
    for row in values.chunks(width.max(1)) {
        let mut order: Vec<usize> = (0..row.len()).collect();
        let at = |i: usize| row.get(i).copied().unwrap_or(f64::NAN);
        order.sort_by(|&a, &b| at(b).total_cmp(&at(a)));
        strings.extend(order.iter().take(k).map(|&i| format!("{:.6}:{i}", at(i)).into_bytes()));
    }
    Ok(if batched && tensor.shape().rank() > 0 {
        Tensor::from_strings(strings, &[rows, k])?
    } else {
        Tensor::from_strings(strings, &[k])?
    })
}

/// Whether tensors of a type have classes.
///
/// # Errors
/// Types that are no numbers.
pub fn check_classes(dtype: DType) -> Result<(), Fault> {
    for_dtype!(dtype, T => { let _ = size_of::<T>(); Ok(()) }, _ => Err(no_classes(dtype)))
}

fn no_classes(dtype: DType) -> Fault {
    Fault::invalid(format!("classification needs numbers, the output has type {dtype}"))
}

/// A value to sort by.
trait Score: Copy {
    fn score(self) -> f64;
}
macro_rules! scores {
    ($($t:ty),*) => {$(impl Score for $t { fn score(self) -> f64 { self as f64 } })*};
}
scores!(f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);
impl Score for half::f16 {
    fn score(self) -> f64 {
        self.to_f64()
    }
}
impl Score for half::bf16 {
    fn score(self) -> f64 {
        self.to_f64()
    }
}
impl Score for Bool {
    fn score(self) -> f64 {
        f64::from(u8::from(self.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_first() {
        let t = Tensor::from_slice(&[0.5f32, 2.0, 1.0, 9.0, 9.0, 7.0], &[2, 3]).unwrap();
        let text = |t: &Tensor| {
            t.view().strings().iter().map(|s| String::from_utf8_lossy(s).into_owned()).collect()
        };
        let got: Vec<String> = text(&classify(&t, 2, true).unwrap());
        assert_eq!(got, ["2.000000:1", "1.000000:2", "9.000000:0", "9.000000:1"]);
        let all = classify(&t, 100, false).unwrap();
        assert_eq!(all.shape().dims(), [6]);
        let strings = Tensor::from_strings(vec![vec![]], &[1]).unwrap();
        assert!(classify(&strings, 1, false).is_err());
    }
}
