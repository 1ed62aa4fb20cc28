//! What a rank profile joins: its token features, and how their texts become tokens.

use stead_app::application::rank::{FeatureName, NoModels};
use stead_app::application::{Application, InputType, RankProfile, Schema};
use stead_app::package::{PackageFiles, Report};
use stead_embed::Tokenizer;
use stead_expr::{CellType, TensorType};

use super::EncodeArgs;
use super::features::{Joined, token_features};
use super::package::{find_profile, refuse_errors};
use super::text::TextSource;
use crate::commands::tokenizer::load_tokenizer;
use crate::failure::Failure;

/// A package that has been read.
pub(super) struct Package<'p> {
    pub(super) files: &'p PackageFiles,
    pub(super) application: &'p Application,
    pub(super) report: Report,
}

/// How rows are made.
pub(super) struct Plan {
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
    tokenizers: Vec<(String, Tokenizer)>,
}

/// A text of a row.
pub(super) struct Part {
    /// Where its text comes from.
    pub(super) source: PartSource,
    /// The size of its tensor, at which its tokens are cut.
    pub(super) size: usize,
    tokenizer: usize,
}

/// Where the text of a part comes from.
pub(super) enum PartSource {
    /// The query.
    Query,
    /// What the indexing of a field makes of the document.
    Document(TextSource),
}

impl Plan {
    /// Finds the token features of the profile.
    pub(super) fn new(package: Package<'_>, args: &EncodeArgs) -> Result<Plan, Failure> {
        let Package { files, application, mut report } = package;
        let compiled = application.compile(&NoModels, &mut report);
        let (schema, profile) = find_profile(application, args)?;
        refuse_errors(&report, application)?;
        let compiled = compiled.get(&schema.name.value).into_iter().flatten();
        let features =
            token_features(schema, profile, compiled.filter(|c| c.name == profile.name.value));
        let rank = Joined::new(&features, &profile.name.value)?;
        let mut plan = Plan {
            feature: rank.feature,
            length: rank.length,
            start: rank.start,
            end: rank.end,
            parts: Vec::new(),
            tokenizers: Vec::new(),
        };
        let reader = Reader { files, application, schema, profile, args };
        for argument in &rank.arguments {
            let part = reader.part(argument, &mut plan.tokenizers)?;
            plan.parts.push(part);
        }
        reader.queries(&mut plan)?;
        Ok(plan)
    }

    /// The tokens of a text, cut at the size of its tensor, and whether there were more.
    pub(super) fn tokens(&self, part: &Part, text: &str) -> Result<(Vec<i64>, bool), String> {
        let Some((id, tokenizer)) = self.tokenizers.get(part.tokenizer) else {
            return Err("no tokenizer".to_owned());
        };
        let mut ids = tokenizer.encode(text).map_err(|e| format!("component {id}: {e}"))?;
        let is_cut = ids.len() > part.size;
        ids.truncate(part.size);
        Ok((ids.into_iter().map(i64::from).collect(), is_cut))
    }
}

struct Reader<'p> {
    files: &'p PackageFiles,
    application: &'p Application,
    schema: &'p Schema,
    profile: &'p RankProfile,
    args: &'p EncodeArgs,
}

/// The tokenizer of queries is known when those of documents are.
const OF_QUERY: usize = usize::MAX;

impl Reader<'_> {
    fn part(
        &self,
        argument: &str,
        tokenizers: &mut Vec<(String, Tokenizer)>,
    ) -> Result<Part, Failure> {
        let parsed = FeatureName::parse(argument);
        let name = parsed.as_ref().and_then(|p| p.argument(0)).unwrap_or_default();
        match parsed.as_ref().map(|p| p.name) {
            Some("query") => {
                let input = self.profile.inputs.iter().find(|i| i.name.value == name);
                let Some(InputType::Tensor(kind)) = input.map(|i| &i.kind) else {
                    return failed(format!(
                        "{argument} must be a tensor in the inputs of the profile"
                    ));
                };
                let size = size(kind, argument)?;
                Ok(Part { source: PartSource::Query, size, tokenizer: OF_QUERY })
            }
            Some("attribute") => {
                let mut fields = self.schema.all_fields();
                let field = fields.find(|f| f.outputs("attribute").contains(&name));
                let Some(field) = field else {
                    return failed(format!(
                        "{argument} is no field of schema {}",
                        self.schema.name.value
                    ));
                };
                let Some(kind) = field.kind.tensor() else {
                    return failed(format!(
                        "{argument} is a {}, no tensor of token ids",
                        *field.kind
                    ));
                };
                let size = size(kind, argument)?;
                let (source, id) = TextSource::of_field(field).map_err(Failure::failed)?;
                let tokenizer = self.tokenizer(&id, tokenizers)?;
                fits(kind, argument, &tokenizers[tokenizer])?;
                Ok(Part { source: PartSource::Document(source), size, tokenizer })
            }
            _ => failed(format!(
                "{argument} is neither query(name) nor attribute(name); its text is not known"
            )),
        }
    }

    /// Gives queries their tokenizer: the one asked for, or that of the first document field.
    fn queries(&self, plan: &mut Plan) -> Result<(), Failure> {
        let of_documents = plan.parts.iter().map(|p| p.tokenizer).find(|t| *t != OF_QUERY);
        let chosen = match (&self.args.query_tokenizer, of_documents) {
            (Some(id), _) => self.tokenizer(id, &mut plan.tokenizers)?,
            (None, Some(tokenizer)) => tokenizer,
            (None, None) => {
                return failed(format!("{} has no attribute of documents", plan.feature));
            }
        };
        if !plan.parts.iter().any(|p| p.tokenizer == OF_QUERY) {
            return failed(format!("{} has no query(name)", plan.feature));
        }
        for part in plan.parts.iter_mut().filter(|p| p.tokenizer == OF_QUERY) {
            part.tokenizer = chosen;
        }
        Ok(())
    }

    /// The place of a tokenizer among those that are read.
    fn tokenizer(&self, id: &str, known: &mut Vec<(String, Tokenizer)>) -> Result<usize, Failure> {
        let components = self.application.services.containers.iter().flat_map(|c| &c.components);
        let mut embedders = components.filter(|c| c.is_embedder());
        let component =
            if id.is_empty() { embedders.next() } else { embedders.find(|c| c.id == id) };
        let Some(component) = component else {
            return failed(format!("services.xml has no tokenizer {id}"));
        };
        if let Some(at) = known.iter().position(|(id, _)| *id == component.id) {
            return Ok(at);
        }
        known.push((component.id.clone(), load_tokenizer(component, self.files)?));
        Ok(known.len() - 1)
    }
}

/// The size of a tensor of token ids.
fn size(kind: &TensorType, argument: &str) -> Result<usize, Failure> {
    match kind.dimensions() {
        [one] if &*one.name == "d0" && !one.is_mapped() => Ok(one.size().unwrap_or_default()),
        _ => failed(format!(
            "{argument} is a {kind}; token ids are a tensor with one indexed dimension d0, such as tensor<float>(d0[32])"
        )),
    }
}

/// Whether cells can hold every id.
fn fits(kind: &TensorType, argument: &str, tokenizer: &(String, Tokenizer)) -> Result<(), Failure> {
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
    let (id, tokenizer) = tokenizer;
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
