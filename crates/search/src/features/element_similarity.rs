//! `elementSimilarity(field)`: how similar the query is to the elements of a field, each for itself
//! (Vespa, `searchlib/src/vespa/searchlib/features/element_similarity_feature.cpp`).

use stead_expr::{Compiled, Rate, TensorType, Value, compile};

use super::elements::Places;
use super::terms::{FieldTerms, query_terms};
use super::text_similarity::similarity;
use super::{Call, DocumentContext, Feature, default};
use crate::columns::Computed;

/// The feature itself, where nothing is said.
const USUAL: &str = "max((0.35*p+0.15*o+0.30*q+0.20*f)*w)";

/// What an expression knows of an element: proximity, order, how much of the query and of the element is matched, and its weight.
const NAMES: [&str; 5] = ["p", "o", "q", "f", "w"];

/// An output: an expression of an element, and what becomes of those of all elements with a match.
struct Output {
    expression: Compiled,
    together: Together,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Together {
    Max,
    Average,
    Sum,
}

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let name = call.argument(0);
    let output = if call.name.output.is_empty() { "default" } else { call.name.output };
    let said = call.property_text(&format!("output.{output}"));
    let text = said.or((output == "default").then_some(USUAL));
    let text = text.ok_or_else(|| {
        format!("there is no elementSimilarity({name}).output.{output} in the rank-properties")
    })?;
    let output = Output::read(text)?;
    let Some(index) = call.documents.texts().iter().position(|of| of.name == name) else {
        return Ok(usual);
    };
    Ok(Feature::documents(move |cx| scores(cx, index, &output)).noted(usual))
}

impl Output {
    fn read(text: &str) -> Result<Output, String> {
        let expected = || format!("expected max, avg or sum of an expression, found {text:.60}");
        let inner = text.trim().strip_suffix(')').and_then(|text| text.split_once('('));
        let (together, expression) = inner.ok_or_else(expected)?;
        let together = match together.trim() {
            "max" => Together::Max,
            "avg" => Together::Average,
            "sum" => Together::Sum,
            _ => return Err(expected()),
        };
        let scope =
            |name: &str| NAMES.contains(&name).then(|| (TensorType::double(), Rate::Document));
        let expression = compile(expression, &scope).map_err(|e| format!("{text:.60}: {e}"))?;
        match expression.kind().is_double() {
            true => Ok(Output { expression, together }),
            false => Err(format!("{text:.60} is no number")),
        }
    }

    fn of(&self, parts: [f64; 5]) -> Result<f64, String> {
        let of_name = |name: &String| NAMES.iter().position(|known| known == name);
        let values = self.expression.names().iter().filter_map(of_name);
        let values: Vec<Value> = values.map(|at| Value::double(parts[at])).collect();
        let inputs: Vec<&Value> = values.iter().collect();
        let result = self.expression.run(&inputs).map_err(|error| error.to_string())?;
        Ok(result.as_double().unwrap_or(0.0))
    }
}

impl Together {
    fn of(self, list: &[f64]) -> f64 {
        let sum: f64 = list.iter().sum();
        match self {
            // NaN is the greatest only where it is the first.
            Together::Max => {
                list.iter().copied().reduce(|a, b| if b > a { b } else { a }).unwrap_or(0.0)
            }
            Together::Average => sum / list.len().max(1) as f64,
            Together::Sum => sum,
        }
    }
}

fn scores(cx: &DocumentContext<'_>, index: usize, output: &Output) -> Result<Computed, String> {
    let terms: Vec<_> = query_terms(cx).into_iter().filter(|term| term.weight != 0.0).collect();
    let Some(mut asked) = FieldTerms::new(cx, index, &terms) else {
        return Ok(cx.numbers(|_| 0.0));
    };
    let weights: Vec<f64> = asked.terms.iter().map(|term| terms[*term].weight).collect();
    let mut places = Places::default();
    let mut found = Vec::new();
    cx.try_numbers(|lid| {
        places.read(&mut asked, lid);
        found.clear();
        places.each(|element, of_terms| {
            // Terms that stand at one place are more than the words there.
            let matched = of_terms.iter().filter(|places| !places.is_empty()).count() as u32;
            let words = element.words.max(1);
            if let Some([proximity, mut order, query, field]) =
                similarity(of_terms, &weights, words)
            {
                if matched == 1 {
                    order = 1.0;
                }
                found.push([proximity, order, query, field, f64::from(element.weight)]);
            }
        });
        let values = found.iter().map(|parts| output.of(*parts));
        Ok(output.together.of(&values.collect::<Result<Vec<f64>, String>>()?))
    })
}

#[cfg(test)]
mod tests {
    use super::{Output, Together};

    #[test]
    fn outputs_are_expressions_of_elements() {
        for (text, together, expected) in [
            ("max((0.35*p+0.15*o+0.30*q+0.20*f)*w)", Together::Max, 2.0 * (0.35 + 0.3 + 0.6 * 3.0)),
            ("sum(w^2)", Together::Sum, 4.0),
            (" avg( f - p ) ", Together::Average, 2.0),
            ("sum(1)", Together::Sum, 1.0),
        ] {
            let output = Output::read(text).unwrap();
            assert_eq!(output.together, together, "{text}");
            let found = output.of([1.0, 2.0, 4.0, 3.0, 2.0]).unwrap();
            let expected = if text.starts_with("max") {
                2.0 * (0.35 + 0.15 * 2.0 + 0.3 * 4.0 + 0.2 * 3.0)
            } else {
                expected
            };
            assert!((found - expected).abs() < 1e-12, "{text}: {found}");
        }
        for (text, expected) in [
            ("median(p)", "expected max, avg or sum of an expression, found median(p)"),
            ("p", "expected max, avg or sum of an expression, found p"),
            ("max(x)", "max(x): 1:1: unknown name x"),
        ] {
            let error = Output::read(text).err().unwrap();
            assert_eq!(error, expected);
        }
        for (together, expected) in
            [(Together::Max, 3.0), (Together::Sum, 2.0), (Together::Average, 2.0 / 3.0)]
        {
            assert_eq!(together.of(&[-2.0, 3.0, 1.0]), expected, "{together:?}");
            assert_eq!(together.of(&[]), 0.0, "{together:?}");
        }
        assert_eq!(Together::Max.of(&[-2.0, -3.0]), -2.0);
    }
}
