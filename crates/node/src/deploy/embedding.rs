//! Inputs of searches that are `embed(...)`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use stead_expr::{TensorType, Value};
use stead_search::query::{SearchCode, SearchError};
use stead_search::request::{Values, is_embed, read_embed};

use super::Deployed;
use crate::embedders::{Ask, Embedders, Role};
use crate::{Code, Error};

/// What the names of inputs begin with.
const FEATURES: &str = "ranking.features.";

/// The parameter with the language of texts.
const LANGUAGE: &str = "model.language";

/// How long a search may take.
pub(crate) fn timeout(values: &Values) -> Duration {
    /// That of those that do not say it.
    const TIMEOUT: Duration = Duration::from_millis(500);
    values.timeout().ok().flatten().unwrap_or(TIMEOUT)
}

impl Deployed {
    /// Its embedders.
    pub(crate) fn embedders(&self) -> &Embedders {
        &self.embedders
    }

    /// Whether an input of a search is `embed(...)`.
    pub(crate) fn asks_embedders(&self, values: &Values) -> bool {
        let is_one =
            |(name, value): (&str, &str)| name.starts_with(FEATURES) && is_embed(value.trim());
        values.iter().any(is_one)
    }

    /// The tensors of the inputs of a search that are `embed(...)`, by the names of the inputs. `done` is told on whichever thread, perhaps
    /// this one.
    pub(crate) fn embedded(
        &self,
        values: &Values,
        done: impl FnOnce(Result<BTreeMap<String, Value>, SearchError>) + Send + 'static,
    ) {
        let begin = Instant::now();
        let (inputs, asked): (Vec<Input>, Vec<Ask>) = match self.asked_for(values) {
            Ok(found) if found.is_empty() => return done(Ok(BTreeMap::new())),
            Ok(found) => found.into_iter().unzip(),
            Err(error) => return done(Err(error)),
        };
        let timeout = timeout(values);
        self.embedders.tensors(asked, Role::Query, begin.checked_add(timeout), move |found| {
            if begin.elapsed() >= timeout {
                let message = format!("Timed out after {} ms", timeout.as_millis());
                return done(Err(SearchError { code: SearchCode::Timeout, message }));
            }
            let tensor = |(input, found): (Input, Result<Value, Error>)| match found {
                Ok(value) => Ok((input.name, value)),
                Err(error) => Err(input.failed(&error)),
            };
            done(inputs.into_iter().zip(found).map(tensor).collect());
        });
    }

    /// What is asked, of which inputs.
    fn asked_for(&self, values: &Values) -> Result<Vec<(Input, Ask)>, SearchError> {
        let mut asked = Vec::new();
        for (name, value) in values.iter() {
            let Some(name) = name.strip_prefix(FEATURES).filter(|_| is_embed(value.trim())) else {
                continue;
            };
            let inner = name.strip_prefix("query(").and_then(|n| n.strip_suffix(')'));
            let input = Input { name: inner.unwrap_or(name).to_owned(), value: shown(value) };
            let parameter = |name: &str| values.get(name).map(str::to_owned);
            let call = read_embed(value.trim(), &self.embedders.ids(), &parameter);
            let call = call.map_err(|text| input.wrong(&text))?;
            let kind = self.input_kind(&input.name, values).ok_or_else(|| {
                input.wrong(&format!(
                    "query({}) is no tensor of the rank profile; declare it in its inputs",
                    input.name
                ))
            })?;
            let language = values.get(LANGUAGE).map(str::to_owned);
            asked.push((input, Ask { id: call.embedder, text: call.text, kind, language }));
        }
        Ok(asked)
    }

    /// The type that an input has in the rank profile of a search, in the first of the types of documents that has it.
    fn input_kind(&self, name: &str, values: &Values) -> Option<TensorType> {
        let profile = values.get("ranking.profile").unwrap_or("default");
        let restrict = values.get("model.restrict").unwrap_or_default();
        let is_searched = |kind: &str| {
            restrict.is_empty() || restrict.split([',', ' ']).any(|one| one == kind || one == "*")
        };
        let kinds = self.kinds().filter(|(kind, _)| is_searched(kind));
        let plans = kinds.filter_map(|(kind, _)| self.rank_plan(kind, profile).ok());
        let mut found = plans.filter_map(|plan| plan.input_kind(name).cloned());
        found.find(|kind| !kind.is_double())
    }
}

/// An input whose value is asked for.
struct Input {
    name: String,
    /// As far as messages show it.
    value: String,
}

impl Input {
    fn wrong(&self, text: &str) -> SearchError {
        let Input { name, value } = self;
        SearchError::parameter(format!(
            "Could not set 'ranking.features.query({name})' to '{value}': {text}"
        ))
    }

    /// What was wrong with the call is one of the parameter, what went wrong behind it is not.
    fn failed(&self, error: &Error) -> SearchError {
        let code = match error.code {
            Code::InvalidArgument | Code::NotFound => return self.wrong(&error.to_string()),
            Code::DeadlineExceeded => SearchCode::Timeout,
            _ => SearchCode::BackendCommunication,
        };
        SearchError { code, message: self.wrong(&error.to_string()).message }
    }
}

/// The beginning of a value.
fn shown(value: &str) -> String {
    match value.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}
