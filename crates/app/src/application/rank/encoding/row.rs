//! The token features of a profile, and where the texts of their row come from.

use std::collections::BTreeSet;

use stead_embed::{CLS, SEP};
use stead_expr::TensorType;

use crate::application::field::Field;
use crate::application::profile::{InputType, RankProfile};
use crate::application::rank::feature::FeatureName;
use crate::application::schema::Schema;

/// The longest row; the longest inputs of encoders have some thousand tokens.
const MAX_LENGTH: usize = 1 << 16;

const TOKEN_FEATURES: [&str; 4] =
    ["tokenInputIds", "customTokenInputIds", "tokenTypeIds", "tokenAttentionMask"];

/// What all token features of a profile or a model agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// `tokenInputIds(...)`, as the profile writes it.
    pub feature: String,
    /// The tokens of a row.
    pub length: usize,
    /// The id before the first text.
    pub start: i64,
    /// The id behind each text.
    pub end: i64,
    /// The texts in their order, such as `query(q)`.
    pub arguments: Vec<String>,
}

impl TokenRow {
    /// Whether an expression names one of the features.
    #[must_use]
    pub fn is_feature(name: &str) -> bool {
        FeatureName::parse(name).is_some_and(|f| TOKEN_FEATURES.contains(&f.name))
    }

    /// The row of such features.
    ///
    /// # Errors
    /// Where they have none, or not one, in words that go on after a name.
    pub fn new(features: &BTreeSet<String>) -> Result<TokenRow, String> {
        let ids: Vec<&String> = features.iter().filter(|f| f.contains("InputIds(")).collect();
        let [feature] = ids.as_slice() else {
            let list: Vec<&str> = ids.iter().map(|f| f.as_str()).collect();
            return Err(match list.as_slice() {
                [] => "has no tokenInputIds or customTokenInputIds".to_owned(),
                several => format!("has more than one row of tokens: {}", several.join(" and ")),
            });
        };
        let Some(row) = TokenRow::parse(feature) else {
            return Err(format!("has {feature}, whose ids and length are no whole numbers"));
        };
        if row.length > MAX_LENGTH {
            return Err(format!("has {feature}, which is longer than {MAX_LENGTH} tokens"));
        }
        // Types and masks of other texts or another length would not fit to the ids.
        let same = |other: &&String| {
            TokenRow::parse(other)
                .is_some_and(|o| o.length == row.length && o.arguments == row.arguments)
        };
        if let Some(other) = features.iter().find(|f| !same(f)) {
            return Err(format!("has {feature} and {other}, which differ in length or texts"));
        }
        Ok(row)
    }

    fn parse(feature: &str) -> Option<TokenRow> {
        let parsed = FeatureName::parse(feature)?;
        let is_custom = parsed.name == "customTokenInputIds";
        let number = |at: usize| parsed.argument(at)?.parse::<i64>().ok();
        let (start, end) =
            if is_custom { (number(0)?, number(1)?) } else { (i64::from(CLS), i64::from(SEP)) };
        let first = if is_custom { 2 } else { 0 };
        Some(TokenRow {
            feature: feature.to_owned(),
            length: usize::try_from(number(first)?).ok()?,
            start,
            end,
            arguments: parsed.arguments.get(first + 1..)?.iter().map(|a| (*a).to_owned()).collect(),
        })
    }
}

/// A text of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum RowText<'s> {
    /// The query.
    Query {
        /// The cells of its tensor, at which its tokens are cut.
        size: usize,
    },
    /// What the indexing of a field makes of the document.
    Document {
        /// The field.
        field: &'s Field,
        /// The name of its attribute.
        attribute: String,
        /// The type of its tensor.
        kind: &'s TensorType,
        /// The cells of its tensor.
        size: usize,
        /// The component that its script asks; empty for the only one there is.
        tokenizer: String,
    },
}

impl<'s> RowText<'s> {
    /// The text that an argument of a token feature stands for.
    ///
    /// # Errors
    /// Where it is none that is known before documents and queries come.
    pub fn new(
        argument: &str,
        schema: &'s Schema,
        profile: &'s RankProfile,
    ) -> Result<RowText<'s>, String> {
        let parsed = FeatureName::parse(argument);
        let name = parsed.as_ref().and_then(|p| p.argument(0)).unwrap_or_default();
        match parsed.as_ref().map(|p| p.name) {
            Some("query") => {
                let input = profile.inputs.iter().find(|i| i.name.value == name);
                let Some(InputType::Tensor(kind)) = input.map(|i| &i.kind) else {
                    return Err(format!(
                        "{argument} must be a tensor in the inputs of the profile"
                    ));
                };
                Ok(RowText::Query { size: size(kind, argument)? })
            }
            Some("attribute") => {
                let mut fields = schema.all_fields();
                let field = fields.find(|f| f.outputs("attribute").contains(&name));
                let field = field.ok_or_else(|| {
                    format!("{argument} is no field of schema {}", schema.name.value)
                })?;
                let kind = field.kind.tensor().ok_or_else(|| {
                    format!("{argument} is a {}, no tensor of token ids", *field.kind)
                })?;
                let size = size(kind, argument)?;
                let tokenizer = field.components("embed").into_iter().next().ok_or_else(|| {
                    format!(
                        "the indexing of field {} must be input FIELD | embed TOKENIZER | attribute",
                        field.name.value
                    )
                })?;
                Ok(RowText::Document { field, attribute: name.to_owned(), kind, size, tokenizer })
            }
            _ => Err(format!(
                "{argument} is neither query(name) nor attribute(name); its text is not known"
            )),
        }
    }
}

/// The size of a tensor of token ids.
fn size(kind: &TensorType, argument: &str) -> Result<usize, String> {
    match kind.dimensions() {
        [one] if &*one.name == "d0" && !one.is_mapped() => Ok(one.size().unwrap_or_default()),
        _ => Err(format!(
            "{argument} is a {kind}; token ids are a tensor with one indexed dimension d0, such as tensor<float>(d0[32])"
        )),
    }
}
