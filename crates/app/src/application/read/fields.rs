//! Fields and what stands in them.

use super::{all, one};
use crate::application::field::{
    AttributeSettings, Field, Hnsw, IndexSettings, MatchSettings, Sorting, SummaryField,
};
use crate::package::{Located, Report};
use crate::schema::{Element, FieldType, Name, Value};

/// A text of an element by its keyword.
fn text(body: &[Element], keyword: &'static str, report: &mut Report) -> Option<String> {
    one(body, keyword, report).map(|e| e.text().to_owned())
}

fn texts(body: &[Element], keyword: &'static str) -> Vec<Name> {
    let name = |e: &Element| match &e.value {
        Some(Value::Text(name)) => Some(name.clone()),
        _ => None,
    };
    all(body, keyword).filter_map(name).collect()
}

/// A whole number that must be positive.
fn positive(body: &[Element], keyword: &'static str, report: &mut Report) -> Option<i64> {
    let element = one(body, keyword, report)?;
    let number = element.integer()?;
    if number < 1 {
        report.error(&element.place, format!("{keyword} must be at least 1, found {number}"));
        return None;
    }
    Some(number)
}

/// A field, or nothing if it has no type.
pub(super) fn field(element: &Element, report: &mut Report) -> Option<Field> {
    let mut field = Field::new(element.name.clone()?, element.kind.clone()?);
    fill(&mut field, element, report);
    Some(field)
}

fn fill(field: &mut Field, element: &Element, report: &mut Report) {
    let body = &element.body;
    if let Some(Value::Script(script)) =
        one(body, "indexing", report).and_then(|e| e.value.as_ref())
    {
        field.indexing = Some(script.clone());
    }
    for index in all(body, "index") {
        other_name(field, index, report);
        read_index(&mut field.index, &index.body, report);
        field.aliases.extend(texts(&index.body, "alias"));
    }
    for attribute in all(body, "attribute") {
        other_name(field, attribute, report);
        read_attribute(&mut field.attribute, &attribute.body, report);
        field.aliases.extend(texts(&attribute.body, "alias"));
    }
    field.matching = matching(body, report);
    field.is_filter = all(body, "rank").any(|e| e.body.iter().any(|s| s.keyword() == "filter"));
    field.rank_type = text(body, "rank-type", report);
    field.stemming = text(body, "stemming", report);
    field.normalizing = text(body, "normalizing", report);
    field.linguistics = one(body, "linguistics", report).and_then(|e| linguistics(&e.body, report));
    field.weight = one(body, "weight", report).and_then(Element::integer);
    // Vespa, `DataType.TAG`.
    field.weighted_set = (element.is_tag, element.is_tag);
    for set in all(body, "weightedset") {
        let has = |word: &str| set.body.iter().any(|e| e.keyword() == word);
        field.weighted_set.0 |= has("create-if-nonexistent");
        field.weighted_set.1 |= has("remove-if-zero");
        if !matches!(*field.kind, FieldType::WeightedSet(_)) {
            let text =
                format!("weightedset belongs to a weighted set, not to type {}", *field.kind);
            report.error(&set.place, text);
        }
    }
    field.is_bold = is_bold(body, report);
    let words = |e: &Element| e.body.iter().map(|w| w.keyword().to_owned()).collect::<Vec<_>>();
    field.dictionary = all(body, "dictionary").flat_map(words).collect();
    field.aliases.extend(texts(body, "alias"));
    field.query_commands = texts(body, "query-command");
    if let Some(sort) = one(body, "sorting", report) {
        field.attribute.sorting = Some(sorting(&sort.body));
    }
    for summary in all(body, "summary") {
        field.summaries.push(summary_field(summary, &field.name, report));
    }
    for inner in all(body, "struct-field") {
        let Some(name) = inner.name.clone() else { continue };
        // Its type is that of the member, which is looked up when all structs are known.
        let kind = Located::new(FieldType::Named(String::new()), inner.place.clone());
        let mut inner_field = Field::new(name, kind);
        fill(&mut inner_field, inner, report);
        field.struct_fields.push(inner_field);
    }
    super::unique("struct-field", field.struct_fields.iter().map(|f| &f.name), report);
}

/// An index or attribute of another name than its field.
fn other_name(field: &Field, element: &Element, report: &mut Report) {
    if let Some(name) = &element.name
        && name.value != field.name.value
    {
        let text = format!(
            "{} {} of field {} must have the name of the field; use a field outside the document",
            element.keyword(),
            name.value,
            field.name.value
        );
        report.error(&name.place, text);
    }
}

fn read_index(index: &mut IndexSettings, body: &[Element], report: &mut Report) {
    index.has_bm25 |= all(body, "enable-bm25").next().is_some();
    if let Some(element) = one(body, "hnsw", report) {
        let mut hnsw = Hnsw::default();
        let small = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
        if let Some(links) = positive(&element.body, "max-links-per-node", report) {
            hnsw.max_links_per_node = small(links);
        }
        if let Some(neighbors) = positive(&element.body, "neighbors-to-explore-at-insert", report) {
            hnsw.neighbors_to_explore_at_insert = small(neighbors);
        }
        index.hnsw = Some(hnsw);
    }
    index.stemming = text(body, "stemming", report).or(index.stemming.take());
    let number =
        |keyword, report: &mut Report| one(body, keyword, report).and_then(Element::integer);
    index.arity = number("arity", report).or(index.arity);
    index.lower_bound = number("lower-bound", report).or(index.lower_bound);
    index.upper_bound = number("upper-bound", report).or(index.upper_bound);
    let threshold = one(body, "dense-posting-list-threshold", report).and_then(Element::number);
    index.dense_posting_list_threshold = threshold.or(index.dense_posting_list_threshold);
}

fn read_attribute(attribute: &mut AttributeSettings, body: &[Element], report: &mut Report) {
    for element in body {
        match element.keyword() {
            "fast-search" => attribute.fast_search = true,
            "fast-access" => attribute.fast_access = true,
            "fast-rank" => attribute.fast_rank = true,
            "paged" => attribute.paged = true,
            "mutable" => attribute.mutable = true,
            "sorting" => attribute.sorting = Some(sorting(&element.body)),
            _ => {}
        }
    }
    if let Some(metric) = text(body, "distance-metric", report) {
        let metric = match metric.as_str() {
            "innerproduct" | "prenormalized_angular" => "prenormalized-angular",
            other => other,
        };
        attribute.distance_metric = Some(metric.to_owned());
    }
}

fn sorting(body: &[Element]) -> Sorting {
    let mut sorting = Sorting::default();
    for element in body {
        let text = Some(element.text().to_owned());
        match element.keyword() {
            "ascending" => sorting.descending = false,
            "descending" => sorting.descending = true,
            "function" => sorting.function = text,
            "strength" => sorting.strength = text,
            "locale" => sorting.locale = text,
            _ => {}
        }
    }
    sorting
}

/// `match` of a field or field set.
pub(super) fn matching(body: &[Element], report: &mut Report) -> MatchSettings {
    let mut settings = MatchSettings::default();
    for element in all(body, "match").flat_map(|e| &e.body) {
        let word = element.keyword();
        match word {
            "text" | "token" => settings.kind = Some("text".to_owned()),
            "word" | "exact" | "gram" => settings.kind = Some(word.to_owned()),
            "cased" => settings.cased = true,
            "uncased" => settings.cased = false,
            "prefix" | "substring" | "suffix" => settings.algorithm = Some(word.to_owned()),
            "exact-terminator" => settings.exact_terminator = Some(element.text().to_owned()),
            _ => {
                let number = element.integer().filter(|n| *n >= 1);
                if number.is_none() {
                    let text = format!("{word} must be at least 1, found {:?}", element.integer());
                    report.error(&element.place, text.replace("Some(", "").replace(')', ""));
                }
                match word {
                    "gram-size" => settings.gram_size = number,
                    "max-length" => settings.max_length = number,
                    "max-occurrences" => settings.max_occurrences = number,
                    _ => settings.max_token_length = number,
                }
            }
        }
    }
    settings
}

fn linguistics(body: &[Element], report: &mut Report) -> Option<(String, String)> {
    let profile = one(body, "profile", report)?;
    if !profile.text().is_empty() {
        return Some((profile.text().to_owned(), profile.text().to_owned()));
    }
    let index = text(&profile.body, "index", report).unwrap_or_default();
    let search = text(&profile.body, "search", report).unwrap_or_else(|| index.clone());
    Some((index, search))
}

/// A field of a result; without a name of its own it has that of the field around it.
pub(super) fn summary_field(element: &Element, around: &Name, report: &mut Report) -> SummaryField {
    let body = &element.body;
    let (mut transform, mut select) = (None, None);
    for item in body {
        match item.keyword() {
            word @ ("dynamic" | "tokens" | "matched-elements-only") => transform = Some(word),
            "full" | "static" => transform = None,
            "select-elements-by" => select = item.raw().cloned(),
            _ => {}
        }
    }
    SummaryField {
        name: element.name.clone().unwrap_or_else(|| around.clone()),
        kind: element.kind.clone(),
        sources: all(body, "source").flat_map(Element::names).cloned().collect(),
        transform,
        select_elements_by: select,
        is_bold: is_bold(body, report),
    }
}

/// Whether words that were found are to be marked.
fn is_bold(body: &[Element], report: &mut Report) -> bool {
    one(body, "bolding", report).is_some_and(Element::bool)
}
