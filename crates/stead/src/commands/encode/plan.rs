//! What a rank profile joins: its token features, and how their texts become tokens.

use std::time::{SystemTime, UNIX_EPOCH};
use stead_app::application::rank::NoModels;
use stead_app::application::rank::encoding::{
    RowEncoding, RowText, TextEncoding, TextOf, TokenRow, script_steps, tokenizer_hash,
};

use stead_app::application::{Application, Field, RankProfile, Schema};
use stead_app::package::{PackageFiles, Report};
use stead_embed::Tokenizer;
use stead_expr::{CellType, TensorType};
use stead_store::{DocumentType, FieldValue, ScriptContext, Scripts};

use super::EncodeArgs;
use super::features::token_features;
use super::package::{find_profile, refuse_errors};
use crate::commands::embedder::Tokenizers;
use crate::failure::Failure;

/// A package that has been read.
pub(super) struct Package<'p> {
    pub(super) files: &'p PackageFiles,
    pub(super) application: &'p Application,
    pub(super) report: Report,
}

/// How rows are made.
pub(super) struct Plan<'p> {
    /// `tokenInputIds(...)` as the profile writes it.
    pub(super) feature: String,
    /// The tokens of a row.
    pub(super) length: usize,
    /// The id before the first text.
    pub(super) start: i64,
    /// The id behind each text.
    pub(super) end: i64,
    /// The texts in their order.
    pub(super) parts: Vec<Part>,
    /// What all of it is, for the metadata of the model.
    pub(super) encoding: RowEncoding,
    /// Make tokens of the fields of a document.
    pub(super) scripts: Scripts,
    tokenizers: Tokenizers<'p>,
    /// The component that tokenizes queries.
    of_queries: String,
    now: i64,
    seed: u64,
    /// Whether labels are wanted.
    pub(super) has_labels: bool,
}

/// Tokens, and whether there were more of them than there is room for.
pub(super) type Cut<T> = (T, bool);

/// A text of a row.
pub(super) struct Part {
    /// Where its text comes from.
    pub(super) source: PartSource,
    /// The size of its tensor, at which its tokens are cut.
    pub(super) size: usize,
}

/// Where the text of a part comes from.
pub(super) enum PartSource {
    /// The query.
    Query,
    /// What the indexing of a field makes of the document, by the number of the field.
    Document(usize),
}

impl<'p> Plan<'p> {
    /// Finds the token features of the profile.
    pub(super) fn new(package: Package<'p>, args: &EncodeArgs) -> Result<Plan<'p>, Failure> {
        let Package { files, application, mut report } = package;
        let compiled = application.compile(&NoModels, &mut report);
        let (schema, profile) = find_profile(application, args)?;
        refuse_errors(&report, application)?;
        let compiled = compiled.get(&schema.name.value).into_iter().flatten();
        let features =
            token_features(schema, profile, compiled.filter(|c| c.name == profile.name.value));
        let rank = TokenRow::new(&features);
        let rank =
            rank.or_else(|why| failed(format!("rank-profile {} {why}", profile.name.value)))?;
        let kind = DocumentType::new(schema);
        let mut reader = Reader {
            schema,
            profile,
            kind: &kind,
            tokenizers: Tokenizers::new(application, files),
            fields: Vec::new(),
        };
        let parts = rank.arguments.iter().map(|argument| reader.part(argument));
        let parts: Vec<Part> = parts.collect::<Result<_, _>>()?;
        let Reader { mut tokenizers, fields, .. } = reader;
        let has_query = parts.iter().any(|p| matches!(p.source, PartSource::Query));
        let of_queries = match (&args.query_tokenizer, fields.first()) {
            (Some(id), _) => id.clone(),
            (None, Some((_, id))) => id.clone(),
            (None, None) => {
                return failed(format!("{} has no attribute of documents", rank.feature));
            }
        };
        if !has_query {
            return failed(format!("{} has no query(name)", rank.feature));
        }
        tokenizers.read(&of_queries)?;
        let hash = |id: &str| match tokenizers.component(id) {
            Some(component) => tokenizer_hash(component, files).map_err(Failure::failed),
            None => failed(format!("services.xml has no tokenizer {id}")),
        };
        let mut documents = fields.iter();
        let mut texts = Vec::with_capacity(parts.len());
        for part in &parts {
            let (of, id, indexing) = match part.source {
                PartSource::Query => (TextOf::Query, Some(&of_queries), Vec::new()),
                PartSource::Document(_) => {
                    let field = documents.next();
                    let script = field.and_then(|(field, _)| field.indexing.as_ref());
                    let steps = script.map(script_steps).unwrap_or_default();
                    (TextOf::Document, field.map(|(_, id)| id), steps)
                }
            };
            let tokenizer = hash(id.map_or("", String::as_str))?;
            texts.push(TextEncoding { of, size: part.size, tokenizer, indexing });
        }
        let encoding = RowEncoding::new(&rank, texts);
        let scripts = Scripts::new(schema, &kind)
            .of_fields(|name| fields.iter().any(|(field, _)| field.name.value == name));
        if let Some(unfilled) = scripts.unfilled(&tokenizers).first() {
            return failed(format!(
                "the indexing of field {} has the step {}, which does not run here",
                unfilled.field, unfilled.step
            ));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Plan {
            feature: rank.feature,
            length: rank.length,
            start: rank.start,
            end: rank.end,
            parts,
            encoding,
            scripts,
            tokenizers,
            of_queries,
            now: now.as_secs() as i64,
            seed: args.seed,
            has_labels: !args.inputs_only,
        })
    }

    /// The tokens of a query for one of the parts.
    pub(super) fn query(&self, part: &Part, text: &str) -> Result<Cut<Vec<i64>>, String> {
        let ids =
            self.tokenizers.ids(&self.of_queries, text, part.size).unwrap_or(Ok(Vec::new()))?;
        Ok((ids.into_iter().map(i64::from).collect(), self.tokenizers.was_cut()))
    }

    /// The values of a document behind its scripts.
    pub(super) fn filled(
        &self,
        id: &str,
        given: Vec<(usize, FieldValue)>,
    ) -> Result<Cut<Vec<(usize, FieldValue)>>, String> {
        let cx = ScriptContext { now: self.now, seed: self.seed, embedder: &self.tokenizers };
        let filled = self.scripts.run(id, given, &cx);
        let filled = filled.map_err(|e| format!("field {}: {}", e.field, e.text))?;
        Ok((filled, self.tokenizers.was_cut()))
    }
}

struct Reader<'r, 'p> {
    schema: &'p Schema,
    profile: &'p RankProfile,
    kind: &'r DocumentType,
    tokenizers: Tokenizers<'p>,
    /// The fields whose tokens are asked, with the components that make them.
    fields: Vec<(&'p Field, String)>,
}

impl Reader<'_, '_> {
    fn part(&mut self, argument: &str) -> Result<Part, Failure> {
        match RowText::new(argument, self.schema, self.profile).map_err(Failure::failed)? {
            RowText::Query { size } => Ok(Part { source: PartSource::Query, size }),
            RowText::Document { field, attribute, kind, size, tokenizer } => {
                fits(kind, argument, self.tokenizers.read(&tokenizer)?)?;
                self.fields.push((field, tokenizer));
                let number = self.kind.field(&attribute).map(|(number, _)| number);
                Ok(Part { source: PartSource::Document(number.unwrap_or(usize::MAX)), size })
            }
        }
    }
}

/// Whether cells can hold every id.
fn fits(
    kind: &TensorType,
    argument: &str,
    (id, tokenizer): (&str, &Tokenizer),
) -> Result<(), Failure> {
    // Whole numbers up to here are exact.
    let largest: u32 = match kind.cell() {
        CellType::Double | CellType::Int64 => u32::MAX,
        CellType::Int32 => i32::MAX as u32,
        CellType::Float => 1 << 24,
        CellType::Int16 => i16::MAX as u32,
        CellType::Float16 => 1 << 11,
        CellType::BFloat16 => 1 << 8,
        CellType::UInt8 => 255,
        CellType::Int8 => 127,
        CellType::Bool => 1,
    };
    if tokenizer.largest_id() <= largest {
        return Ok(());
    }
    failed(format!(
        "{argument} is a {kind}, whose cells cannot hold the token ids of component {id}, up to {}",
        tokenizer.largest_id()
    ))
}

fn failed<T>(text: String) -> Result<T, Failure> {
    Err(Failure::failed(text))
}
