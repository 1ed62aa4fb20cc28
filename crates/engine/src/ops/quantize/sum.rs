//! QLinearAdd: a sum of quantised numbers, quantised.

use crate::error::{BuildError, PlanError, RunError};
use crate::ops::broadcasting::{aligned, broadcast_shape};
use crate::ops::nn::conv_integer::{check_count, first, limited};
use crate::ops::{Args, NodeSpec, OpPlan, Operand, PlanCx, activation, plan_fn};
use stead_kernels::broadcast::Broadcast;
use stead_kernels::elementwise::{BinaryOp, Lane, Run};
use stead_kernels::gemm::{Activation, activate_slice};
use stead_kernels::quantize::{Addend, add_bytes, dequantize_bytes, quantize_bytes};
use stead_kernels::requantize::Quantized;
use stead_tensor::{DType, Element};

/// What passes make of Add between DequantizeLinear and QuantizeLinear, as which QLinearAdd of `com.microsoft` is read.
pub(super) fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let activation = activation::from_attributes(spec.attributes())?;
    if !matches!(activation, Activation::None | Activation::Relu | Activation::Clip { .. }) {
        return Err(BuildError::unsupported(format!("{activation:?} of bytes")));
    }
    plan_fn(move |cx| {
        for index in [1, 2, 4, 5, 6, 7] {
            check_count(cx, index, &[1])?;
        }
        match cx.dtype(0)? {
            DType::U8 => plan::<u8>(cx, activation),
            _ => plan::<i8>(cx, activation),
        }
    })
}

/// Places of a scale and a zero point among the reads of a step.
#[derive(Clone, Copy)]
struct Place {
    scale: usize,
    zero: Option<usize>,
}

impl Place {
    fn read<T: Element>(self, a: &Args<'_>) -> Result<(f32, T), RunError> {
        let zero = self.zero.map(|i| first::<T>(a, i)).transpose()?;
        Ok((first(a, self.scale)?, zero.unwrap_or_else(T::zeroed)))
    }
}

fn plan<T: Element + Quantized>(
    cx: &mut PlanCx<'_>,
    activation: Activation,
) -> Result<(), PlanError> {
    let shapes = [cx.shape(0)?, cx.shape(3)?];
    let shape = broadcast_shape(&shapes[0], &shapes[1])?;
    let mut reads = vec![cx.input(0)?, cx.input(3)?];
    let mut places = [Place { scale: 0, zero: None }; 3];
    for (place, index) in places.iter_mut().zip([1, 4, 6]) {
        place.scale = reads.len();
        reads.push(cx.input(index)?);
        if cx.has_input(index + 1) {
            place.zero = Some(reads.len());
            reads.push(cx.input(index + 1)?);
        }
    }
    let out = cx.output(0, shape)?;
    if shapes == [shape, shape] {
        cx.step("add bytes", &reads, &[out], move |a| {
            let (x, y) = (places[0].read::<T>(a)?, places[1].read::<T>(a)?);
            let of = |q, (scale, zero)| Addend { q, scale, zero };
            let both = [of(a.read::<T>(0)?, x), of(a.read::<T>(1)?, y)];
            let (scale, zero) = places[2].read::<T>(a)?;
            let limits = limited(activation, scale, zero.into(), (T::LOW, T::HIGH));
            add_bytes(a.isa, a.parallel, both, (scale, zero), limits, a.write::<T>()?);
            Ok(())
        });
        return Ok(());
    }
    // One is repeated: by floats, which the other operators repeat.
    let mut floats = Vec::new();
    for (i, of) in shapes.iter().enumerate() {
        let wide = cx.temp_of::<f32>(of.elements());
        let place = places[i];
        cx.step("dequantize", &reads, &[wide], move |a| {
            let (scale, zero) = place.read::<T>(a)?;
            let q = a.read::<T>(i)?;
            let wide = &mut a.write::<f32>()?[..q.len()];
            dequantize_bytes(a.isa, a.parallel, q, scale, zero, wide);
            Ok(())
        });
        floats.push(cx.read_back(wide));
    }
    let strides = [
        aligned(&shapes[0], &shapes[0].strides(), &shape)?,
        aligned(&shapes[1], &shapes[1].strides(), &shape)?,
    ];
    let plan = Broadcast::new(&shape, std::array::from_fn(|k| &strides[k][..]), [0, 0]);
    let count = shape.elements();
    let sum = cx.temp_of::<f32>(count);
    cx.step("add", &floats, &[sum], move |a| {
        let (x, y, out) = (a.read::<f32>(0)?, a.read::<f32>(1)?, a.write::<f32>()?);
        let out = &mut out[..count];
        let run = Run { isa: a.isa, parallel: a.parallel, plan: &plan };
        Lane::binary(run, BinaryOp::Add, x, y, out);
        activate_slice(a.isa, activation, out);
        Ok(())
    });
    let place = places[2];
    let sum: Operand = cx.read_back(sum);
    let reads: Vec<Operand> = [sum].into_iter().chain(reads).collect();
    cx.step("quantize", &reads, &[out], move |a| {
        let moved = Place { scale: place.scale + 1, zero: place.zero.map(|i| i + 1) };
        let (scale, zero) = moved.read::<T>(a)?;
        let sum = &a.read::<f32>(0)?[..count];
        quantize_bytes(a.isa, a.parallel, sum, scale, zero, a.write::<T>()?);
        Ok(())
    });
    Ok(())
}
