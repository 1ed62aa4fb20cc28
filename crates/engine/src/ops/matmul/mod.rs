//! Matrix products: MatMul, Gemm, and the product with bias, residual and activation that passes make of
//! them.

mod batch;
mod fused;
mod gemm;
mod inner;
mod integer;
mod nbits;
mod normal;
mod number;
mod product;
mod rows;

use super::{NodeSpec, OpDef, Out, Param, TypeSet, types};
use crate::error::BuildError;
use stead_tensor::DType::*;

use super::nn::conv_integer::BYTES;

/// Types of scales of quantised products.
const SCALE: TypeSet = TypeSet::of(&[F32, F16, BF16]);
/// Element types that products are computed for.
const PRODUCT: TypeSet = types::FLOAT.or(TypeSet::of(&[I32, I64, U32, U64]));

/// Inputs of quantised products whose sums become floats.
const TO_FLOAT: [Param; 7] = [
    Param::required(1, BYTES),
    Param::required(2, BYTES),
    Param::required(0, types::F32_ONLY),
    Param::required(0, types::F32_ONLY),
    Param::optional(1, BYTES),
    Param::optional(2, BYTES),
    Param::optional(0, types::F32_ONLY),
];
const TO_FLOAT_ADDED: [Param; 8] = {
    let [a, b, a_scale, b_scale, a_zero, b_zero, bias] = TO_FLOAT;
    [a, b, a_scale, b_scale, a_zero, b_zero, bias, Param::optional(0, types::F32_ONLY)]
};

/// Inputs of a product with what follows it.
const FUSED: [Param; 9] = [
    Param::required(1, types::F32_ONLY),
    Param::required(1, types::F32_ONLY),
    Param::optional(1, types::F32_ONLY),
    Param::optional(1, types::F32_ONLY),
    Param::optional(1, types::F32_ONLY),
    Param::optional(1, types::F32_ONLY),
    Param::optional(0, types::I64_ONLY),
    Param::optional(1, types::F32_ONLY),
    Param::optional(1, types::F32_ONLY),
];

/// Inputs of products by weights of few bits.
const N_BITS: [Param; 6] = [
    Param::required(1, types::F32_ONLY),
    Param::required(0, BYTES),
    Param::required(1, types::F32_ONLY),
    Param::optional(0, BYTES),
    Param::optional(0, TypeSet::of(&[I32])),
    Param::optional(1, types::F32_ONLY),
];

/// Packs the matrix of the product that comes before another in the step of a node, if there is one.
pub fn pack_inner(spec: &NodeSpec<'_>) -> Result<(), BuildError> {
    inner::Form::of(spec).map(drop)
}

/// MatMul, Gemm, their fused form, and products of bytes.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "MatMul",
        &[Param::required(1, PRODUCT), Param::required(1, PRODUCT)],
        &[Out::Like(0)],
        product::matmul,
    ),
    OpDef::new(
        "Gemm",
        &[Param::required(1, PRODUCT), Param::required(1, PRODUCT), Param::optional(1, PRODUCT)],
        &[Out::Like(0)],
        gemm::build,
    ),
    // norm(act(alpha A B + bias + residual)): inputs A, B, bias of N elements, residual of the output's shape, scale and bias
    // of the normalisation, the shape that the product is seen in, and B and bias of the product whose result is A in the place of
    // the input; attributes transA, transB, alpha, activation and the activation's parameters, norm, epsilon, perm, and those of
    // the inner product with `inner_` before their names.
    OpDef::new("MatMul", &FUSED, &[Out::Like(0)], fused::build).domain("stead"),
    // Weights of few bits: B, scales, zero points, an order of K that is not supported, bias.
    OpDef::new("MatMulNBits", &N_BITS, &[Out::Like(0)], nbits::build).domain("com.microsoft"),
    // The same with blocks of any size.
    OpDef::new("MatMulNBits", &N_BITS, &[Out::Like(0)], nbits::build_blocks).domain("stead"),
    OpDef::new(
        "MatMulInteger",
        &[
            Param::required(1, BYTES),
            Param::required(2, BYTES),
            Param::optional(1, BYTES),
            Param::optional(2, BYTES),
        ],
        &[Out::Fixed(I32)],
        integer::matmul,
    ),
    OpDef::new(
        "QLinearMatMul",
        &[
            Param::required(1, BYTES),
            Param::required(0, SCALE),
            Param::required(1, BYTES),
            Param::required(2, BYTES),
            Param::required(0, SCALE),
            Param::required(2, BYTES),
            Param::required(0, SCALE),
            Param::required(3, BYTES),
        ],
        &[Out::Like(7)],
        integer::qlinear,
    ),
    // A, B, their scales, their zero points and a bias of N elements.
    OpDef::new("MatMulIntegerToFloat", &TO_FLOAT, &[Out::Fixed(F32)], integer::to_float)
        .domain("com.microsoft"),
    // The same with a residual; attributes activation and the activation's parameters.
    OpDef::new("MatMulIntegerToFloat", &TO_FLOAT_ADDED, &[Out::Fixed(F32)], integer::to_float)
        .domain("stead"),
];
