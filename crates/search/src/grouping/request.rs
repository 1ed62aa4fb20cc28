//! What a request says of groupings.

use std::fmt::Display;

use super::plan::Limits;
use super::syntax::{Operation, parse};
use super::zone::Zone;
use crate::query::SearchError;
use crate::request::Values;
use crate::select::groupings;
use crate::yql::{Expr, Statement};

/// What parameters say of groupings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupingRequest {
    /// `select`: groupings with `;` between them.
    pub select: Option<String>,
    /// `select.grouping`: groupings as JSON.
    pub json: Option<String>,
    /// `continue`: continuations of these.
    pub continuations: Vec<String>,
    /// `timezone`
    pub zone: Zone,
    /// How many groups and hits there are.
    pub limits: Limits,
}

/// A grouping that a request asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// What is done.
    pub operation: Operation,
    /// The pages of its lists.
    pub continuations: Vec<String>,
}

impl GroupingRequest {
    /// What values say.
    ///
    /// # Errors
    /// When one of them is not what it should be.
    pub fn of(values: &Values) -> Result<GroupingRequest, SearchError> {
        let plain = Limits::default();
        let count = |name: &str, plain: Option<u64>| -> Result<Option<u64>, SearchError> {
            let Some(text) = values.get(name) else { return Ok(plain) };
            match text.trim().parse::<i64>() {
                Ok(-1) => Ok(None),
                Ok(count @ 0..) if count <= i64::from(i32::MAX) => Ok(Some(count as u64)),
                _ => Err(SearchError::parameter(format!(
                    "Could not set '{name}' to '{text:.60}': expected a whole number from 0, or -1 for any number"
                ))),
            }
        };
        let few = |name: &str, plain: Option<u32>| -> Result<Option<u32>, SearchError> {
            Ok(count(name, plain.map(u64::from))?.map(|count| count as u32))
        };
        let limits = Limits {
            groups: few("grouping.defaultMaxGroups", plain.groups)?,
            hits: few("grouping.defaultMaxHits", plain.hits)?,
            all: count("grouping.globalMaxGroups", plain.all)?,
            precision: values
                .get("grouping.defaultPrecisionFactor")
                .and_then(|text| text.trim().parse().ok())
                .unwrap_or(plain.precision),
        };
        let said =
            |name| values.get(name).filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let zone = values.get("timezone").unwrap_or("utc");
        let continuations = values.get("continue").unwrap_or_default();
        Ok(GroupingRequest {
            select: said("select"),
            json: said("select.grouping"),
            continuations: continuations.split_whitespace().map(str::to_owned).collect(),
            zone: Zone::new(zone).ok_or_else(|| {
                SearchError::parameter(format!(
                    "Could not set 'timezone' to '{zone:.60}': expected utc, a difference from it such as GMT+01:00, or a region such \
                     as Europe/Oslo"
                ))
            })?,
            limits,
        })
    }

    /// The groupings that the request asks for: those of `select.grouping`, of `select`, and of the query.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub fn asked(&self, statement: &Statement, values: &Values) -> Result<Vec<Asked>, SearchError> {
        let mut asked = Vec::new();
        if let Some(json) = &self.json {
            let wrong = |error: &dyn Display| {
                SearchError::parameter(format!("Could not set 'select.grouping': {error}"))
            };
            for text in groupings(json).map_err(|error| wrong(&error))? {
                for operation in
                    parse(&text).map_err(|error| wrong(&format!("{error} in {text:.60}")))?
                {
                    asked.push(Asked { operation, continuations: Vec::new() });
                }
            }
        }
        if let Some(select) = &self.select {
            let found = parse(select).map_err(|error| {
                SearchError::parameter(format!("Could not set 'select': {error}"))
            })?;
            asked.extend(found.into_iter().map(|operation| {
                let continuations = self.continuations.clone();
                Asked { operation, continuations }
            }));
        }
        for grouping in &statement.groupings {
            let found = parse(&grouping.text).map_err(SearchError::yql)?;
            let mut continuations = Vec::new();
            for (name, value) in &grouping.annotations {
                let (true, Expr::Array(list)) = (name == "continuations", &value.expr) else {
                    return Err(SearchError::yql(format_args!(
                        "a grouping has no annotation {name:.60} but continuations, a list of texts"
                    )));
                };
                for one in list {
                    let text = match &one.expr {
                        Expr::Text(text) => Some(text.clone()),
                        Expr::Parameter(name) => values.get(name).map(str::to_owned),
                        _ => None,
                    };
                    continuations.push(text.ok_or_else(|| {
                        SearchError::yql("expected a text or a parameter in continuations")
                    })?);
                }
            }
            for operation in found {
                asked.push(Asked { operation, continuations: continuations.clone() });
            }
        }
        Ok(asked)
    }
}
