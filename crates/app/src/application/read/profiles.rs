//! Rank profiles as they are written, without what they inherit.

use stead_expr::TensorType;

use super::onnx::{onnx_model, precision};
use super::schemas::constant as constant_file;
use super::{all, one, tensor, unique};
use crate::application::profile::{
    Constant, ConstantValue, Diversity, Features, FieldRank, Function, Input, InputType,
    MatchPhase, Phase, RankProfile, Setting,
};
use crate::package::{Located, Report};
use crate::schema::{Element, Expression, FieldType, Name, Value};

/// The rank profiles among some elements, the inner ones behind those around them.
pub(in crate::application) fn profiles(body: &[Element], report: &mut Report) -> Vec<RankProfile> {
    let is_profile = |e: &&Element| matches!(e.keyword(), "rank-profile" | "model");
    let mut list = Vec::new();
    let mut open: Vec<(&Element, Option<Name>)> =
        body.iter().rev().filter(is_profile).map(|e| (e, None)).collect();
    while let Some((element, outer)) = open.pop() {
        let Some(mut name) = element.name.clone() else { continue };
        if let Some(outer) = &outer {
            let inherits_outer = element.inherits.iter().any(|n| n.value == outer.value);
            if !inherits_outer {
                let text = format!(
                    "rank-profile {} is within {} and must inherit it",
                    name.value, outer.value
                );
                report.error(&name.place, text);
            }
            name.value = format!("{}.{}", outer.value, name.value);
        }
        let inner = element.body.iter().rev().filter(is_profile);
        open.extend(inner.map(|e| (e, Some(name.clone()))));
        list.push(profile(name, element, report));
    }
    list
}

fn profile(name: Name, element: &Element, report: &mut Report) -> RankProfile {
    let body = &element.body;
    let mut profile = RankProfile { inherits: element.inherits.clone(), ..RankProfile::new(name) };
    for entry in all(body, "inputs").flat_map(|e| &e.body) {
        profile.inputs.extend(input(entry, report));
    }
    for entry in all(body, "constants").flat_map(|e| &e.body) {
        profile.constants.extend(constant(entry, report));
    }
    for element in all(body, "constant") {
        if let Some(file) = constant_file(element, report)
            && let Some(kind) = tensor_type(&file.kind)
        {
            let value = ConstantValue::File(file.file);
            profile.constants.push(Constant { name: file.name, kind, value });
        }
    }
    profile.functions = body.iter().filter_map(|e| function(e, report)).collect();
    profile.onnx_models = all(body, "onnx-model").filter_map(|e| onnx_model(e, report)).collect();
    profile.precision = precision(body, report);
    unique("input", profile.inputs.iter().map(|i| &i.name), report);
    unique("constant", profile.constants.iter().map(|c| &c.name), report);
    unique("function", profile.functions.iter().map(|f| &f.name), report);
    unique("onnx-model", profile.onnx_models.iter().map(|m| &m.name), report);
    profile.first_phase =
        phase(body, "first-phase", "keep-rank-count", "total-keep-rank-count", report);
    profile.second_phase =
        phase(body, "second-phase", "rerank-count", "total-rerank-count", report);
    profile.global_phase =
        phase(body, "global-phase", "rerank-count", "total-rerank-count", report);
    profile.match_features = features(body, "match-features");
    profile.summary_features = features(body, "summary-features");
    profile.rank_features = features(body, "rank-features");
    profile.ignore_default_rank_features =
        all(body, "ignore-default-rank-features").next().is_some();
    for property in all(body, "rank-properties").flat_map(|e| &e.body) {
        if let Some(Value::Raw(value)) = &property.value {
            profile.properties.push((property.name().to_owned(), value.clone()));
        }
    }
    profile.match_phase = one(body, "match-phase", report).and_then(|e| match_phase(e, report));
    let inner = all(body, "match-phase").flat_map(|e| all(&e.body, "diversity"));
    let within = all(body, "diversity").chain(inner).last();
    profile.diversity = within.and_then(|e| diversity(e, report));
    profile.fields = field_ranks(body);
    profile.settings = settings(body);
    profile
}

/// The tensor type of a type, if it is one.
fn tensor_type(kind: &FieldType) -> Option<TensorType> {
    match kind {
        FieldType::Tensor(kind) => Some(kind.clone()),
        FieldType::Double | FieldType::Float | FieldType::Long | FieldType::Int => {
            Some(TensorType::double())
        }
        _ => None,
    }
}

fn input(entry: &Element, report: &mut Report) -> Option<Input> {
    let name = entry.name.clone()?;
    let kind = match entry.kind.as_ref() {
        None => InputType::Tensor(TensorType::double()),
        Some(kind) if **kind == FieldType::String => InputType::Text,
        Some(kind) => match tensor_type(kind) {
            Some(tensor) => InputType::Tensor(tensor),
            None => {
                let text = format!("expected a tensor, double or string, found {}", **kind);
                report.error(&kind.place, text);
                return None;
            }
        },
    };
    let default = match (&kind, entry.raw()) {
        (InputType::Tensor(kind), Some(literal)) => Some(tensor(kind, literal, report)?),
        _ => None,
    };
    Some(Input { name, kind, default })
}

fn constant(entry: &Element, report: &mut Report) -> Option<Constant> {
    let name = entry.name.clone()?;
    let kind = match entry.kind.as_ref() {
        None => TensorType::double(),
        Some(kind) => match tensor_type(kind).filter(TensorType::is_bound) {
            Some(kind) => kind,
            None => {
                let text = format!(
                    "expected a tensor whose sizes are known or a double, found {}",
                    **kind
                );
                report.error(&kind.place, text);
                return None;
            }
        },
    };
    let value = match &entry.value {
        Some(Value::Text(file)) => ConstantValue::File(file.clone()),
        Some(Value::Raw(literal)) => ConstantValue::Here(tensor(&kind, literal, report)?),
        _ => {
            report.error(&name.place, format!("constant {} has no value", name.value));
            return None;
        }
    };
    Some(Constant { name, kind, value })
}

fn function(element: &Element, report: &mut Report) -> Option<Function> {
    if !matches!(element.keyword(), "function" | "macro") {
        return None;
    }
    let name = element.name.clone()?;
    let Some(body) = one(&element.body, "expression", report).and_then(Element::raw) else {
        let text = format!("function {} has no expression", name.value);
        report.error(&name.place, text);
        return None;
    };
    let parameters = element.parameters.iter().map(|p| p.value.clone()).collect();
    Some(Function { name, parameters, is_inline: element.is_inline, body: body.clone() })
}

fn phase(
    body: &[Element],
    keyword: &'static str,
    count: &'static str,
    total: &'static str,
    report: &mut Report,
) -> Phase {
    let Some(element) = one(body, keyword, report) else { return Phase::default() };
    let mut number = |keyword| {
        let element = one(&element.body, keyword, report)?;
        let value = element.integer()?;
        if value < 0 {
            report.error(&element.place, format!("{keyword} must be at least 0, found {value}"));
        }
        Some(Located::new(value, element.place.clone()))
    };
    let (count, total_count) = (number(count), number(total));
    Phase {
        expression: one(&element.body, "expression", report).and_then(Element::raw).cloned(),
        count,
        total_count,
        drop_limit: one(&element.body, "rank-score-drop-limit", report).and_then(Element::number),
    }
}

/// The features of a keyword, or nothing without it.
fn features(body: &[Element], keyword: &'static str) -> Option<Features> {
    let mut found: Option<Features> = None;
    for element in all(body, keyword) {
        let features = found.get_or_insert_default();
        features.inherits.extend(element.inherits.iter().cloned());
        features.list.extend(element.raw().map(read_features).unwrap_or_default());
    }
    found
}

/// The features of a list: spaces and newlines outside parentheses and quotes stand between them.
fn read_features(raw: &Expression) -> Vec<Expression> {
    let (mut list, mut from, mut open, mut quote) = (Vec::new(), None, 0_usize, None);
    let (mut line, mut column) = (1, 0);
    let mut start = (1, 1);
    for (at, c) in raw.value.char_indices().chain([(raw.value.len(), '\n')]) {
        column += 1;
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => open += 1,
            (None, ')' | ']' | '}') => open = open.saturating_sub(1),
            _ => {}
        }
        let is_space =
            c.is_whitespace() && ((open == 0 && quote.is_none()) || at == raw.value.len());
        match (is_space, from) {
            (true, Some(begin)) => {
                let place = raw.place.within(start.0, start.1);
                list.push(Located::new(raw.value[begin..at].to_owned(), place));
                from = None;
            }
            (false, None) => {
                from = Some(at);
                start = (line, column);
            }
            _ => {}
        }
        if c == '\n' {
            (line, column) = (line + 1, 0);
        }
    }
    list
}

fn match_phase(element: &Element, report: &mut Report) -> Option<MatchPhase> {
    let body = &element.body;
    let Some(Value::Text(attribute)) = one(body, "attribute", report).and_then(|e| e.value.clone())
    else {
        report.error(&element.place, "match-phase must have an attribute");
        return None;
    };
    let mut integer = |keyword| one(body, keyword, report).and_then(Element::integer);
    let (max_hits, total_max_hits) = (integer("max-hits"), integer("total-max-hits"));
    if max_hits.or(total_max_hits).is_none_or(|n| n < 1) {
        report.error(&element.place, "match-phase must have max-hits or total-max-hits above 0");
    }
    for keyword in ["evaluation-point", "pre-post-filter-tipping-point"] {
        if let Some(element) = one(body, keyword, report) {
            let why = "the limit is applied before matching";
            report.warning(&element.place, format!("{keyword} has no effect: {why}"));
        }
    }
    Some(MatchPhase {
        place: element.place.clone(),
        attribute,
        ascending: one(body, "order", report).is_some_and(|e| e.text() == "ascending"),
        max_hits,
        total_max_hits,
        max_filter_coverage: one(body, "max-filter-coverage", report).and_then(Element::number),
    })
}

fn diversity(element: &Element, report: &mut Report) -> Option<Diversity> {
    let body = &element.body;
    let Some(Value::Text(attribute)) = one(body, "attribute", report).and_then(|e| e.value.clone())
    else {
        report.error(&element.place, "diversity must have an attribute");
        return None;
    };
    let min_groups = one(body, "min-groups", report).and_then(Element::integer);
    if min_groups.is_none_or(|n| n < 1) {
        report.error(&element.place, "diversity must have min-groups above 0");
    }
    let cutoff_factor = one(body, "cutoff-factor", report).and_then(Element::number);
    if cutoff_factor.is_some_and(|factor| factor < 1.0) {
        report.error(&element.place, "the cutoff-factor of diversity must be at least 1");
    }
    Some(Diversity {
        attribute,
        min_groups,
        cutoff_factor,
        cutoff_strategy: one(body, "cutoff-strategy", report).map(|e| e.text().to_owned()),
    })
}

fn field_ranks(body: &[Element]) -> Vec<FieldRank> {
    let mut list: Vec<FieldRank> = Vec::new();
    for element in body {
        if !matches!(element.keyword(), "rank" | "rank-type" | "weight") {
            continue;
        }
        let Some(name) = &element.name else { continue };
        let at = list.iter().position(|f| f.field.value == name.value);
        let at = at.unwrap_or_else(|| {
            list.push(FieldRank {
                field: name.clone(),
                is_filter: false,
                filter_threshold: None,
                element_gap: None,
                rank_type: None,
                weight: None,
            });
            list.len() - 1
        });
        let rank = &mut list[at];
        match element.keyword() {
            "rank-type" => rank.rank_type = Some(element.text().to_owned()),
            "weight" => rank.weight = element.integer(),
            _ => {
                for setting in &element.body {
                    match setting.keyword() {
                        "filter" => rank.is_filter = true,
                        "filter-threshold" => rank.filter_threshold = setting.number(),
                        _ => rank.element_gap = setting.number(),
                    }
                }
            }
        }
    }
    list
}

/// Numbers and choices that only need to be kept.
fn settings(body: &[Element]) -> Vec<(&'static str, Setting)> {
    const KEYWORDS: [&str; 12] = [
        "num-threads-per-search",
        "min-hits-per-thread",
        "num-search-partitions",
        "termwise-limit",
        "post-filter-threshold",
        "approximate-threshold",
        "filter-first-threshold",
        "filter-first-exploration",
        "exploration-slack",
        "target-hits-max-adjustment-factor",
        "filter-threshold",
        "strict",
    ];
    let inner = body.iter().filter(|e| matches!(e.keyword(), "significance" | "weakand"));
    let inner = inner.flat_map(|e| &e.body);
    let kept = body.iter().filter(|e| KEYWORDS.contains(&e.keyword())).chain(inner);
    kept.filter_map(|e| {
        let setting = match e.value {
            Some(Value::Bool(value)) => Setting::Bool(value),
            _ => Setting::Number(e.number()?),
        };
        Some((e.keyword(), setting))
    })
    .collect()
}
