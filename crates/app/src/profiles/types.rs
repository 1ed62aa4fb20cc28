//! Query profiles and their types.

use std::collections::HashMap;

use stead_expr::TensorType;

use crate::package::{Located, Place};

/// All query profiles of a package.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryProfiles {
    /// The profiles, each with what it inherits.
    pub profiles: Vec<QueryProfile>,
    /// The types, each with what it inherits.
    pub types: Vec<QueryProfileType>,
}

/// A query profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryProfile {
    /// Its id; `default` is used where a query names none.
    pub id: Located<String>,
    /// The profiles that it inherits from.
    pub inherits: Vec<Located<String>>,
    /// The type that it must have.
    pub kind: Option<Located<String>>,
    /// Parameters with their values, and whether a query may say something else.
    pub fields: Vec<(Located<String>, String, bool)>,
    /// Parameters that are other profiles.
    pub references: Vec<(String, Located<String>)>,
}

/// A type of query profiles.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryProfileType {
    /// Its id.
    pub id: Located<String>,
    /// The types that it inherits from.
    pub inherits: Vec<Located<String>>,
    /// Whether other parameters than these are refused.
    pub is_strict: bool,
    /// Whether profiles match by the longest part of a path.
    pub matches_paths: bool,
    /// Its parameters.
    pub fields: Vec<ProfileField>,
}

/// A parameter of a type.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileField {
    /// Its name.
    pub name: Located<String>,
    /// Its type.
    pub kind: FieldKind,
    /// Whether a query must have it.
    pub is_mandatory: bool,
    /// Whether a query may say something else than a profile.
    pub is_overridable: bool,
    /// Other names of it.
    pub aliases: Vec<String>,
    /// Where it is written.
    pub place: Place,
}

/// The type of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `long`
    Long,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `boolean`
    Boolean,
    /// `query`
    Query,
    /// A tensor.
    Tensor(TensorType),
    /// `query-profile`, of a type if one is named.
    Profile(Option<String>),
}

impl QueryProfiles {
    /// The profile of this id.
    #[must_use]
    pub fn profile(&self, id: &str) -> Option<&QueryProfile> {
        self.profiles.iter().find(|p| p.id.value == id)
    }

    /// The types that they declare for `query(name)`: those of `ranking.features.query(name)`.
    #[must_use]
    pub fn inputs(&self) -> HashMap<String, TensorType> {
        let mut inputs = HashMap::new();
        for field in self.types.iter().flat_map(|t| &t.fields) {
            let name = field.name.value.strip_prefix("ranking.features.query(");
            if let (Some(name), FieldKind::Tensor(kind)) =
                (name.and_then(|n| n.strip_suffix(')')), &field.kind)
            {
                inputs.insert(name.to_owned(), kind.clone());
            }
        }
        inputs
    }
}
