//! The embedders that stead brings: a tokenizer, and a model behind it.

use stead_app::package::PackageFiles;
use stead_app::services::{EmbedderForm, EmbedderSettings, PoolingStrategy};
use stead_embed::colbert::{Marks, PUNCTUATION, document, query};
use stead_embed::{Tokenizer, Tokens, mean, term_weights};
use stead_engine::{Backends, Parallel, RunContext};

use super::embedding::{Embedding, Shape, Vectors};
use super::network::Network;
use super::tokenizer::read_tokenizer;
use super::{Role, Source};

/// A tokenizer, and what is done with its ids.
pub(super) struct Native {
    tokenizer: Tokenizer,
    /// Those for texts of some languages, by the tags of these.
    by_language: Vec<(String, Tokenizer)>,
    form: EmbedderForm,
    /// None for ids themselves.
    network: Option<Network>,
    /// Ids that are left out of documents.
    skipped: Vec<u32>,
    /// The most ids that may come from outside.
    most: usize,
    /// The largest id that the tokenizer knows.
    largest: u32,
}

impl Native {
    /// Reads the files of a component and tries them.
    ///
    /// # Errors
    /// What does not fit, in words for who deploys it.
    pub(super) fn load(
        settings: EmbedderSettings,
        files: &PackageFiles,
        backends: &Backends,
        cores: &dyn Parallel,
    ) -> Result<Native, String> {
        let tokenizer = read_tokenizer(&settings.tokenizer, files)?;
        let network = settings.form.model().map(|of| Network::load(of, files, backends));
        let network = network.transpose()?;
        let most = tokenizer.limit().unwrap_or(usize::MAX);
        let by_language = settings.by_language.iter().map(|(tag, of)| {
            let tokenizer = read_tokenizer(of, files)?;
            Ok((tag.clone(), tokenizer))
        });
        let by_language: Vec<(String, Tokenizer)> = by_language.collect::<Result<_, String>>()?;
        let largest = tokenizer.largest_id();
        let (form, skipped) = (settings.form, Vec::new());
        let mut found = Native { tokenizer, by_language, form, network, skipped, most, largest };
        if let EmbedderForm::Colbert { .. } = found.form {
            for mark in PUNCTUATION.chars() {
                let ids = found.tokenizer.encode(&mark.to_string()).map_err(|e| e.to_string())?;
                found.skipped.extend(ids);
            }
        }
        found.check(&settings.tokenizer.file.value, cores)?;
        Ok(found)
    }

    /// Whether the model takes the longest text there may be, with the largest id, and gives what it should.
    fn check(&mut self, tokenizer: &str, cores: &dyn Parallel) -> Result<(), String> {
        let (longest, largest) = (self.longest(), self.largest_of_all());
        let Some((network, of)) = self.network.as_mut().zip(self.form.model()) else {
            return Ok(());
        };
        let (path, output) = (&of.file.value, &of.output);
        if let Some(length) = network.length().filter(|length| *length < longest) {
            return Err(format!(
                "{path} takes {length} ids, and texts have up to {longest}; write <max-tokens>{length}</max-tokens>"
            ));
        }
        let length = longest.min(MAX_TRIED);
        let mut tried =
            |id: u32, length: usize| network.probe(&Tokens::all(vec![id; length]), cores);
        let shape = match tried(largest, length) {
            Ok(shape) => shape,
            Err(text) => {
                tried(0, 1).map_err(|text| format!("{path} cannot be run: {text}"))?;
                tried(largest, 1).map_err(|text| {
                    format!("{tokenizer} does not fit {path}, which does not take its id {largest}: {text}")
                })?;
                return Err(format!(
                    "{path} does not take {length} ids: {text}; write a lower max-tokens"
                ));
            }
        };
        let found = format!("the output {output} of {path} has the shape {shape:?}");
        match &self.form {
            EmbedderForm::Dense { pooling: PoolingStrategy::None, .. } if shape.len() == 3 => {
                Err(format!("Unexpected pooling-strategy 'none' with 3 output dimensions: {found}"))
            }
            EmbedderForm::Dense { pooling: PoolingStrategy::None, .. } if shape.len() == 2 => {
                Ok(())
            }
            EmbedderForm::Dense { .. } if shape.len() == 2 => {
                Err(format!("Expected pooling-strategy 'none' with 2 output dimensions: {found}"))
            }
            _ if shape.len() != 3 => {
                Err(format!("expected 3 dimensions [batch, sequence, size]: {found}"))
            }
            _ => Ok(()),
        }
    }

    /// The most ids of a text for the model.
    fn longest(&self) -> usize {
        match self.form {
            EmbedderForm::Colbert { max_query_tokens, max_document_tokens, .. } => {
                max_query_tokens.max(max_document_tokens.min(self.most.saturating_add(3)))
            }
            _ => self.most,
        }
    }

    fn largest_of_all(&self) -> u32 {
        match self.form {
            EmbedderForm::Colbert { start, end, mask, query, document, .. } => {
                [start, end, mask, query, document, self.largest].into_iter().max().unwrap_or(0)
            }
            _ => self.largest,
        }
    }

    /// What tensors can be made.
    pub(super) fn shape(&self) -> Shape {
        let width = self.network.as_ref().map_or(0, |network| network.width);
        match self.form {
            EmbedderForm::Tokens => Shape::Ids,
            EmbedderForm::Dense { .. } => Shape::One(width),
            EmbedderForm::Colbert { .. } => Shape::Each(width),
            EmbedderForm::Splade { .. } => Shape::Words,
        }
    }

    /// The number of the tokenizer for a language; nothing for that of all others. `en-US` is `en` where it has none of its own.
    pub(super) fn of_language(&self, tag: &str) -> Option<usize> {
        let tag = tag.trim().to_ascii_lowercase().replace('_', "-");
        let of = |tag: &str| self.by_language.iter().position(|(known, _)| known == tag);
        of(&tag).or_else(|| of(tag.split('-').next()?))
    }

    /// Whether vectors are made to have length 1.
    pub(super) fn normalizes(&self) -> bool {
        matches!(self.form, EmbedderForm::Dense { normalize: true, .. })
    }

    /// As `onnx-intraop-threads` says.
    pub(super) fn threads(&self) -> Option<i32> {
        self.form.model().and_then(|model| model.threads)
    }

    /// Embeds texts, in as few runs of the model as there may be; how many these were. It pauses between texts that are made ids
    /// as between steps of runs.
    pub(super) fn embed(
        &self,
        texts: &[(Role, &Source)],
        cx: &RunContext<'_>,
    ) -> (Vec<Result<Embedding, String>>, usize) {
        let mut found: Vec<Result<Embedding, String>> = Vec::with_capacity(texts.len());
        let (mut places, mut tokens) = (Vec::new(), Vec::new());
        for (at, (role, source)) in texts.iter().enumerate() {
            cx.pause.iter().for_each(|pause| pause());
            let ids = self.ids(*role, source);
            found.push(match (ids, &self.network) {
                (Ok(ids), None) => {
                    Ok(Embedding { tokens: ids.ids.len(), vectors: Vectors::Ids(ids.ids) })
                }
                (Ok(ids), Some(_)) => {
                    places.push(at);
                    tokens.push(ids);
                    // It is answered below.
                    Err("the model gave nothing for it".to_owned())
                }
                (Err(text), _) => Err(text),
            });
        }
        let Some(network) = self.network.as_ref().filter(|_| !tokens.is_empty()) else {
            return (found, 0);
        };
        let runs = network.run(&tokens, cx, &mut |at, ran| {
            let Some((place, tokens)) = places.get(at).zip(tokens.get(at)) else { return };
            let Some((role, _)) = texts.get(*place) else { return };
            if let Some(slot) = found.get_mut(*place) {
                let made = ran.map(|cells| self.vectors(*role, tokens, cells, network.width));
                *slot = made.map(|vectors| Embedding { tokens: tokens.count(), vectors });
            }
        });
        (found, runs)
    }

    /// A text as the model is given it.
    fn ids(&self, role: Role, source: &Source) -> Result<Tokens, String> {
        let text = match source {
            Source::Text(text) => text.as_str(),
            Source::InLanguage(number, text) => {
                let of = self.by_language.get(*number).map_or(&self.tokenizer, |(_, of)| of);
                return Ok(Tokens::all(of.encode(text).map_err(|e| e.to_string())?));
            }
            Source::Ids(ids) => {
                return Ok(Tokens::all(ids.iter().copied().take(self.most).collect()));
            }
        };
        let encode = |text: &str| self.tokenizer.encode(text).map_err(|e| e.to_string());
        match &self.form {
            EmbedderForm::Dense { prepend_query, prepend_document, masks_zero, .. } => {
                let before = match role {
                    Role::Query => prepend_query,
                    Role::Document => prepend_document,
                };
                let ids = match before.is_empty() {
                    true => encode(text)?,
                    false => encode(&format!("{before}{text}"))?,
                };
                Ok(Tokens { skips_zero: *masks_zero, ..Tokens::all(ids) })
            }
            EmbedderForm::Colbert {
                max_query_tokens,
                max_document_tokens,
                start,
                end,
                mask,
                query: of_query,
                document: of_document,
                ..
            } => {
                let (ids, marks) = (encode(text)?, |role| Marks { start: *start, role, end: *end });
                Ok(match role {
                    Role::Query => query(&ids, *mask, marks(*of_query), *max_query_tokens),
                    Role::Document => {
                        document(&ids, &self.skipped, marks(*of_document), *max_document_tokens)
                    }
                })
            }
            EmbedderForm::Tokens | EmbedderForm::Splade { .. } => Ok(Tokens::all(encode(text)?)),
        }
    }

    /// Whether ids that came from outside are some.
    pub(super) fn check_ids(&self, ids: &[u32]) -> Result<(), String> {
        match ids.iter().find(|id| **id > self.largest) {
            _ if ids.is_empty() => Err("there is no token id".to_owned()),
            Some(id) => Err(format!("{id} is no token id; the largest is {}", self.largest)),
            None => Ok(()),
        }
    }

    fn vectors(&self, role: Role, tokens: &Tokens, cells: &[f32], width: usize) -> Vectors {
        match &self.form {
            EmbedderForm::Dense { pooling: PoolingStrategy::Mean, .. } => {
                Vectors::One(mean(cells, width, tokens.count()))
            }
            EmbedderForm::Dense { .. } | EmbedderForm::Tokens => {
                Vectors::One(cells.get(..width).unwrap_or_default().to_vec())
            }
            EmbedderForm::Colbert { emits_masks, .. } => {
                let rows = match role {
                    Role::Query if !emits_masks => tokens.attended,
                    _ => tokens.ids.len(),
                };
                let cells = cells.get(..rows * width).unwrap_or(cells).to_vec();
                Vectors::Each { cells, width }
            }
            EmbedderForm::Splade { threshold, .. } => {
                let weights = term_weights(cells, width, *threshold).into_iter();
                let word = |(id, weight)| Some((id, self.tokenizer.word(id)?, weight));
                Vectors::Words(weights.filter_map(word).collect())
            }
        }
    }
}

/// The longest text that a model is tried with: more than this is not what embedders are for, and would take long.
const MAX_TRIED: usize = 512;
