//! Queries as searchers see them, and as they ask them of the documents.

use std::collections::BTreeMap;

use stead_expr::Value;
use stead_python::Value as Plain;
use stead_search::request::Values;

use crate::components::plain::tensor::read_tensor;
use crate::components::plain::{dict, kind};

/// What is asked of the documents.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Question {
    /// The values of its parameters.
    pub(crate) values: Values,
    /// Values of `query(name)` as they are.
    pub(crate) features: BTreeMap<String, Value>,
}

/// The argument of `search`: parameters by the names that the table has for them, those of query profiles too.
pub(super) fn argument(values: &Values) -> Plain {
    let pair = |(name, value): (&str, &str)| Plain::List(vec![name.into(), value.into()]);
    let parameters = Plain::List(values.iter().map(pair).collect());
    dict([("query", dict([("parameters", parameters), ("features", dict([]))]))])
}

/// The question that a searcher asks.
///
/// # Errors
/// That it is no query.
pub(super) fn read_question(query: Plain) -> Result<Question, String> {
    let Plain::Dict(members) = query else {
        return Err(format!("expected a query, found {}", kind(&query)));
    };
    let (mut question, mut features) = (Question::default(), Vec::new());
    for (name, value) in members {
        match (name.as_str(), value) {
            ("parameters", Plain::List(list)) => {
                for pair in list {
                    let (name, value) = parameter(pair)?;
                    question.values.set(&name, value);
                }
            }
            ("features", Plain::Dict(of)) => features = of,
            (name, other) => return Err(format!("a query with {} for {name}", kind(&other))),
        }
    }
    // Behind the parameters: what a searcher has set stands before what the request says.
    for (name, value) in features {
        match value {
            Plain::Float(number) => drop(question.features.insert(name, Value::double(number))),
            Plain::Str(text) => {
                question.values.set(&format!("ranking.features.query({name})"), text);
            }
            tensor => {
                let tensor = read_tensor(tensor).map_err(|e| format!("query({name}): {e}"))?;
                question.features.insert(name, tensor);
            }
        }
    }
    Ok(question)
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

    fn asked(parameters: &[(&str, &str)], features: Plain) -> Result<Question, String> {
        let pair =
            |(name, value): &(&str, &str)| Plain::List(vec![(*name).into(), (*value).into()]);
        let parameters = Plain::List(parameters.iter().map(pair).collect());
        read_question(dict([("parameters", parameters), ("features", features)]))
    }

    #[test]
    fn what_searchers_set_stands_before_parameters() {
        let tensor = stead_expr::compile("tensor<float>(x[2]):[1,2]", &|_: &str| None).unwrap();
        let tensor = tensor.run(&[]).unwrap();
        let plain = crate::components::plain::tensor::tensor(&tensor).unwrap();
        let features = dict([("v", plain), ("n", 2.5.into()), ("t", "{a:1}".into())]);
        let given = [("input.query(t)", "{b:1}"), ("hits", "3"), ("my.own", "x")];
        let question = asked(&given, features).unwrap();
        let values: Vec<_> = question.values.iter().collect();
        let expected = [("hits", "3"), ("my.own", "x"), ("ranking.features.query(t)", "{a:1}")];
        assert_eq!(values, expected);
        let expected = [("n".to_owned(), Value::double(2.5)), ("v".to_owned(), tensor)];
        assert_eq!(question.features, BTreeMap::from(expected));
        // What is given is what is asked where nobody changes it.
        let Plain::Dict(members) = argument(&question.values) else { panic!() };
        let query = members.into_iter().next().unwrap().1;
        assert_eq!(read_question(query).unwrap().values, question.values);
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
            assert_eq!(read_question(query), Err(expected.to_owned()), "{label}");
        }
    }
}
