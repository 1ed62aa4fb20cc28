//! What a request to evaluate brings: in its URL, in a form, or in an object of JSON.

use std::collections::BTreeMap;

use http::Method;
use http::header::CONTENT_TYPE;
use serde_json::value::RawValue;
use stead_node::EvaluationInput;

use crate::fault::Fault;
use crate::http::{Body, LARGE, Shared, blocking};
use crate::vespa::parameters::pairs;

/// The value of arguments that are not given; the dash keeps it apart from names of features.
const MISSING: &str = "missing-value";

/// How the value is written.
const FORMAT: &str = "format.tensors";

/// The values that a request brings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Those of arguments, those of the URL before those of the body.
    pub inputs: Vec<(String, EvaluationInput)>,
    /// Of arguments that are not given.
    pub missing: Option<EvaluationInput>,
    /// The name of a format.
    pub format: Option<String>,
}

/// How a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Form,
    Json,
}

impl Parameters {
    /// Those of a request.
    ///
    /// # Errors
    /// Bodies that cannot be read, are neither a form nor JSON, or are not what they say.
    pub(super) async fn read(
        shared: &Shared,
        method: &Method,
        body: Body,
    ) -> Result<Parameters, Fault> {
        let query = body.query().to_owned();
        if *method != Method::POST {
            return Parameters::of(&query, "", b"");
        }
        let content_type = body.text(CONTENT_TYPE).unwrap_or_default().to_owned();
        let bytes = body.read(&shared.options).await?;
        match bytes.len() > LARGE {
            true => blocking(move || Parameters::of(&query, &content_type, &bytes)).await?,
            false => Parameters::of(&query, &content_type, &bytes),
        }
    }

    /// Those of the query of a URL and of a body with its type; an empty body brings none.
    ///
    /// # Errors
    /// As [`Parameters::read`].
    pub fn of(query: &str, content_type: &str, body: &[u8]) -> Result<Parameters, Fault> {
        let mut found = Parameters::default();
        found.form(query.as_bytes())?;
        if !body.is_empty() {
            found.body(Kind::of(&content_type.to_ascii_lowercase(), body)?, body)?;
        }
        Ok(found)
    }

    fn body(&mut self, kind: Kind, bytes: &[u8]) -> Result<(), Fault> {
        match kind {
            Kind::Form => self.form(bytes),
            Kind::Json => self.json(bytes),
        }
    }

    fn form(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let form = std::str::from_utf8(bytes).ok().and_then(pairs);
        for (name, text) in form.ok_or_else(|| Fault::invalid("the parameters are not UTF-8"))? {
            self.add(name, EvaluationInput::Text(text))?;
        }
        Ok(())
    }

    fn json(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let members: BTreeMap<String, Box<RawValue>> =
            serde_json::from_slice(bytes).map_err(|error| {
                Fault::invalid(format!("the body is no JSON object of arguments: {error}"))
            })?;
        for (name, value) in members {
            self.add(name, EvaluationInput::Json(value.get().to_owned()))?;
        }
        Ok(())
    }

    /// Adds a value; what came first counts.
    fn add(&mut self, name: String, input: EvaluationInput) -> Result<(), Fault> {
        match name.as_str() {
            MISSING => _ = self.missing.get_or_insert(input),
            FORMAT => {
                let name = match input {
                    EvaluationInput::Text(text) => text,
                    EvaluationInput::Json(json) => serde_json::from_str(&json)
                        .map_err(|_| Fault::invalid(format!("{FORMAT} is a text")))?,
                };
                self.format.get_or_insert(name);
            }
            _ => self.inputs.push((name, input)),
        }
        Ok(())
    }
}

impl Kind {
    /// The kind of a body by the header and its begin: curl calls everything a form, but no name begins with a brace.
    fn of(content_type: &str, bytes: &[u8]) -> Result<Kind, Fault> {
        let is_object = bytes.trim_ascii_start().starts_with(b"{");
        match content_type.split(';').next().map(str::trim).unwrap_or_default() {
            "application/json" => Ok(Kind::Json),
            "application/x-www-form-urlencoded" | "" if is_object => Ok(Kind::Json),
            "application/x-www-form-urlencoded" | "" => Ok(Kind::Form),
            other => {
                let other: String = other.chars().take(100).collect();
                Err(Fault::invalid(format!(
                    "a body of {other} is not read; application/x-www-form-urlencoded and application/json are"
                )))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_forms_and_json() {
        let text = |text: &str| EvaluationInput::Text(text.to_owned());
        let json = |text: &str| EvaluationInput::Json(text.to_owned());
        for (query, content_type, body, inputs, missing, format) in [
            (
                "a=%5B1%5D&missing-value=-1",
                "",
                "",
                vec![("a", text("[1]"))],
                Some(text("-1")),
                None,
            ),
            (
                "format.tensors=long",
                "application/x-www-form-urlencoded",
                "a=1&b=x+y&format.tensors=short",
                vec![("a", text("1")), ("b", text("x y"))],
                None,
                Some("long"),
            ),
            (
                "a=1",
                "application/json; charset=utf-8",
                r#"{"b": [[1, 2]], "missing-value": -1, "format.tensors": "hex"}"#,
                vec![("a", text("1")), ("b", json("[[1, 2]]"))],
                Some(json("-1")),
                Some("hex"),
            ),
            (
                "",
                "application/x-www-form-urlencoded",
                " {\"a\":1}",
                vec![("a", json("1"))],
                None,
                None,
            ),
        ] {
            let found = Parameters::of(query, content_type, body.as_bytes()).unwrap();
            let inputs = inputs.into_iter().map(|(name, input)| (name.to_owned(), input)).collect();
            let expected = Parameters { inputs, missing, format: format.map(str::to_owned) };
            assert_eq!(found, expected, "{query} {body}");
        }
    }

    #[test]
    fn bodies_that_are_neither_are_refused() {
        for (content_type, body, expected) in [
            (
                "text/plain",
                "a=1",
                "a body of text/plain is not read; application/x-www-form-urlencoded and application/json are",
            ),
            (
                "application/json",
                "[1]",
                "the body is no JSON object of arguments: invalid type: sequence, expected a map at line 1 column 0",
            ),
            (
                "application/json",
                "{\"a\":",
                "the body is no JSON object of arguments: EOF while parsing a value at line 1 column 5",
            ),
            ("application/json", r#"{"format.tensors": 1}"#, "format.tensors is a text"),
            ("", "a=%ff", "the parameters are not UTF-8"),
        ] {
            let fault = Parameters::of("", content_type, body.as_bytes()).unwrap_err();
            assert_eq!(fault.0.to_string(), expected, "{body}");
        }
    }
}
