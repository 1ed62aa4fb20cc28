//! Ranked hits for programs.

use serde_json::{Map, Value as Json, json};
use stead_expr::Value;
use stead_expr::codec::json::{Form, to_json};
use stead_search::rank::RankedHit;

use super::Shown;

/// The hits of a query.
pub(super) fn json(shown: &Shown<'_>) -> Json {
    let hits: Vec<Json> = shown.ranked.hits.iter().map(|h| hit(shown, h)).collect();
    let mut json = json!({
        "query": shown.name,
        "profile": shown.plan.profile(),
        "documents": shown.documents.len(),
        "totalCount": shown.ranked.total,
        "hits": hits,
    });
    if let Some(explained) = shown.explained {
        json["explained"] = explained.json();
    }
    json
}

fn hit(shown: &Shown<'_>, hit: &RankedHit) -> Json {
    let mut object = Map::new();
    let mut add = |key: &str, value: Json| object.insert(key.to_owned(), value);
    add("id", shown.documents.id(hit.document).into());
    add("relevance", number(hit.relevance));
    add("firstPhase", number(hit.first_phase));
    for (key, score) in [("secondPhase", hit.second_phase), ("globalPhase", hit.global_phase)] {
        if let Some(score) = score {
            add(key, number(score));
        }
    }
    for (key, names, values) in [
        ("matchfeatures", shown.plan.match_features(), &hit.match_features),
        ("summaryfeatures", shown.plan.summary_features(), &hit.summary_features),
        ("rankfeatures", shown.plan.rank_features(), &hit.rank_features),
    ] {
        if !values.is_empty() {
            let pair = |(name, value): (&&str, &Value)| ((*name).to_owned(), feature(value));
            let features: Map<String, Json> = names.iter().zip(values).map(pair).collect();
            add(key, features.into());
        }
    }
    object.into()
}

/// A number, or a tensor in its short form with its type.
pub(super) fn feature(value: &Value) -> Json {
    match value.as_double() {
        Some(number) => self::number(number),
        None => to_json(value, Form::Short),
    }
}

/// What is no number stands as a text, as in Vespa's results.
pub(super) fn number(number: f64) -> Json {
    if number.is_finite() {
        return json!(number);
    }
    let text = match number.is_nan() {
        true => "NaN",
        false if number > 0.0 => "Infinity",
        false => "-Infinity",
    };
    text.into()
}
