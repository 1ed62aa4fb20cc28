//! Chance, the same for the same seed (Vespa takes another seed for each query unless `rank-properties` names one).

use super::rand48::Rand48;
use super::{Call, Feature};

/// The seed of values that stay the same for a query and a document (Vespa's).
const MATCH_SEED: u64 = 1024;

/// Documents are counted from 1 in Vespa.
const FIRST: u64 = 1;

fn seed(call: &Call<'_>, name: &str) -> Option<u64> {
    let text = call.properties.get(&format!("{}.{name}", call.base()))?;
    text.trim().parse().ok().filter(|seed| *seed != 0)
}

/// `random`: the numbers of one sequence in the order of the documents. `random.match`: the first number of a sequence for each
/// document.
pub(super) fn random(call: &Call<'_>) -> Result<Feature, String> {
    if call.name.output == "match" {
        let base = call.base();
        let own = seed(call, "match.seed");
        return Ok(Feature::documents(move |cx| {
            let of_query =
                cx.query.query.text(&format!("{base}.match.seed")).and_then(|t| t.parse().ok());
            let seed: u64 = of_query.or(own).unwrap_or(MATCH_SEED);
            Ok(cx.numbers(|row| Rand48::new(seed.wrapping_add(u64::from(row) + FIRST)).uniform()))
        }));
    }
    let own = seed(call, "seed");
    Ok(Feature::documents(move |cx| {
        let begin = Rand48::new(own.unwrap_or(cx.query.seed));
        Ok(cx.numbers(|row| {
            let mut random = begin;
            random.skip(u64::from(row));
            random.uniform()
        }))
    }))
}

/// `randomNormal(mean, deviation)` and `randomNormalStable(mean, deviation)`, both with a seed of its own for each document.
pub(super) fn normal(call: &Call<'_>) -> Result<Feature, String> {
    let number = |at: usize, default: f64| match call.name.argument(at) {
        Some(text) => text.parse().map_err(|_| format!("expected a number, found {text}")),
        None => Ok(default),
    };
    let (mean, deviation) = (number(0, 0.0)?, number(1, 1.0)?);
    let (own, is_stable) = (seed(call, "seed"), call.name.name == "randomNormalStable");
    Ok(Feature::documents(move |cx| {
        let seed = own.unwrap_or(if is_stable { MATCH_SEED } else { cx.query.seed });
        let one = |row: u32| Rand48::new(seed.wrapping_add(u64::from(row) + FIRST)).normal();
        Ok(cx.numbers(|row| mean + deviation * one(row)))
    }))
}
