//! Inputs that a package binds to a concatenation of query and documents.

use stead_app::application::rank::{ModelInput, Source};
use stead_engine::{Dim, JoinedInput};
use stead_expr::{Compiled, Rate};

/// The most parts of a concatenation that are told apart.
const MAX_PARTS: usize = 16;

/// The inputs with those that are concatenations of query and documents in parts, which stand in their place, and what is
/// to be joined.
pub(in crate::models) fn parts(inputs: &[ModelInput]) -> (Vec<ModelInput>, Vec<JoinedInput>) {
    let (mut all, mut joined) = (Vec::with_capacity(inputs.len()), Vec::new());
    for input in inputs {
        let Some((axis, parts)) = concatenated(&input.source) else {
            all.push(input.clone());
            continue;
        };
        let mut dims = Vec::with_capacity(parts.len());
        for (at, part) in parts.into_iter().enumerate() {
            let name = format!("{}/{at}", input.name);
            // The first dimension is left open for documents that share a run.
            let sizes = part.kind().indexed().map(|(_, size)| size).enumerate();
            let sizes =
                sizes.map(|(at, size)| if at == 0 { Dim::Unknown } else { Dim::Known(size) });
            dims.push((name.clone(), sizes.collect()));
            all.push(ModelInput { name, source: Source::Expression(part) });
        }
        joined.push(JoinedInput { input: input.name.clone(), axis, parts: dims });
    }
    (all, joined)
}

/// The axis and the parts of a concatenation that has parts of both kinds.
fn concatenated(source: &Source) -> Option<(usize, Vec<Compiled>)> {
    let Source::Expression(compiled) = source else { return None };
    let (along, _) = compiled.concatenated()?;
    let along = along.to_owned();
    let kind = compiled.kind();
    let axis = kind.dimensions().iter().position(|d| *d.name == *along)?;
    let mut parts = vec![compiled.clone()];
    // A concatenation of concatenations along the same dimension is one of all their parts.
    while let Some(at) =
        parts.iter().position(|part| part.concatenated().is_some_and(|(a, _)| a == along))
    {
        let (_, pair) = parts[at].concatenated()?;
        parts.splice(at..=at, pair);
        if parts.len() > MAX_PARTS {
            return None;
        }
    }
    // A part without a dimension that others have would be repeated along it.
    let names =
        |c: &Compiled| c.kind().dimensions().iter().map(|d| d.name.clone()).collect::<Vec<_>>();
    let fits = |part: &Compiled| part.kind().is_dense() && names(part) == names(compiled);
    let rate = |part: &Compiled| Source::Expression(part.clone()).rate();
    let is_mixed = parts.iter().any(|p| rate(p) == Rate::Document)
        && parts.iter().any(|p| rate(p) != Rate::Document);
    (is_mixed && axis > 0 && parts.iter().all(fits)).then_some((axis, parts))
}
