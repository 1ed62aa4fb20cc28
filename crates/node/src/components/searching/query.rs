//! Queries as searchers see them, and as they ask them of the documents.

use std::collections::BTreeMap;

use stead_expr::Value;
use stead_python::Value as Plain;
use stead_search::request::Values;

use crate::components::plain::tensor::{read_tensor, tensor};
use crate::components::plain::{PlainError, dict, kind};

/// A query on its way to the documents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// The values of its parameters.
    pub values: Values,
    /// Values of `query(name)`, which stand before those of parameters.
    pub features: BTreeMap<String, Value>,
}

/// The argument of `search`: parameters by the names that the table has for them, those of query profiles too.
///
/// # Errors
/// When memory is short.
pub(super) fn argument(query: &Query) -> Result<Plain, PlainError> {
    let pair = |(name, value): (&str, &str)| Plain::List(vec![name.into(), value.into()]);
    let parameters = Plain::List(query.values.iter().map(pair).collect());
    let mut features = Vec::with_capacity(query.features.len());
    for (name, value) in &query.features {
        // Numbers are numbers to Python too.
        let value = match value.as_double() {
            Some(number) => number.into(),
            None => tensor(value)?,
        };
        features.push((name.clone(), value));
    }
    let query = dict([("parameters", parameters), ("features", Plain::Dict(features))]);
    Ok(dict([("query", query)]))
}

/// The query that a searcher asks.
///
/// # Errors
/// That it is no query.
pub(super) fn read_query(query: Plain) -> Result<Query, String> {
    let Plain::Dict(members) = query else {
        return Err(format!("expected a query, found {}", kind(&query)));
    };
    let (mut query, mut features) = (Query::default(), Vec::new());
    for (name, value) in members {
        match (name.as_str(), value) {
            ("parameters", Plain::List(list)) => {
                for pair in list {
                    let (name, value) = parameter(pair)?;
                    query.values.set(&name, value);
                }
            }
            ("features", Plain::Dict(of)) => features = of,
            (name, other) => return Err(format!("a query with {} for {name}", kind(&other))),
        }
    }
    // Behind the parameters: what a searcher has set stands before what the request says.
    for (name, value) in features {
        match value {
            Plain::Float(number) => drop(query.features.insert(name, Value::double(number))),
            Plain::Str(text) => {
                query.values.set(&format!("ranking.features.query({name})"), text);
            }
            tensor => {
                let tensor = read_tensor(tensor).map_err(|e| format!("query({name}): {e}"))?;
                query.features.insert(name, tensor);
            }
        }
    }
    Ok(query)
}

fn parameter(pair: Plain) -> Result<(String, String), String> {
    if let Plain::List(pair) = pair
        && let Ok([Plain::Str(name), Plain::Str(value)]) = <[Plain; 2]>::try_from(pair)
    {
        return Ok((name, value));
    }
    Err("a query with a parameter that is no pair of texts".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(parameters: &[(&str, &str)], features: Plain) -> Result<Query, String> {
        let pair =
            |(name, value): &(&str, &str)| Plain::List(vec![(*name).into(), (*value).into()]);
        let parameters = Plain::List(parameters.iter().map(pair).collect());
        read_query(dict([("parameters", parameters), ("features", features)]))
    }

    #[test]
    fn what_searchers_set_stands_before_parameters() {
        let tensor = stead_expr::compile("tensor<float>(x[2]):[1,2]", &|_: &str| None).unwrap();
        let tensor = tensor.run(&[]).unwrap();
        let plain = crate::components::plain::tensor::tensor(&tensor).unwrap();
        let features = dict([("v", plain), ("n", 2.5.into()), ("t", "{a:1}".into())]);
        let given = [("input.query(t)", "{b:1}"), ("hits", "3"), ("my.own", "x")];
        let query = asked(&given, features).unwrap();
        let values: Vec<_> = query.values.iter().collect();
        let expected = [("hits", "3"), ("my.own", "x"), ("ranking.features.query(t)", "{a:1}")];
        assert_eq!(values, expected);
        let expected = [("n".to_owned(), Value::double(2.5)), ("v".to_owned(), tensor)];
        assert_eq!(query.features, BTreeMap::from(expected));
        // What is given is what is asked where nobody changes it.
        let Plain::Dict(members) = argument(&query).unwrap() else { panic!() };
        let given = members.into_iter().next().unwrap().1;
        assert_eq!(read_query(given), Ok(query));
    }

    #[test]
    fn what_is_no_query_is_told() {
        for (label, query, expected) in [
            ("none", Plain::None, "expected a query, found None"),
            ("another member", dict([("yql", "x".into())]), "a query with \"x\" for yql"),
            (
                "no pair",
                dict([("parameters", Plain::List(vec![1.into()]))]),
                "a query with a parameter that is no pair of texts",
            ),
            (
                "no tensor",
                dict([("features", dict([("v", true.into())]))]),
                "query(v): expected a stead.Tensor, found True",
            ),
        ] {
            assert_eq!(read_query(query), Err(expected.to_owned()), "{label}");
        }
    }
}
