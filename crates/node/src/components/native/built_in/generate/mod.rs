//! `generate`: texts that a model writes token by token, of a parameter of the query or of a field of hits.

mod beams;
mod decoder;

use stead_app::components::Parameters;
use stead_embed::Tokenizer;
use stead_search::result::{Item, SearchResult};

use super::Making;
use super::tokenise::tokenizer;
use crate::components::native::{Call, Execution, NativeError, Query, Searcher};
use decoder::Decoder;

/// The most beams: each is a row of a batch.
const MAX_BEAMS: usize = 64;

/// The most tokens that are written.
const MAX_TOKENS: usize = 4096;

/// Writes texts.
pub(super) struct Generate {
    decoder: Decoder,
    /// Of what is read, and of what is written.
    reads: Tokenizer,
    writes: Tokenizer,
    is_of_hits: bool,
    from: String,
    to: String,
    prompt: String,
}

/// How tokens are chosen.
pub(super) struct Choosing {
    beams: usize,
    /// The most tokens that are written.
    most: usize,
    end: i64,
    /// Scores are divided by the length to this power.
    length_penalty: f64,
}

impl Generate {
    pub(super) fn new(given: &Parameters, making: &Making<'_>) -> Result<Generate, String> {
        let text = |name: &str| given.text(name).unwrap_or_default().to_owned();
        let (beams, most) = (given.count("beams"), given.count("max-new-tokens"));
        if !(1..=MAX_BEAMS).contains(&beams) {
            return Err(format!("beams must be from 1 to {MAX_BEAMS}, found {beams}"));
        }
        if !(1..=MAX_TOKENS).contains(&most) {
            return Err(format!("max-new-tokens must be from 1 to {MAX_TOKENS}, found {most}"));
        }
        let end = i64::try_from(given.count("end-token")).unwrap_or(i64::MAX);
        let length_penalty = given.number("length-penalty").unwrap_or(1.0);
        let choosing = Choosing { beams, most, end, length_penalty };
        let path = text("tokenizer");
        let target = given.text("target-tokenizer").unwrap_or(&path);
        let specials = given.bool("specials");
        let cut = given.count("max-tokens");
        Ok(Generate {
            decoder: Decoder::new(given, making.models, choosing)?,
            reads: tokenizer(making.files, &path, cut, specials)?,
            writes: tokenizer(making.files, target, usize::MAX, false)?,
            is_of_hits: given.text("of") == Some("hits"),
            from: text("from"),
            to: text("to"),
            prompt: given.text("prompt").unwrap_or("%{text}").to_owned(),
        })
    }

    fn written(&self, text: &str, call: &Call) -> Result<String, NativeError> {
        let failed = |error: &dyn std::fmt::Display| NativeError::Failed(error.to_string());
        let prompt = self.prompt.replace("%{text}", text);
        let ids = self.reads.encode(&prompt).map_err(|error| failed(&error))?;
        let ids: Vec<i64> = ids.into_iter().map(i64::from).collect();
        let found = self.decoder.write(&ids, call)?;
        let ids: Vec<u32> = found.into_iter().filter_map(|id| u32::try_from(id).ok()).collect();
        self.writes.decode(&ids).map_err(|error| failed(&error))
    }
}

impl Searcher for Generate {
    fn search(
        &self,
        mut query: Query,
        execution: &Execution<'_>,
    ) -> Result<SearchResult, NativeError> {
        if !self.is_of_hits {
            if let Some(text) = query.values.get(&self.from) {
                let written = self.written(text, execution.call())?;
                query.values.set(&self.to, written);
            }
            return execution.search(query);
        }
        let mut result = execution.search(query)?;
        for hit in &mut result.hits {
            let Some(Item::Text(text)) = hit.get(&self.from) else { continue };
            let written = self.written(text, execution.call())?;
            hit.set(&self.to, written);
        }
        Ok(result)
    }
}
