//! What there is, with the URLs of what can be asked of it.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use stead_node::{EvaluationArgument, EvaluationFunction, Evaluations};

/// The URL that names of models follow, as the client that named this host reaches it.
pub fn base(scheme: &str, authority: &str) -> String {
    // Only clients of HTTP/1.0 name none.
    let host = if authority.is_empty() { "localhost" } else { authority };
    format!("{scheme}://{host}/model-evaluation/v1/")
}

/// A model.
#[derive(Debug, Serialize)]
pub struct Model<'a> {
    model: &'a str,
    functions: Vec<Function<'a>>,
}

/// A function of the model that is asked for.
#[derive(Debug, Serialize)]
pub struct OfModel<'a> {
    model: &'a str,
    #[serde(flatten)]
    function: Function<'a>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    function: &'a str,
    info: String,
    eval: String,
    arguments: Vec<Argument<'a>>,
}

#[derive(Debug, Serialize)]
struct Argument<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: String,
}

/// The URLs of the models by their names.
pub fn models<'a>(models: &'a Evaluations, base: &str) -> BTreeMap<&'a str, String> {
    models.names().map(|name| (name, format!("{base}{}", encoded(name)))).collect()
}

/// A model with its functions.
pub fn model<'a>(
    model: &'a str,
    functions: impl Iterator<Item = &'a EvaluationFunction>,
    base: &str,
) -> Model<'a> {
    Model { model, functions: functions.map(|function| of(model, function, base)).collect() }
}

/// A function of a model.
pub fn function<'a>(model: &'a str, function: &'a EvaluationFunction, base: &str) -> OfModel<'a> {
    OfModel { model, function: of(model, function, base) }
}

fn of<'a>(model: &str, function: &'a EvaluationFunction, base: &str) -> Function<'a> {
    let info = format!("{base}{}/{}", encoded(model), encoded(&function.name));
    // The output of a network stands among the arguments, where clients find its type.
    let listed = function.arguments.iter().chain(&function.result);
    let argument =
        |of: &'a EvaluationArgument| Argument { name: &of.name, kind: of.kind.to_string() };
    let mut arguments: Vec<Argument<'a>> = listed.map(argument).collect();
    arguments.sort_by_key(|argument| argument.name);
    Function { function: &function.name, eval: format!("{info}/eval"), info, arguments }
}

/// A name as a segment of a URL.
fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'$' | b'@' => {
                text.push(char::from(byte));
            }
            other => _ = write!(text, "%{other:02X}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_expr::parse_type;
    use stead_node::EvaluationType;

    #[test]
    fn functions_are_listed_as_in_vespa() {
        let argument = |name: &str, kind: &str| EvaluationArgument {
            name: name.to_owned(),
            kind: EvaluationType::Tensor(parse_type(kind).unwrap()),
        };
        let output = EvaluationFunction {
            name: "output".to_owned(),
            arguments: vec![argument("input", "tensor(d0[],d1[])"), argument("z", "double")],
            result: Some(argument("onnxModel(a b).output", "tensor<float>(d0[],d1[],d2[16])")),
        };
        let url = "http://host:8080/model-evaluation/v1/a%20b/output";
        let listed = format!(
            r#""function":"output","info":"{url}","eval":"{url}/eval","arguments":[{{"name":"input","type":"tensor(d0[],d1[])"}},{{"name":"onnxModel(a b).output","type":"tensor<float>(d0[],d1[],d2[16])"}},{{"name":"z","type":"tensor()"}}]"#
        );
        let base = base("http", "host:8080");
        let one = serde_json::to_string(&function("a b", &output, &base)).unwrap();
        assert_eq!(one, format!(r#"{{"model":"a b",{listed}}}"#));
        let all = serde_json::to_string(&model("a b", [&output].into_iter(), &base)).unwrap();
        assert_eq!(all, format!(r#"{{"model":"a b","functions":[{{{listed}}}]}}"#));
    }
}
