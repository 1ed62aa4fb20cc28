//! `boost`: relevance changed by rules of business.

use stead_app::components::Parameters;
use stead_search::rank::descending;
use stead_search::result::{Hit, Item, SearchResult};

use super::more::search_more;
use crate::components::native::{Execution, NativeError, Query, Searcher};

/// Changes relevance, and orders hits by it.
pub(super) struct Boost {
    rules: Vec<Rule>,
    more: usize,
}

struct Rule {
    field: Option<String>,
    equals: Option<String>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    /// A parameter of the query and its value.
    when: Option<(String, String)>,
    factor: f64,
    add: f64,
    drop: bool,
}

impl Boost {
    pub(super) fn new(given: &Parameters) -> Result<Boost, String> {
        let rules =
            given.rules("rules").iter().enumerate().map(|(at, rule)| {
                Rule::new(rule).map_err(|text| format!("rule {}: {text}", at + 1))
            });
        Ok(Boost { rules: rules.collect::<Result<_, _>>()?, more: given.count("more") })
    }
}

impl Rule {
    fn new(given: &Parameters) -> Result<Rule, String> {
        let text = |name: &str| given.text(name).map(str::to_owned);
        let when = match text("when") {
            None => None,
            Some(when) => {
                let (name, value) = when
                    .split_once('=')
                    .ok_or_else(|| format!("when must be name=value, found {when}"))?;
                Some((name.trim().to_owned(), value.trim().to_owned()))
            }
        };
        let rule = Rule {
            field: text("field"),
            equals: text("equals"),
            at_least: given.number("at-least"),
            at_most: given.number("at-most"),
            when,
            factor: given.number("factor").unwrap_or(1.0),
            add: given.number("add").unwrap_or(0.0),
            drop: given.bool("drop"),
        };
        let has_test = rule.equals.is_some() || rule.at_least.is_some() || rule.at_most.is_some();
        match (&rule.field, has_test) {
            (None, true) => Err("it has equals, at-least or at-most, and no field".to_owned()),
            (None, false) if rule.drop && rule.when.is_none() => {
                Err("it would drop all hits: it has neither field nor when".to_owned())
            }
            _ => Ok(rule),
        }
    }

    fn is_for_query(&self, query: &Query) -> bool {
        let is_it = |(name, value): &(String, String)| query.values.get(name) == Some(value);
        self.when.as_ref().is_none_or(is_it)
    }

    fn is_for_hit(&self, hit: &Hit) -> bool {
        let Some(field) = &self.field else { return true };
        let Some(value) = hit.get(field) else { return false };
        let number = number(value);
        self.equals.as_ref().is_none_or(|text| is_equal(value, text))
            && self.at_least.is_none_or(|least| number.is_some_and(|n| n >= least))
            && self.at_most.is_none_or(|most| number.is_some_and(|n| n <= most))
    }
}

fn number(item: &Item) -> Option<f64> {
    match item {
        Item::Integer(number) => Some(*number as f64),
        Item::Number(number) => Some(*number),
        Item::Float(number) => Some(f64::from(*number)),
        _ => None,
    }
}

/// Whether a value is what a text says, or has it among its elements or keys.
fn is_equal(item: &Item, text: &str) -> bool {
    match item {
        Item::Text(own) => own == text,
        Item::Bool(value) => text.parse() == Ok(*value),
        Item::Float(number) => text.parse() == Ok(*number),
        Item::Integer(_) | Item::Number(_) => number(item) == text.parse().ok(),
        Item::List(list) => list.iter().any(|one| is_equal(one, text)),
        Item::Map(members) => members.iter().any(|(name, _)| name == text),
        Item::Null | Item::Tensor(..) => false,
    }
}

impl Searcher for Boost {
    fn search(&self, query: Query, execution: &Execution<'_>) -> Result<SearchResult, NativeError> {
        let rules: Vec<&Rule> = self.rules.iter().filter(|r| r.is_for_query(&query)).collect();
        if rules.is_empty() {
            return execution.search(query);
        }
        let keep = |mut hits: Vec<Hit>| {
            for rule in &rules {
                if rule.drop {
                    hits.retain(|hit| !rule.is_for_hit(hit));
                    continue;
                }
                for hit in hits.iter_mut().filter(|hit| rule.is_for_hit(hit)) {
                    hit.relevance = hit.relevance * rule.factor + rule.add;
                }
            }
            hits.sort_by(|a, b| descending(a.relevance, b.relevance));
            hits
        };
        search_more(query, self.more, &keep, &|query| execution.search(query))
    }
}
