//! ImageDecoder.
//!
//! How large an image is, and whether it is whole, is known only when it is decoded. So an operator of the engine's own decodes it
//! once, beside the arena where strings lie, and tells its sizes; they select the plan in which another one copies the cells.

use super::{NodeSpec, OpDef, OpPlan, Out, Param, TypeSet, plan_fn, types};
use crate::error::{BuildError, LoadError, PlanError, RunError};
use crate::ir::FunctionBody;
use stead_images::{ImageError, PixelFormat};
use stead_tensor::{DType, Shape};

/// The most pixels of an image: as many as Pillow reads without a warning, which are 256 MiB of colours.
const MAX_PIXELS: u64 = (1 << 28) / 3;

const BYTES: TypeSet = TypeSet::of(&[DType::U8]);

/// ImageDecoder, and the two operators that it is made of.
pub const OPS: &[OpDef] = &[
    OpDef::function("ImageDecoder", &[Param::required(0, BYTES)], &[Out::Fixed(DType::U8)], write)
        .since(20),
    OpDef::new(
        "DecodedImage",
        &[Param::required(0, BYTES)],
        &[Out::Fixed(DType::String), Out::Fixed(DType::I64)],
        decode,
    )
    .domain("stead"),
    OpDef::new(
        "Cells",
        &[Param::required(0, types::STRING), Param::required(1, types::I64_ONLY)],
        &[Out::Fixed(DType::U8)],
        cells,
    )
    .domain("stead"),
];

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let results = f.own("DecodedImage", &[true; 2])?;
    let found = f.call_of(("stead", "Cells"), results, &[])?;
    f.give(0, found);
    Ok(())
}

/// Input: the bytes of a file. Outputs: the cells of its pixels as one string; rows, columns and the cells of a pixel.
fn decode(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let name = spec.attributes().string_or("pixel_format", "RGB")?;
    let format = PixelFormat::named(name).ok_or_else(|| {
        BuildError::unsupported(format!("pixel_format {name}; supported: RGB, BGR, Grayscale"))
    })?;
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        if shape.rank() != 1 {
            return Err(PlanError::shape(format!("a vector of bytes is expected, got {shape}")));
        }
        let file = cx.input(0)?;
        let slots = [cx.output(0, Shape::new(&[1])?)?, cx.output(1, Shape::new(&[3])?)?];
        cx.step("decode image", &[file], &slots, move |a| {
            let (rows, columns, cells) = match stead_images::decode(a.read::<u8>(0)?, MAX_PIXELS) {
                Ok(image) => (image.height, image.width, image.into_cells(format)),
                // The standard: an empty matrix stands for what cannot be decoded. Not for what only stead does not read.
                Err(ImageError::Damaged(_) | ImageError::Format) => (0, 0, Vec::new()),
                Err(e) => return Err(RunError::value(e.to_string())),
            };
            a.write_strings(0, vec![cells])?;
            let sizes = [rows, columns, format.channels()].map(|size| size as i64);
            a.write::<i64>()?.copy_from_slice(&sizes);
            Ok(())
        });
        Ok(())
    })
}

/// Inputs: bytes as one string, and a shape of so many elements. Output: the bytes in that shape.
fn cells(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let dims: Result<Vec<usize>, _> = cx.ints(1)?.into_iter().map(usize::try_from).collect();
        let dims = dims.map_err(|_| PlanError::shape("a size is negative"))?;
        let string = cx.input(0)?;
        let slot = cx.output(0, Shape::new(&dims)?)?;
        cx.step("cells", &[string], &[slot], |a| {
            let bytes = a.strings(0)?.first().map(Vec::as_slice).unwrap_or_default();
            let cells = a.write::<u8>()?;
            if cells.len() != bytes.len() {
                let (is, wanted) = (bytes.len(), cells.len());
                return Err(RunError::value(format!("{is} bytes for {wanted} elements")));
            }
            cells.copy_from_slice(bytes);
            Ok(())
        });
        Ok(())
    })
}
