//! RotaryEmbedding: pairs of elements turned by angles that depend on their position.

use super::operands::{narrow, widened};
use super::{REAL, plan_fn};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, types};
use stead_kernels::attention::{Rotation, rotate};
use stead_tensor::{DType, Shape};

const X: Param = Param::required(1, REAL);

/// RotaryEmbedding.
pub(crate) const OPS: &[OpDef] = &[OpDef::new(
    "RotaryEmbedding",
    &[X, X, X, Param::optional(0, types::I64_ONLY)],
    &[Out::Like(0)],
    build,
)
.since(23)];

#[derive(Debug, Clone, Copy)]
struct Options {
    heads: usize,
    turned: usize,
    interleaved: bool,
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let size = |name: &str| {
        let value = attributes.int_or(name, 0)?;
        usize::try_from(value).map_err(|_| BuildError::unsupported(format!("{name} of {value}")))
    };
    let options = Options {
        heads: size("num_heads")?,
        turned: size("rotary_embedding_dim")?,
        interleaved: attributes.bool_or("interleaved", false)?,
    };
    plan_fn(move |cx| plan(cx, options))
}

fn plan(cx: &mut PlanCx<'_>, options: Options) -> Result<(), PlanError> {
    let shape = cx.shape(0)?;
    let fail = || PlanError::shape(format!("{shape} does not fall apart into heads"));
    // Batch entries, positions, heads and width, and elements from one to the next.
    let (dims, strides) = match *shape.dims() {
        [batches, heads, positions, width] => {
            let strides = [heads * positions * width, width, positions * width];
            ([batches, positions, heads, width], strides)
        }
        [batches, positions, hidden] if options.heads > 0 && hidden % options.heads == 0 => {
            let width = hidden / options.heads;
            ([batches, positions, options.heads, width], [positions * hidden, hidden, width])
        }
        _ => return Err(fail()),
    };
    let [batches, positions, _, width] = dims;
    let turned = if options.turned == 0 { width } else { options.turned };
    if turned > width || !turned.is_multiple_of(2) {
        return Err(PlanError::shape(format!("{turned} of {width} elements cannot be turned")));
    }
    let by_id = cx.has_input(3);
    let cache = check_cache(cx, by_id, [batches, positions], turned / 2)?;
    let rotation =
        Rotation { dims, strides, turned, interleaved: options.interleaved, cache_rows: cache };
    let mut reads = Vec::new();
    for index in 0..3 {
        let (dtype, elements) = (cx.dtype(index)?, cx.shape(index)?.elements());
        let whole = cx.input(index)?;
        reads.push(widened(cx, whole, dtype, elements));
    }
    if by_id {
        reads.push(cx.input(3)?);
    }
    let dtype = cx.dtype(0)?;
    let out = cx.output(0, shape)?;
    let wide = if dtype == DType::F32 { out } else { cx.temp_of::<f32>(shape.elements()) };
    cx.step("rotate", &reads, &[wide], move |a| {
        let ids = if by_id { Some(a.read::<i64>(3)?) } else { None };
        let (x, cos, sin) = (a.read(0)?, a.read(1)?, a.read(2)?);
        rotate(&rotation, x, cos, sin, ids, a.write::<f32>()?).map_err(|position| {
            RunError::value(format!("position {position} is not among the {cache} cached ones"))
        })
    });
    if dtype != DType::F32 {
        let wide = cx.read_back(wide);
        cx.step("narrow", &[wide], &[out], move |a| narrow(a, dtype));
    }
    Ok(())
}

/// Checks the caches of cosines and sines; gives the number of positions that they hold, 0 when they hold
/// every position of every batch entry in order.
fn check_cache(
    cx: &PlanCx<'_>,
    by_id: bool,
    positions: [usize; 2],
    angles: usize,
) -> Result<usize, PlanError> {
    let (cos, sin) = (cx.shape(1)?, cx.shape(2)?);
    let [batches, count] = positions;
    let fits = match (by_id, cos.dims()) {
        (true, &[_, n]) => n == angles && cx.shape(3)? == Shape::new(&positions)?,
        (false, &[b, p, n]) => [b, p, n] == [batches, count, angles],
        _ => false,
    };
    if !fits || cos != sin {
        return Err(PlanError::shape(format!(
            "caches of shapes {cos} and {sin} for {batches} x {count} positions of {angles} angles"
        )));
    }
    Ok(if by_id { cos[0] } else { 0 })
}
