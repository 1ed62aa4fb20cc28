//! Parts of tensors at places that are given or computed.

use super::faults::{too_long, wrong};
use super::names::Lowering;
use super::{HeldLabel, Op, Place};
use crate::error::{Fault, Reason};
use crate::syntax;
use crate::types::Extent;
use crate::value::MAX_LABEL;

impl Lowering<'_> {
    /// The step of a part of an operand; `of` gives the steps of places that are computed.
    pub(super) fn peek(
        &mut self,
        operand: usize,
        places: &[(Option<String>, syntax::Place)],
        of: &dyn Fn(usize) -> Result<usize, Fault>,
        at: u32,
    ) -> Result<usize, Fault> {
        let source = self.kind(operand);
        let mut names: Vec<String> = Vec::new();
        for (name, _) in places {
            match (name, source.dimensions()) {
                (Some(name), _) => names.push(name.clone()),
                (None, [only]) => names.push(only.name.to_string()),
                (None, _) => {
                    let found = source.to_string();
                    return Err(wrong(
                        at,
                        "a place without a dimension",
                        "a tensor of one dimension",
                        found,
                    ));
                }
            }
        }
        let kind = source.peek(&names).map_err(|error| Fault {
            at,
            reason: Reason::Type { function: "peek".to_owned(), error },
        })?;
        let (mut operands, mut list) = (vec![operand], Vec::new());
        for (name, (_, place)) in names.iter().zip(places) {
            let Some(number) = source.dimensions().iter().position(|d| *d.name == **name) else {
                continue;
            };
            let extent = source.dimensions()[number].extent;
            let written;
            let place = match place {
                // What has names without a value is no expression.
                syntax::Place::Either(Some(label), id)
                    if extent == Extent::Mapped && of(*id).is_err() =>
                {
                    written = syntax::Place::Label(label.clone());
                    &written
                }
                other => other,
            };
            let place = match (place, extent) {
                (syntax::Place::Label(label), Extent::Mapped) => {
                    if label.len() > MAX_LABEL {
                        return Err(too_long(at, label.len()));
                    }
                    Place::Label(HeldLabel::new(label))
                }
                (syntax::Place::Label(label), extent) => {
                    let is_there = |index: &usize| match extent {
                        Extent::Indexed(size) => *index < size,
                        _ => true,
                    };
                    let Some(index) = label.parse().ok().filter(is_there) else {
                        return Err(wrong(
                            at,
                            "a place along an indexed dimension",
                            "an index that is there",
                            format!("{label:?}"),
                        ));
                    };
                    Place::Index(index)
                }
                (syntax::Place::Computed(id) | syntax::Place::Either(_, id), _) => {
                    let step = of(*id)?;
                    let found = self.kind(step);
                    if !found.is_double() {
                        return Err(wrong(at, "a place", "a number", found.to_string()));
                    }
                    operands.push(step);
                    Place::Operand(operands.len() - 1)
                }
            };
            list.push((number, place));
        }
        list.sort_by_key(|(number, _)| *number);
        Ok(self.step(Op::Peek(list), operands, kind))
    }
}
