//! Which of the parameters that ask something is what is asked.

use super::values::Values;
use crate::query::{SearchCode, SearchError};
use crate::select;
use crate::yql::{self, Statement};

/// What words alone ask.
const USER_QUERY: &str = "select * from sources * where userQuery()";

/// The text of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryText {
    /// In YQL.
    Yql(String),
    /// `select.where`
    Json(String),
}

impl QueryText {
    /// What is asked: `yql` where there is some, or else `select.where`, or else words. As in Vespa the others have no effect then.
    ///
    /// # Errors
    /// When nothing is asked.
    pub(super) fn of(
        values: &Values,
        warnings: &mut Vec<String>,
    ) -> Result<QueryText, SearchError> {
        let said = |name| values.get(name).filter(|text| !text.trim().is_empty());
        let words = said("model.queryString").or(said("model.filter"));
        match (values.get("yql"), said("select.where"), words) {
            (Some(yql), json, _) => {
                if json.is_some() {
                    warnings.push("select.where has no effect: yql says the query".to_owned());
                }
                Ok(QueryText::Yql(yql.to_owned()))
            }
            (None, Some(json), words) => {
                if words.is_some() {
                    let text = "model.queryString has no effect: select.where says the query";
                    warnings.push(text.to_owned());
                }
                Ok(QueryText::Json(json.to_owned()))
            }
            (None, None, Some(_)) => Ok(QueryText::Yql(USER_QUERY.to_owned())),
            (None, None, None) => {
                Err(SearchError { code: SearchCode::NullQuery, message: "No query".to_owned() })
            }
        }
    }

    /// The query as a tree.
    ///
    /// # Errors
    /// When the text is none.
    pub fn statement(&self) -> Result<Statement, SearchError> {
        match self {
            QueryText::Yql(text) => yql::parse(text).map_err(SearchError::yql),
            QueryText::Json(text) => select::read(text).map_err(|error| {
                SearchError::illegal(format!("Illegal JSON query: select.where: {error}"))
            }),
        }
    }
}
