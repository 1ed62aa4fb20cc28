//! From the tree of a text to the tree of a query.

mod address;
mod annotations;
mod equiv;
mod filters;
mod grammar;
mod grams;
mod indexed;
mod near;
mod near_values;
mod neighbor;
mod places;
mod predicate;
mod same_element;
mod user;
mod values;
mod weighted;
mod words;

use stead_text::{Pattern, guessed_language};

use super::error::SearchError;
use super::fields::Searches;
use super::tree::{Indexed, Labeled, QueryTree, Said, Term, TermStyle, Test, Tree};
use crate::yql::{Expr, Node, Statement};

/// The parameters of the request that `@name` means.
pub type Parameters<'p> = dyn Fn(&str) -> Option<String> + 'p;

/// Operators that are called.
const CALLS: [&str; 14] = [
    "range",
    "wand",
    "weightedSet",
    "dotProduct",
    "geoBoundingBox",
    "geoLocation",
    "nearestNeighbor",
    "rank",
    "labeled",
    "nonEmpty",
    "weakAnd",
    "userQuery",
    "userInput",
    "predicate",
];

/// The tree of a query.
///
/// # Errors
/// When it names a field that there is not, has values that do not fit, or asks for what is not supported.
pub fn build(
    statement: &Statement,
    searches: Searches<'_>,
    parameters: &Parameters<'_>,
) -> Result<QueryTree, SearchError> {
    let tree = QueryTree::default();
    let language = parameters("model.language").or_else(|| parameters("model.locale"));
    let language = language.and_then(indexed::language);
    let mut builder = Builder {
        searches,
        parameters,
        language,
        guessed: None,
        scopes: Vec::new(),
        tree,
        element: None,
        items: 0,
        item: None,
        said: Said::Other,
        exactness: Vec::new(),
        is_negated: false,
        is_non_empty: false,
        is_in_weak_and: false,
        is_typed: false,
    };
    let root = builder.convert(&statement.filter)?;
    builder.check_connectivity()?;
    builder.tree.root = builder.recalled(root)?;
    Ok(builder.tree)
}

/// A query in the making.
struct Builder<'b> {
    searches: Searches<'b>,
    parameters: &'b Parameters<'b>,
    /// The tag of the language of words that the request says.
    language: Option<String>,
    /// That of what people type, by its letters.
    guessed: Option<&'static str>,
    /// Annotations of all that the present part is in, the innermost last.
    scopes: Vec<&'b [(String, Node)]>,
    tree: QueryTree,
    /// The field whose elements are being tested.
    element: Option<String>,
    /// How many items there are.
    items: usize,
    /// The item that all terms are of; nothing where each is one.
    item: Option<usize>,
    /// What the query says where the terms are that are being made.
    said: Said,
    /// How exact each of the phrases of the next term is; none for a term that is no choice.
    exactness: Vec<f64>,
    /// Whether documents must not be what is asked for: ranking knows nothing of it.
    is_negated: bool,
    /// Whether texts must not be empty.
    is_non_empty: bool,
    /// Whether what is made is a part of a `weakAnd`, with which those within are joined.
    is_in_weak_and: bool,
    /// Whether what is made is what people type, which a grammar makes words of.
    is_typed: bool,
}

fn fail<T>(text: impl std::fmt::Display) -> Result<T, SearchError> {
    Err(SearchError::yql(text))
}

/// The arguments of a call, if there are as many as it takes.
fn arguments<const N: usize>(arguments: &[Node]) -> Result<&[Node; N], SearchError> {
    let found = arguments.len();
    arguments.try_into().map_err(|_| {
        let plural = if N == 1 { "" } else { "s" };
        SearchError::yql(format_args!("Expected {N} argument{plural}, got {found}."))
    })
}

impl<'b> Builder<'b> {
    /// A part. The depth of texts is limited, so that of this function is.
    fn convert(&mut self, node: &'b Node) -> Result<Tree, SearchError> {
        self.annotated(node, |builder| builder.operator(node))
    }

    /// Does something within the annotations of a part.
    fn annotated<T>(
        &mut self,
        node: &'b Node,
        run: impl FnOnce(&mut Self) -> Result<T, SearchError>,
    ) -> Result<T, SearchError> {
        self.scopes.push(&node.annotations);
        self.check_annotations(node);
        let found = run(self);
        self.scopes.pop();
        found
    }

    fn operator(&mut self, node: &'b Node) -> Result<Tree, SearchError> {
        match &node.expr {
            Expr::Bool(true) => Ok(Tree::All),
            Expr::Bool(false) => Ok(Tree::None),
            Expr::And(list) => Ok(Tree::all(self.list(list)?)),
            Expr::Or(list) => Ok(Tree::any(self.list(list)?)),
            Expr::Not(inner) => self.negated(|builder| builder.convert(inner)),
            Expr::Compare(comparison, left, right) => self.compare(*comparison, left, right),
            Expr::Contains(field, value) => self.contains(field, value),
            Expr::Matches(field, value) => self.matches(field, value),
            Expr::In(field, values) => self.one_item(|builder| builder.within(field, values)),
            Expr::Call(name, arguments) => self.call(name, arguments),
            Expr::Text(_) if self.element.is_some() => self.element_word(node),
            _ => fail("expected an operator such as =, contains or and, found a value alone"),
        }
    }

    fn list(&mut self, list: &'b [Node]) -> Result<Vec<Tree>, SearchError> {
        list.iter().map(|node| self.convert(node)).collect()
    }

    fn call(&mut self, name: &'b str, list: &'b [Node]) -> Result<Tree, SearchError> {
        if self.element.is_some() && !matches!(name, "range" | "rank" | "weightedSet") {
            return match name {
                "equiv" | "fuzzy" | "phrase" | "near" | "onear" | "alternatives" => {
                    self.element_call(name, list)
                }
                _ => fail(format_args!("{name} is not supported within sameElement")),
            };
        }
        match name {
            "range" => self.range(list),
            "weightedSet" | "dotProduct" | "wand" => {
                self.one_item(|builder| builder.weighted(name, list))
            }
            "geoLocation" => self.circle(list),
            "geoBoundingBox" => self.bounding_box(list),
            "nearestNeighbor" => self.neighbor(list),
            "predicate" => self.predicate(list),
            "rank" => {
                let mut parts = self.list(list)?.into_iter();
                match parts.next() {
                    Some(first) => Ok(Tree::Rank(Box::new(first), parts.collect())),
                    None => fail("Expected 1 or more arguments, got 0."),
                }
            }
            "labeled" => self.labeled(list),
            "weakAnd" => self.weak_and(list),
            "userQuery" => self.user_query(list),
            "userInput" => self.user_input(list),
            "nonEmpty" => {
                let [inner] = arguments(list)?;
                let before = self.tree.terms.len();
                let outer = std::mem::replace(&mut self.is_non_empty, true);
                let found = self.convert(inner);
                self.is_non_empty = outer;
                let found = found?;
                self.check_non_empty(before)?;
                Ok(found)
            }
            _ => self.unknown_call(name),
        }
    }

    /// `labeled(part, "label", score)`
    fn labeled(&mut self, list: &'b [Node]) -> Result<Tree, SearchError> {
        let [part, label, score] = arguments(list)?;
        let (Expr::Text(label) | Expr::Field(label)) = &label.expr else {
            return fail("expected a label, a text, as the second argument of labeled");
        };
        let text = self.number(score)?;
        let Some(score) = text.parse::<f64>().ok().filter(|score| score.is_finite()) else {
            return fail(format_args!("Expected a number as the label score, got {text:.40}."));
        };
        let tree = self.convert(part)?;
        self.tree.labels.push(Labeled { label: label.clone(), score, tree: tree.clone() });
        Ok(tree)
    }

    fn unknown_call<T>(&self, name: &str) -> Result<T, SearchError> {
        let known = CALLS.join(", ");
        fail(format_args!("Expected one of {known}, got {name}."))
    }

    /// The name of a field; within `sameElement` that of a part of it.
    fn field(&self, node: &Node) -> Result<String, SearchError> {
        let name = match &node.expr {
            Expr::Field(name) | Expr::Text(name) => name,
            _ => return fail("expected the name of a field before the operator"),
        };
        Ok(match &self.element {
            Some(element) => format!("{element}.{name}"),
            None => name.clone(),
        })
    }

    /// What documents must not be.
    fn negated(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<Tree, SearchError>,
    ) -> Result<Tree, SearchError> {
        let outer = std::mem::replace(&mut self.is_negated, true);
        let found = run(self);
        self.is_negated = outer;
        Ok(Tree::Not(Box::new(found?)))
    }

    /// Does something whose terms are one item of the query.
    fn one_item<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.item;
        if outer.is_none() {
            self.item = Some(self.items);
            self.items += 1;
        }
        let found = run(self);
        self.item = outer;
        found
    }

    /// Adds a test.
    fn term(&mut self, attribute: &str, test: Test) -> Result<Tree, SearchError> {
        let style = TermStyle {
            label: self.text_annotation("label")?,
            weight: self.integer_annotation("weight")?.unwrap_or(100),
            is_ranked: !self.is_negated && self.bool_annotation("ranked")?.unwrap_or(true),
            is_filter: self.bool_annotation("filter")?.unwrap_or(false),
            significance: self.number_annotation("significance")?,
            frequency: self.document_frequency()?,
            id: self.integer_annotation("id")?,
            connectivity: self.connectivity()?,
        };
        let item = self.item.unwrap_or(self.items);
        if self.item.is_none() {
            self.items += 1;
        }
        let exactness = std::mem::take(&mut self.exactness);
        let said = match &test {
            Test::Indexed(Indexed { pattern: Pattern::Phrases(_), .. })
                if matches!(self.said, Said::Word(_)) =>
            {
                Said::Other
            }
            Test::Indexed(_) | Test::Text { .. } => self.said.clone(),
            _ => Said::Other,
        };
        let guess = || {
            let letters = match &said {
                Said::Word(word) => guessed_language(word),
                Said::Any(_) | Said::Other => None,
            };
            self.guessed.or(letters).map(str::to_owned)
        };
        // What the request says holds where no annotation says something else.
        let language = match self.language_annotation()? {
            None if self.language.is_none() => guess(),
            said => said,
        };
        let attribute = attribute.to_owned();
        self.tree.terms.push(Term { attribute, test, style, said, language, exactness, item });
        Ok(Tree::Term(self.tree.terms.len() - 1))
    }
}

#[cfg(test)]
mod tests;
