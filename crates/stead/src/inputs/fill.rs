//! Seeded random values.

use half::{bf16, f16};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

use crate::failure::Failure;

/// A generator of values: the same name and seed give the same tensor on every machine.
pub struct Fill(u64);

impl Fill {
    /// A generator for the input `name`: inputs of one run differ from each other.
    pub fn new(name: &str, seed: u64) -> Fill {
        // FNV-1a spreads the name over the 64 bits of state.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Fill(hash ^ seed)
    }

    /// SplitMix64 (Steele, Lea and Flood 2014): small, fast and good enough for test values.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1): the upper 53 bits, as many as a double holds.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A tensor of values in `range` (min inclusive, max exclusive), by default -1..1 for floats and 0..2
    /// for integers and booleans.
    pub fn tensor(
        &mut self,
        dtype: DType,
        dims: &[usize],
        range: Option<(f64, f64)>,
    ) -> Result<Tensor, Failure> {
        let shape = Shape::new(dims).map_err(Failure::usage)?;
        let (min, max) = range.unwrap_or(if dtype.is_float() { (-1.0, 1.0) } else { (0.0, 2.0) });
        if min >= max || !(max - min).is_finite() {
            return Err(Failure::usage(format!("the range {min}:{max} is empty")));
        }
        let elements = shape.elements();
        if dtype == DType::String {
            let strings = (0..elements).map(|_| format!("s{}", self.next() % 100).into_bytes());
            return Tensor::from_strings(strings.collect(), &shape).map_err(Failure::failed);
        }
        let mut buf = AlignedBuf::zeroed(shape.byte_len(dtype)).map_err(Failure::failed)?;
        for element in buf.chunks_exact_mut(dtype.size().max(1)) {
            let value = min + self.unit() * (max - min);
            // Rounding in the last step may reach the bound that is excluded.
            let value = if value >= max { min } else { value };
            self.write(element, dtype, value)?;
        }
        Tensor::from_buffer(dtype, shape, buf).map_err(Failure::failed)
    }

    fn write(&mut self, out: &mut [u8], dtype: DType, value: f64) -> Result<(), Failure> {
        let whole = value.floor();
        match dtype {
            DType::F32 => out.copy_from_slice(&(value as f32).to_le_bytes()),
            DType::F64 => out.copy_from_slice(&value.to_le_bytes()),
            DType::F16 => out.copy_from_slice(&f16::from_f64(value).to_le_bytes()),
            DType::BF16 => out.copy_from_slice(&bf16::from_f64(value).to_le_bytes()),
            DType::I8 => out.copy_from_slice(&(whole as i8).to_le_bytes()),
            DType::I16 => out.copy_from_slice(&(whole as i16).to_le_bytes()),
            DType::I32 => out.copy_from_slice(&(whole as i32).to_le_bytes()),
            DType::I64 => out.copy_from_slice(&(whole as i64).to_le_bytes()),
            DType::U8 | DType::Bool => out.copy_from_slice(&(whole as u8).to_le_bytes()),
            DType::U16 => out.copy_from_slice(&(whole as u16).to_le_bytes()),
            DType::U32 => out.copy_from_slice(&(whole as u32).to_le_bytes()),
            DType::U64 => out.copy_from_slice(&(whole as u64).to_le_bytes()),
            _ => return Err(Failure::usage(format!("no random values of type {dtype}"))),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_in_the_range_and_depend_on_name_and_seed() {
        let make = |name, seed| Fill::new(name, seed).tensor(DType::F32, &[1000], None).unwrap();
        let x = make("x", 0);
        assert!(x.as_slice::<f32>().unwrap().iter().all(|v| (-1.0..1.0).contains(v)));
        assert_eq!(x, make("x", 0));
        assert_ne!(x, make("y", 0));
        assert_ne!(x, make("x", 1));

        let ids = Fill::new("ids", 0).tensor(DType::I64, &[1000], Some((5.0, 8.0))).unwrap();
        let mut seen = ids.as_slice::<i64>().unwrap().to_vec();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [5, 6, 7]);

        let bools = Fill::new("b", 0).tensor(DType::Bool, &[100], None).unwrap();
        assert!(bools.bytes().iter().all(|&b| b < 2));
    }

    #[test]
    fn empty_ranges_are_refused() {
        for range in [(1.0, 1.0), (2.0, 1.0), (f64::NEG_INFINITY, 0.0)] {
            assert!(Fill::new("x", 0).tensor(DType::F32, &[1], Some(range)).is_err());
        }
    }
}
