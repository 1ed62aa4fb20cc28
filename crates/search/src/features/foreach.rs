//! `foreach(dimension,variable,feature,condition,operation)`: a feature of each term, field or attribute, taken together
//! (Vespa, `searchlib/src/vespa/searchlib/features/foreachfeature.cpp`).

use stead_app::application::rank::FeatureName;

use super::{Argument, Call, Feature};
use crate::columns::Computed;

/// The terms that a query is taken to have where nothing is said.
const TERMS: u32 = 16;

/// The most terms: each is a feature of its own.
const MOST_TERMS: u32 = 1024;

/// Which values count.
#[derive(Debug, Clone, Copy)]
enum Condition {
    All,
    Above(f64),
    Below(f64),
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    Sum,
    Product,
    Average,
    Max,
    Min,
    Count,
}

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let names: Vec<String> = match call.argument(0) {
        "terms" => {
            let said = call.properties.get("foreach.maxTerms").map(|text| text.trim());
            let wrong = || format!("expected foreach.maxTerms to be at most {MOST_TERMS}");
            let count = said.map_or(Ok(TERMS), |text| text.parse().map_err(|_| wrong()))?;
            if count > MOST_TERMS {
                return Err(wrong());
            }
            (0..count).map(|term| term.to_string()).collect()
        }
        "fields" => call.documents.texts().iter().map(|index| index.name.clone()).collect(),
        "attributes" => call.documents.attributes().iter().map(|of| of.name.clone()).collect(),
        other => return Err(format!("expected terms, fields or attributes, found {other:.40}")),
    };
    let (variable, feature) = (call.argument(1), expression(call.argument(2)));
    let arguments = names.iter().map(|name| replaced(&feature, variable, name)).collect();
    let condition = Condition::read(call.argument(3))?;
    let operation = Operation::read(call.argument(4))?;
    let run = Feature::documents(move |cx| {
        let value = |argument: &Argument<'_>, row: usize| match argument {
            Argument::Query(value) => value.as_double(),
            Argument::Documents(attribute, kind) => {
                crate::columns::value(attribute, kind, row)?.as_double()
            }
        };
        let mut numbers = Vec::with_capacity(cx.rows.len());
        for row in 0..cx.rows.len() {
            let values = cx.arguments.iter().map(|argument| value(argument, row));
            let values: Option<Vec<f64>> = values.collect();
            let values = values.ok_or("takes features that are numbers only")?;
            numbers.push(operation.of(values.into_iter().filter(|n| condition.holds(*n))));
        }
        Ok(Computed::Numbers(numbers))
    });
    Ok(Feature { arguments, ..run })
}

/// What is computed of each: a feature, or the expression in `rankingExpression("...")`.
fn expression(feature: &str) -> String {
    let plain = feature.replace("\\\"", "\"");
    let parsed = FeatureName::parse(&plain).filter(|parsed| parsed.name == "rankingExpression");
    let inner = parsed.and_then(|parsed| parsed.argument(0).map(str::to_owned));
    inner.unwrap_or(plain)
}

/// A text with a name in the place of a variable, where this is a word of its own.
fn replaced(text: &str, variable: &str, name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut all, mut word) = (String::new(), String::new());
    for c in text.chars().map(Some).chain([None]) {
        match c {
            Some(c) if is_word(c) => word.push(c),
            _ => {
                all.push_str(if word == variable { name } else { &word });
                word.clear();
                all.extend(c);
            }
        }
    }
    all
}

impl Condition {
    fn read(text: &str) -> Result<Condition, String> {
        let expected = || format!("expected true, <a or >a, found {text:.40}");
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| expected());
        match text.chars().next() {
            _ if text == "true" => Ok(Condition::All),
            Some('<') => number(&text[1..]).map(Condition::Below),
            Some('>') => number(&text[1..]).map(Condition::Above),
            _ => Err(expected()),
        }
    }

    fn holds(self, number: f64) -> bool {
        match self {
            Condition::All => true,
            Condition::Above(end) => number > end,
            Condition::Below(end) => number < end,
        }
    }
}

impl Operation {
    fn read(text: &str) -> Result<Operation, String> {
        Ok(match text {
            "sum" => Operation::Sum,
            "product" => Operation::Product,
            "average" => Operation::Average,
            "max" => Operation::Max,
            "min" => Operation::Min,
            "count" => Operation::Count,
            other => {
                return Err(format!(
                    "expected sum, product, average, max, min or count, found {other:.40}"
                ));
            }
        })
    }

    /// Of some numbers; of none what changes no other.
    fn of(self, numbers: impl Iterator<Item = f64>) -> f64 {
        let mut count = 0_u32;
        let numbers = numbers.inspect(|_| count += 1);
        let result = match self {
            Operation::Sum | Operation::Average => numbers.sum(),
            Operation::Product => numbers.product(),
            Operation::Max => numbers.fold(-f64::MAX, f64::max),
            Operation::Min => numbers.fold(f64::MAX, f64::min),
            Operation::Count => numbers.count() as f64,
        };
        match self {
            Operation::Average if count > 0 => result / f64::from(count),
            _ => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Condition, Operation, expression, replaced};

    #[test]
    fn variables_are_words() {
        for (text, expected) in [
            ("fieldMatch(N)", "fieldMatch(title)"),
            ("NN(N,N).N1", "NN(title,title).N1"),
            ("rankingExpression(\"fieldMatch(N)*N_\")", "fieldMatch(title)*N_"),
            ("rankingExpression(name)", "name"),
        ] {
            assert_eq!(replaced(&expression(text), "N", "title"), expected, "{text}");
        }
    }

    #[test]
    fn values_that_count_are_taken_together() {
        let values = [2.0, 8.0, 5.0];
        for (condition, operation, expected) in [
            ("true", "sum", 15.0),
            ("true", "product", 80.0),
            ("true", "average", 5.0),
            ("true", "max", 8.0),
            ("true", "min", 2.0),
            ("true", "count", 3.0),
            (">2", "sum", 13.0),
            ("<5.5", "count", 2.0),
            (">8", "average", 0.0),
            (">8", "min", f64::MAX),
            (">8", "max", -f64::MAX),
            (">8", "product", 1.0),
        ] {
            let (test, of) =
                (Condition::read(condition).unwrap(), Operation::read(operation).unwrap());
            let found = of.of(values.into_iter().filter(|n| test.holds(*n)));
            assert_eq!(found, expected, "{condition} {operation}");
        }
        for (text, expected) in [
            ("false", "expected true, <a or >a, found false"),
            (">x", "expected true, <a or >a, found >x"),
        ] {
            assert_eq!(Condition::read(text).err().unwrap(), expected);
        }
    }
}
