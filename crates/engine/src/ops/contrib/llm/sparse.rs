//! SparseAttention: attention in which each head sees some blocks of the keys before it.

use super::cache::{entries, first};
use super::grouped::{Cache, heads, int, parts, turned};
use super::{MICROSOFT, OWN, REAL};
use crate::error::{BuildError, LoadError, PlanError, RunError};
use crate::ir::FunctionBody;
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, TypeSet, plan_fn, types};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Shape, Tensor};

const X: Param = Param::required(1, REAL);
const MAYBE: Param = Param::optional(1, REAL);
const INT: Param = Param::required(0, TypeSet::of(&[DType::I32]));

/// SparseAttention, and BlockBias: what CacheBias says of the keys, `[batch, 1, rows, keys]`, with the lowest number for keys in
/// blocks that a head does not see, `[batch, heads, rows, keys]`.
pub const OPS: &[OpDef] = &[
    OpDef::function(
        "SparseAttention",
        &[X, MAYBE, MAYBE, X, X, INT, INT, INT, INT, MAYBE, MAYBE],
        &[Out::Like(0), Out::Like(0), Out::Like(0)],
        write,
    )
    .domain(MICROSOFT),
    OpDef::new(
        "BlockBias",
        &[INT, INT, Param::required(0, REAL), Param::required(0, types::F32_ONLY), INT, INT],
        &[Out::Fixed(DType::F32)],
        blocks,
    )
    .domain(OWN),
];

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (own, shared) = (heads(f, "num_heads")?, heads(f, "kv_num_heads")?);
    let block = heads(f, "sparse_block_size")?;
    // Lengths count the keys, which the cache's operators ask for by their last.
    let one = f.constant_of(Tensor::from_slice(&[1_i32], &[])?);
    let lengths = f.input(8)?;
    let cache = Cache { lasts: f.call("Sub", &[lengths, one], &[])?, longest: f.input(7)? };
    let [mut q, mut k, v] = parts(f, own, shared)?;
    if f.attributes().bool_or("do_rotary", false)? {
        let ids = cache.call(f, "CachePositions", q, None, &[])?;
        let tables = [f.input(9)?, f.input(10)?];
        q = turned(f, q, ids, own, tables)?;
        k = turned(f, k, ids, shared, tables)?;
    }
    // The operator writes into the cache that it is given: what lies behind the last row stays.
    let attributes = [("heads", int(shared)), ("keeps", int(1))];
    let past = [f.input(3)?, f.input(4)?];
    let k = cache.call(f, "CachePut", k, Some(past[0]), &attributes)?;
    let v = cache.call(f, "CachePut", v, Some(past[1]), &attributes)?;
    let causal = cache.call(f, "CacheBias", q, Some(k), &[])?;
    let inputs = [cache.lasts, cache.longest, q, causal, f.input(5)?, f.input(6)?];
    let attributes = [("heads", int(own)), ("block", int(block))];
    let bias = f.call_of((OWN, "BlockBias"), inputs.map(Some).to_vec(), &attributes)?;
    let mut attributes = vec![("q_num_heads", int(own)), ("kv_num_heads", int(shared))];
    let scale = f.attributes().float("scale")?.filter(|&scale| scale != 0.0);
    attributes.extend(scale.map(|scale| ("scale", AttributeValue::Float(scale))));
    let y = f.call("Attention", &[q, k, v, bias], &attributes)?;
    for (output, value) in [y, k, v].into_iter().enumerate() {
        f.give(output, value);
    }
    Ok(())
}

/// Which blocks of keys the blocks of queries see: for each layout a matrix of compressed rows.
#[derive(Debug, Clone, Copy)]
struct Layouts {
    count: usize,
    /// Blocks of rows, and of columns.
    blocks: usize,
    /// Room for columns that each layout has.
    room: usize,
    /// Keys in a block.
    size: usize,
}

impl Layouts {
    /// The columns that a block of rows sees.
    fn columns<'a>(
        &self,
        layout: usize,
        block: usize,
        rows: &[i32],
        columns: &'a [i32],
    ) -> Result<&'a [i32], RunError> {
        let at = layout * (self.blocks + 1) + block;
        let (from, to) = (rows[at], rows[at + 1]);
        let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
        let all = &columns[layout * self.room..][..self.room];
        range.and_then(|(from, to)| all.get(from..to)).ok_or_else(|| {
            RunError::value(format!(
                "block_row_indices of block {block} are {from} and {to}, of {} columns",
                self.room
            ))
        })
    }
}

fn blocks(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let positive = |name: &str| {
        let value = spec.attributes().int_or(name, 0)?;
        let size = usize::try_from(value).ok().filter(|&size| size > 0);
        size.ok_or_else(|| BuildError::unsupported(format!("{name} of {value}")))
    };
    let (heads, size) = (positive("heads")?, positive("block")?);
    plan_fn(move |cx| {
        let (batch, rows, longest) = entries(cx)?;
        let (causal, row_shape, column_shape) = (cx.shape(3)?, cx.shape(4)?, cx.shape(5)?);
        let keys = causal.last().copied().unwrap_or(0);
        let layouts = match (row_shape.dims(), column_shape.dims()) {
            (&[count, ends], &[same, room])
                if count == same && count > 0 && ends > 1 && heads.is_multiple_of(count) =>
            {
                Layouts { count, blocks: ends - 1, room, size }
            }
            _ => {
                return Err(PlanError::shape(format!(
                    "block_row_indices of {row_shape} and block_col_indices of {column_shape} for {heads} heads; expected \
                     [layouts, blocks + 1] and [layouts, columns], where the heads are a multiple of the layouts"
                )));
            }
        };
        if layouts.blocks.saturating_mul(size) < longest {
            return Err(PlanError::shape(format!(
                "{} blocks of {size} keys for {longest} keys",
                layouts.blocks
            )));
        }
        let reads = [cx.input(0)?, cx.input(3)?, cx.input(4)?, cx.input(5)?];
        let slot = cx.output(0, Shape::new(&[batch, heads, rows, keys])?)?;
        cx.step("block bias", &reads, &[slot], move |a| {
            let (lasts, causal) = (a.read::<i32>(0)?, a.read::<f32>(1)?);
            let (ends, columns) = (a.read::<i32>(2)?, a.read::<i32>(3)?);
            let out = a.write::<f32>()?;
            for (at, out) in out.chunks_exact_mut(keys.max(1)).enumerate() {
                let (row, head, entry) = (at % rows, at / rows % heads, at / rows / heads);
                out.copy_from_slice(&causal[(entry * rows + row) * keys..][..keys]);
                let last = lasts.get(entry).copied().unwrap_or(0);
                let own = first(last, rows, longest)? + row;
                let seen = layouts.columns(head % layouts.count, own / size, ends, columns)?;
                hide_others(&mut out[..=own.min(keys - 1)], seen, layouts)?;
            }
            Ok(())
        });
        Ok(())
    })
}

/// Gives the lowest number to keys outside of the blocks that are seen. It is finite, so that a row that sees none of them has the mean of
/// all values, as it has in ONNX Runtime.
fn hide_others(out: &mut [f32], seen: &[i32], layouts: Layouts) -> Result<(), RunError> {
    let outside = |&&column: &&i32| usize::try_from(column).map_or(true, |c| c >= layouts.blocks);
    if let Some(column) = seen.iter().find(outside) {
        return Err(RunError::value(format!(
            "block_col_indices has {column} among those of a row of {} blocks",
            layouts.blocks
        )));
    }
    for (block, out) in out.chunks_mut(layouts.size).enumerate() {
        if !seen.iter().any(|&column| column as usize == block) {
            out.fill(f32::MIN);
        }
    }
    Ok(())
}
