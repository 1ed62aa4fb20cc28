//! Time: `now`, `age`, `freshness`.

use stead_expr::Value;
use stead_store::{Column, DataType, Elements, NumberList};

use super::{Call, DocumentContext, Feature};
use crate::columns::Computed;

/// 90 days: after these a document is not fresh at all (Vespa, documentation, `reference/ranking/rank-feature-configuration.html`).
const MAX_AGE: f64 = 90.0 * 24.0 * 3600.0;

/// 7 days: after these `freshness.logscale` is one half.
const HALF_RESPONSE: f64 = 7.0 * 24.0 * 3600.0;

/// The age of documents without a time.
const NO_TIME: f64 = 1e10;

pub(super) fn now(_: &Call<'_>) -> Result<Feature, String> {
    Ok(Feature::query(|cx| Ok(Value::double(cx.now))))
}

pub(super) fn age(call: &Call<'_>) -> Result<Feature, String> {
    let name = call.argument(0).to_owned();
    Ok(Feature::documents(move |cx| ages(cx, &name)))
}

/// The seconds from each document's time to now, not below 0.
fn ages(cx: &DocumentContext<'_>, name: &str) -> Result<Computed, String> {
    let now = cx.query.now;
    let age = |time: i64| (now - time as f64).max(0.0);
    // A time that is missing is the least number of its type, as in Vespa, which makes for a great age.
    let time = |list: &NumberList, at: usize| match list.integer(at) {
        Some(time) => Some(time),
        None => list.get(at).filter(|t| !t.is_nan()).map(|t| t as i64),
    };
    let column = cx.column(name)?;
    match &column.about().kind {
        DataType::Array(of) | DataType::WeightedSet(of) if **of == DataType::Text => {
            return Err(format!("attribute {name} has texts, which are no times"));
        }
        DataType::Text | DataType::Raw | DataType::Tensor(_) => {
            return Err(format!("attribute {name} is no number, and so no time"));
        }
        _ => {}
    }
    cx.numbers_of(column, |place| {
        let time = match place {
            Some((Column::Numbers(numbers), row)) => time(numbers.list(), row),
            Some((Column::Many(many), row)) => match many.elements() {
                Elements::Numbers(list) => many.places(row).next().and_then(|at| time(list, at)),
                Elements::Texts(_) => None,
            },
            _ => None,
        };
        time.map_or(NO_TIME, age)
    })
}

pub(super) fn freshness(call: &Call<'_>) -> Result<Feature, String> {
    let name = call.argument(0).to_owned();
    let max_age = call.property("maxAge").unwrap_or(MAX_AGE).max(1.0);
    let mut half = call.property("halfResponse").unwrap_or(HALF_RESPONSE).max(1.0);
    if half >= max_age / 2.0 {
        half = max_age / 2.0 - 1.0;
    }
    let is_log = call.name.output == "logscale";
    Ok(Feature::documents(move |cx| {
        let Computed::Numbers(mut ages) = ages(cx, &name)? else {
            return Err("ages are numbers".to_owned());
        };
        for age in &mut ages {
            *age = match is_log {
                true => logscale(*age, max_age, half),
                false => (1.0 - *age / max_age).max(0.0),
            };
        }
        Ok(Computed::Numbers(ages))
    }))
}

/// From 1 at 0 over one half at `half` to 0 at `most`, straight over the logarithm.
fn logscale(x: f64, most: f64, half: f64) -> f64 {
    logarithmic(x, most, scale(half, most))
}

/// The scale with which [`logarithmic`] is one half at `half`.
pub(super) fn scale(half: f64, most: f64) -> f64 {
    half * half / (most - 2.0 * half)
}

/// From 1 at 0 to 0 at `most`: `(ln(most + s) - ln(x + s)) / (ln(most + s) - ln(s))`
/// (Vespa, `searchlib/src/vespa/searchlib/features/logarithmcalculator.h`).
pub(super) fn logarithmic(x: f64, most: f64, s: f64) -> f64 {
    let (top, bottom) = ((most + s).ln(), s.ln());
    (top - (x.clamp(0.0, most) + s).ln()) / (top - bottom)
}

#[cfg(test)]
mod tests {
    use super::logscale;

    #[test]
    fn the_logarithmic_scale_passes_through_its_three_points() {
        for (x, expected) in [(0.0, 1.0), (7.0, 0.5), (90.0, 0.0), (1000.0, 0.0)] {
            let found = logscale(x, 90.0, 7.0);
            assert!((found - expected).abs() < 1e-12, "{x}: {found}");
        }
    }
}
