//! `dotProduct(attribute, vector)`: a vector of the query and the elements of a field
//! (Vespa, documentation, `reference/ranking/rank-features.html`).

use std::collections::HashMap;

use stead_store::DataType;

use super::{Call, Feature, text};

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let (name, vector) = (call.argument(0).to_owned(), call.argument(1).to_owned());
    // A map is its keys and values.
    let (keys, values) = match call.documents.attributes().iter().find(|a| a.name == name) {
        Some(found) => match found.kind {
            DataType::WeightedSet(_) => (name, None),
            DataType::Array(_) => (name.clone(), Some(name)),
            _ => {
                return Err(format!(
                    "attribute {name} is a {}, expected a weighted set, an array or a map",
                    found.kind
                ));
            }
        },
        None => (format!("{name}.key"), Some(format!("{name}.value"))),
    };
    let is_array = values.as_ref() == Some(&keys);
    Ok(Feature::documents(move |cx| {
        let written = cx.query.query.text(&format!("dotProduct.{vector}"));
        let written = written.or_else(|| cx.query.query.text(&vector)).unwrap_or_default();
        let mut keys = cx.elements(&keys)?;
        let mut values = values.as_ref().map(|name| cx.elements(name)).transpose()?;
        if is_array {
            let vector = positions(&written)?;
            return cx.try_numbers(|document| {
                let Some((numbers, places)) = keys.at(document)? else { return Ok(0.0) };
                let product = |(at, place): (usize, usize)| {
                    let number = numbers.elements().number(place).unwrap_or(0.0);
                    vector.get(&at).map_or(0.0, |weight| weight * number)
                };
                Ok(places.enumerate().map(product).sum())
            });
        }
        let vector: HashMap<String, f64> = match written.is_empty() {
            true => HashMap::new(),
            false => text::weights(&written)?.into_iter().collect(),
        };
        cx.try_numbers(|document| {
            let Some((keys, places)) = keys.at(document)? else { return Ok(0.0) };
            let values = values.as_mut().map_or(Ok(None), |values| values.at(document))?;
            let product = |(at, place): (usize, usize)| {
                let label = keys.elements().label(place).unwrap_or_default();
                let number = match &values {
                    Some((values, places)) => values.elements().number(places.start + at),
                    None => Some(f64::from(keys.weight(place))),
                };
                vector.get(&label).map_or(0.0, |weight| weight * number.unwrap_or(0.0))
            };
            Ok(places.enumerate().map(product).sum())
        })
    }))
}

/// A vector by places: `[1 2 3]`, or `{0:1,2:3}`.
fn positions(written: &str) -> Result<HashMap<usize, f64>, String> {
    let number = |text: &str| {
        text.parse::<f64>().map_err(|_| format!("expected a number, found {text:.40}"))
    };
    if written.is_empty() {
        return Ok(HashMap::new());
    }
    if written.trim_start().starts_with('[') {
        let list = text::list(written)?;
        return list.iter().enumerate().map(|(at, text)| Ok((at, number(text)?))).collect();
    }
    let place = |(key, weight): (String, f64)| {
        let place = key
            .parse()
            .map_err(|_| format!("expected the place of an element, found {key:.40}"))?;
        Ok((place, weight))
    };
    text::weights(written)?.into_iter().map(place).collect()
}
