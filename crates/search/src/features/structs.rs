//! `tensorFromStructs(attribute(name), key, .., value, cell type)`: an array of structs as a tensor.

use std::ops::Range;

use stead_app::application::rank::FeatureName;
use stead_store::ManyColumn;

use super::labels::rows;
use super::{Call, Feature};

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let written = call.name.arguments.first().copied().unwrap_or_default();
    let source = FeatureName::parse(written).filter(|s| s.name == "attribute");
    let Some(name) = source.as_ref().and_then(|s| s.argument(0)) else {
        return Err(format!("expected attribute(name) as the source, found {written}"));
    };
    let count = call.name.arguments.len();
    let member = |at: usize| {
        let attribute = format!("{name}.{}", call.argument(at));
        match call.documents.attributes().iter().any(|a| a.name == attribute) {
            true => Ok(attribute),
            false => Err(format!(
                "{attribute} is no attribute; write struct-field {} {{ indexing: attribute }}",
                call.argument(at)
            )),
        }
    };
    // The dimensions of the type stand in the order of their names.
    let keys = call.kind.mapped().map(|d| (1..count).find(|at| call.argument(*at) == &*d.name));
    let keys = keys.map(|at| member(at.unwrap_or(1))).collect::<Result<Vec<_>, _>>()?;
    let (value, kind) = (member(count.saturating_sub(2))?, call.kind.clone());
    Ok(Feature::documents(move |cx| {
        let mut keys = keys.iter().map(|name| cx.elements(name)).collect::<Result<Vec<_>, _>>()?;
        let mut values = cx.elements(&value)?;
        cx.tensors(&kind, |document| {
            let of_keys = keys.iter_mut().filter_map(|key| key.at(document).transpose());
            let of_keys = of_keys.collect::<Result<Vec<_>, _>>()?;
            let Some((values, places)) = values.at(document)? else {
                return rows(&kind, [].into_iter());
            };
            let count = of_keys.iter().map(|(_, k)| k.len()).fold(places.len(), usize::min);
            let cell = |at: usize| {
                let label = |(key, places): &(&ManyColumn, Range<usize>)| {
                    key.elements().label(places.start + at)
                };
                let labels = of_keys.iter().map(label).collect::<Option<Vec<_>>>()?;
                Some((labels, values.elements().number(places.start + at)?))
            };
            rows(&kind, (0..count).filter_map(cell))
        })
    }))
}
