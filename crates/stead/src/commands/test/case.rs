//! A test: steps with requests, and what their responses must be.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::compare::difference;
use crate::failure::Failure;
use crate::http_client::{Target, segment};

/// How long a response may take.
const PATIENCE: Duration = Duration::from_secs(200);

/// A test.
pub struct Case {
    /// Its name, or that of its file.
    pub name: String,
    /// Parameters of all searches that say nothing else.
    defaults: Map<String, Json>,
    steps: Vec<Step>,
}

struct Step {
    name: String,
    method: String,
    uri: String,
    parameters: Map<String, Json>,
    body: Option<Json>,
    /// The status that the response must have.
    code: u64,
    /// What its body must have.
    expected: Option<Json>,
}

/// What became of a test.
pub struct Outcome {
    /// The steps that were done as they should be.
    pub steps: usize,
    /// The step that was not, and why.
    pub failure: Option<(String, String)>,
}

impl Outcome {
    pub fn has_passed(&self) -> bool {
        self.failure.is_none()
    }

    pub fn json(&self, case: &Case) -> Json {
        let (step, text) = self.failure.clone().unzip();
        json!({"test": case.name, "passed": self.has_passed(), "steps": self.steps, "step": step, "failure": text})
    }
}

impl Case {
    /// A test from its file.
    ///
    /// # Errors
    /// When it is none; what is wrong is named.
    pub fn read(file: &Path) -> Result<Case, Failure> {
        let fail = |e: String| Failure::failed(format!("{}: {e}", file.display()));
        let json = read(file).map_err(fail)?;
        let folder = file.parent().unwrap_or(Path::new("."));
        case(&json, folder, &file.file_name().unwrap_or_default().to_string_lossy()).map_err(fail)
    }

    /// Does the steps until one fails.
    pub fn run(&self, target: &Target) -> Outcome {
        for (done, step) in self.steps.iter().enumerate() {
            if let Err(text) = step.run(target, &self.defaults) {
                return Outcome { steps: done, failure: Some((step.name.clone(), text)) };
            }
        }
        Outcome { steps: self.steps.len(), failure: None }
    }
}

impl Step {
    fn run(&self, target: &Target, defaults: &Map<String, Json>) -> Result<(), String> {
        let mut path = self.uri.clone();
        // Other paths refuse parameters that they do not know.
        let is_search = path.starts_with("/search");
        let more =
            defaults.iter().filter(|(name, _)| is_search && !self.parameters.contains_key(*name));
        for (name, value) in self.parameters.iter().chain(more) {
            path.push(if path.contains('?') { '&' } else { '?' });
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            path += &format!("{}={}", segment(name), segment(&value));
        }
        let body = self.body.as_ref().map_or_else(Vec::new, |body| body.to_string().into_bytes());
        let length = body.len() as u64;
        let answer = target
            .send_body(&self.method, &path, "application/json", (&mut &*body, length), PATIENCE)
            .map_err(|failure| failure.to_string())?;
        let text = String::from_utf8_lossy(&answer.body);
        let shown = text.trim().chars().take(400).collect::<String>();
        if u64::from(answer.status) != self.code {
            return Err(format!("expected status {}, got {}: {shown}", self.code, answer.status));
        }
        let Some(expected) = &self.expected else { return Ok(()) };
        let found = serde_json::from_str::<Json>(&text)
            .map_err(|error| format!("the response is no JSON: {error}: {shown}"))?;
        match difference(expected, &found) {
            Some(difference) => Err(format!("{difference}; the response is {shown}")),
            None => Ok(()),
        }
    }
}

fn read(file: &Path) -> Result<Json, String> {
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    serde_json::from_str(&text).map_err(|e| e.to_string())
}

fn case(json: &Json, folder: &Path, file: &str) -> Result<Case, String> {
    let name = json["name"].as_str().unwrap_or(file).to_owned();
    let steps = json["steps"].as_array().filter(|steps| !steps.is_empty());
    let steps = steps.ok_or("expected \"steps\", a list with at least one step")?;
    let step = |(at, json): (usize, &Json)| {
        step(json, folder, at + 1).map_err(|e| format!("step {}: {e}", at + 1))
    };
    let defaults = parameters(&json["defaults"]["parameters"], folder)?;
    Ok(Case {
        name,
        defaults,
        steps: steps.iter().enumerate().map(step).collect::<Result<_, _>>()?,
    })
}

fn step(json: &Json, folder: &Path, number: usize) -> Result<Step, String> {
    let (request, response) = (&json["request"], &json["response"]);
    let uri = request["uri"].as_str().unwrap_or("/search/");
    if !uri.starts_with('/') {
        return Err(format!("uri: expected a path such as /search/, found {uri:.60}"));
    }
    let code = match &response["code"] {
        Json::Null => 200,
        code => code.as_u64().ok_or_else(|| format!("code: expected a status, found {code}"))?,
    };
    Ok(Step {
        name: json["name"].as_str().map_or_else(|| format!("step {number}"), str::to_owned),
        method: request["method"].as_str().unwrap_or("GET").to_owned(),
        uri: uri.to_owned(),
        parameters: parameters(&request["parameters"], folder)?,
        body: value(&request["body"], folder)?,
        code,
        expected: value(&response["body"], folder)?,
    })
}

fn parameters(json: &Json, folder: &Path) -> Result<Map<String, Json>, String> {
    match value(json, folder)? {
        None => Ok(Map::new()),
        Some(Json::Object(object)) => Ok(object),
        Some(other) => Err(format!("parameters: expected an object, found {other}")),
    }
}

/// A value, or that of a file that it names.
fn value(json: &Json, folder: &Path) -> Result<Option<Json>, String> {
    match json {
        Json::Null => Ok(None),
        Json::String(name) => {
            let path: PathBuf = folder.join(name);
            read(&path).map(Some).map_err(|e| format!("{name}: {e}"))
        }
        other => Ok(Some(other.clone())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::case;

    #[test]
    fn what_is_no_test_is_told() {
        let step = |request: serde_json::Value| json!({"steps": [{"request": request}]});
        for (json, expected) in [
            (json!([]), "expected \"steps\", a list with at least one step"),
            (json!({"steps": []}), "expected \"steps\", a list with at least one step"),
            (
                step(json!({"uri": "http://elsewhere/"})),
                "step 1: uri: expected a path such as /search/, found http://elsewhere/",
            ),
            (step(json!({"parameters": [1]})), "step 1: parameters: expected an object, found [1]"),
            (
                json!({"steps": [{"response": {"code": "ok"}}]}),
                "step 1: code: expected a status, found \"ok\"",
            ),
        ] {
            assert_eq!(case(&json, Path::new("."), "a.json").err().as_deref(), Some(expected));
        }
        let good = case(&step(json!({})), Path::new("."), "a.json").ok();
        assert_eq!(good.map(|c| (c.name, c.steps.len())), Some(("a.json".to_owned(), 1)));
    }
}
