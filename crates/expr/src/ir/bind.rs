//! Programs whose inputs have dimensions of unknown size, for values that have sizes.
//!
//! Such a program is typed as far as it can be when it is compiled. Once the values of its query are there, its steps get the
//! types that follow from theirs, and it runs as any other.

use std::sync::Arc;

use super::{Binary, Builder, Constant, Op, Place, Program, Step, Unary};
use crate::types::{Dimension, TensorType, TypeError};

/// A step that cannot take values of such sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfit {
    pub(crate) step: usize,
    pub(crate) error: TypeError,
}

impl Program {
    /// Whether all sizes are known.
    pub(crate) fn is_bound(&self) -> bool {
        self.steps.iter().all(|step| step.kind.is_bound())
    }

    /// The same program for inputs of these types.
    pub(crate) fn bind(&self, inputs: &[TensorType]) -> Result<Program, Unfit> {
        let mut builder = Builder::new(self.is_rounded);
        let numbered = inputs.iter().zip(&self.rates);
        let inputs: Vec<usize> =
            numbered.map(|(kind, rate)| builder.input(kind.clone(), *rate)).collect();
        let mut places: Vec<usize> = Vec::with_capacity(self.steps.len());
        for (at, step) in self.steps.iter().enumerate() {
            let place = match &step.op {
                Op::Input(number) => inputs[*number],
                Op::Constant(Constant(value)) => builder.shared(value.clone()),
                _ => {
                    let operands: Vec<usize> = step.operands.iter().map(|o| places[*o]).collect();
                    let kinds: Vec<TensorType> =
                        operands.iter().map(|o| builder.kind(*o).clone()).collect();
                    let (op, kind) =
                        step.bind(&kinds).map_err(|error| Unfit { step: at, error })?;
                    builder.step(op, operands, kind)
                }
            };
            places.push(place);
        }
        Ok(builder.finish(places[self.result]))
    }
}

impl Step {
    /// The operation and the type of its result for operands of these types.
    fn bind(&self, kinds: &[TensorType]) -> Result<(Op, TensorType), TypeError> {
        let inner = |program: &Arc<Program>, inputs: &[TensorType]| match program.bind(inputs) {
            Ok(program) => Ok(Arc::new(program)),
            Err(Unfit { error, .. }) => Err(error),
        };
        let kind = match &self.op {
            Op::Map(Unary::Known(_) | Unary::In(_) | Unary::Lambda(_)) | Op::CellOrder { .. } => {
                kinds[0].map()
            }
            Op::Join(Binary::Known(_) | Binary::Lambda(_)) => kinds[0].join(&kinds[1])?,
            Op::Merge(_) => kinds[0].merge(&kinds[1])?,
            Op::Reduce(_) => {
                let is_gone = |d: &&Dimension| self.kind.dimension(&d.name).is_none();
                let gone = kinds[0].dimensions().iter().filter(is_gone);
                kinds[0].reduce(&gone.map(|d| &*d.name).collect::<Vec<_>>())?
            }
            Op::Rename(order) => {
                let dimensions = self.kind.dimensions().iter().zip(order);
                let renamed = dimensions.map(|(d, at)| Dimension {
                    name: d.name.clone(),
                    extent: kinds[0].dimensions()[*at].extent,
                });
                TensorType::new(kinds[0].cell(), renamed.collect())?
            }
            Op::Concat(along) => kinds[0].concat(&kinds[1], along)?,
            Op::CellCast(cell) => kinds[0].with_cell(*cell),
            Op::UnpackBits { .. } => kinds[0].unpack_bits(self.kind.cell())?,
            Op::Generate(program) => {
                let indices = program.inputs.len() - kinds.len();
                let mut inputs = vec![TensorType::double(); indices];
                inputs.extend_from_slice(kinds);
                return Ok((Op::Generate(inner(program, &inputs)?), self.kind.clone()));
            }
            Op::Peek(places) => {
                let of = &kinds[0];
                let mut names = Vec::with_capacity(places.len());
                for (number, place) in places {
                    let dimension = &of.dimensions()[*number];
                    if let (Place::Index(index), Some(size)) = (place, dimension.size())
                        && *index >= size
                    {
                        let (of, dimension) = (of.clone(), dimension.name.to_string());
                        return Err(TypeError::Index { of, dimension, index: *index });
                    }
                    names.push(&*dimension.name);
                }
                of.peek(&names)?
            }
            Op::MapSubspaces(program) => {
                let program = inner(program, &[kinds[0].block()])?;
                let kind = kinds[0].map_subspaces(&program.steps[program.result].kind)?;
                return Ok((Op::MapSubspaces(program), kind));
            }
            Op::FilterSubspaces(program) => {
                let program = inner(program, &[kinds[0].block()])?;
                return Ok((Op::FilterSubspaces(program), kinds[0].clone()));
            }
            Op::If => kinds[1].either(&kinds[2])?,
            // What is fused has sizes.
            Op::Input(_) | Op::Constant(_) | Op::Create(_) | Op::Fused(_) => self.kind.clone(),
        };
        Ok((self.op.clone(), kind))
    }
}
