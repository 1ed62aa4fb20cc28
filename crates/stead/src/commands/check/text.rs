//! A package for people.

use std::collections::HashMap;
use std::fmt::Write;

use stead_app::application::rank::{CompiledProfile, Typed};
use stead_app::application::{Field, InputType, RankProfile, Schema};
use stead_app::components::NativeKind;
use stead_app::package::Report;
use stead_app::services::{ComponentKind, ContainerCluster, ContentCluster, IndexMode};

use super::Checked;

/// What stands behind a line does not matter more than that it can be read.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {{
        let _ = writeln!($out, $($text)*);
    }};
}

/// The package as lines.
pub(super) fn text(checked: &Checked) -> String {
    let mut out = String::new();
    let application = &checked.application;
    for schema in &application.schemas {
        let compiled = checked.profiles.get(&schema.name.value).map_or(&[][..], Vec::as_slice);
        describe_schema(&mut out, schema, compiled);
    }
    for cluster in &application.services.containers {
        container(&mut out, cluster);
    }
    for cluster in &application.services.contents {
        content(&mut out, cluster);
    }
    for profile in &application.query_profiles.profiles {
        let kind =
            profile.kind.as_ref().map(|k| format!(" of type {}", k.value)).unwrap_or_default();
        line!(out, "query-profile {}{kind}: {} parameters", profile.id.value, profile.fields.len());
    }
    for model in &application.models {
        line!(out, "{}: {} bytes", model.path, model.size);
    }
    out
}

fn describe_schema(out: &mut String, schema: &Schema, compiled: &[CompiledProfile]) {
    line!(
        out,
        "{} {}",
        if schema.is_document_only { "document" } else { "schema" },
        schema.name.value
    );
    for field in schema.all_fields() {
        let from = field.from.as_ref().map(|f| format!(" (of {f})")).unwrap_or_default();
        line!(out, "  field {} {}: {}{from}", field.name.value, *field.kind, aspects(field));
    }
    for import in &schema.imports {
        line!(out, "  import field {}.{} as {}", import.reference, import.field, import.name.value);
    }
    for set in &schema.field_sets {
        let names: Vec<&str> = set.fields.iter().map(|f| f.value.as_str()).collect();
        line!(out, "  fieldset {}: {}", set.name.value, names.join(", "));
    }
    for summary in &schema.summaries {
        let names: Vec<&str> = summary.fields.iter().map(|f| f.name.value.as_str()).collect();
        line!(out, "  document-summary {}: {}", summary.name.value, names.join(", "));
    }
    for model in &schema.onnx_models {
        line!(out, "  onnx-model {}: {}", model.name.value, model.file.value);
    }
    for profile in &schema.profiles {
        let types = compiled.iter().find(|c| c.name == profile.name.value);
        describe_profile(out, profile, types);
    }
    out.push('\n');
}

/// What a field is good for.
fn aspects(field: &Field) -> String {
    let mut list = Vec::new();
    if field.is_attribute() {
        list.push("attribute".to_owned());
    }
    if field.is_index() {
        let is_tensor = field.kind.tensor().is_some();
        let metric = field.attribute.distance_metric.as_deref().unwrap_or("euclidean");
        list.push(match (is_tensor, field.index.hnsw.is_some()) {
            (true, _) => format!("hnsw by {metric}"),
            (false, _) if field.index.has_bm25 => "index with bm25".to_owned(),
            _ => "index".to_owned(),
        });
    }
    if field.is_summary() {
        list.push("summary".to_owned());
    }
    for id in field.components("embed") {
        list.push(if id.is_empty() { "embedded".to_owned() } else { format!("embedded by {id}") });
    }
    if list.is_empty() { "stored".to_owned() } else { list.join(", ") }
}

fn describe_profile(out: &mut String, profile: &RankProfile, types: Option<&CompiledProfile>) {
    let names: Vec<&str> = profile.inherits.iter().map(|n| n.value.as_str()).collect();
    let inherits =
        if names.is_empty() { String::new() } else { format!(" inherits {}", names.join(", ")) };
    line!(out, "  rank-profile {}{inherits}", profile.name.value);
    for input in &profile.inputs {
        let kind = match &input.kind {
            InputType::Tensor(kind) => kind.to_string(),
            InputType::Text => "string".to_owned(),
        };
        line!(out, "    query({}) {kind}", input.name.value);
    }
    for constant in &profile.constants {
        line!(out, "    constant({}) {}", constant.name.value, constant.kind);
    }
    for model in &profile.onnx_models {
        line!(out, "    onnx-model {}: {}", model.name.value, model.file.value);
    }
    for function in &profile.functions {
        let name = format!("{}({})", function.name.value, function.parameters.join(", "));
        let known = types.and_then(|t| t.functions.iter().find(|f| f.name == function.name.value));
        match known {
            Some(known) => line!(out, "    function {name} {}", known.compiled.kind()),
            None => line!(out, "    function {name}"),
        }
    }
    for (name, phase) in [
        ("first-phase", &profile.first_phase),
        ("second-phase", &profile.second_phase),
        ("global-phase", &profile.global_phase),
    ] {
        if let Some(expression) = &phase.expression {
            let text = expression.value.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
            line!(out, "    {name} {text}");
        }
    }
    let Some(types) = types else { return };
    for (name, features) in
        [("match-features", &types.match_features), ("summary-features", &types.summary_features)]
    {
        if !features.is_empty() {
            line!(out, "    {name} {}", list(features));
        }
    }
}

fn list(features: &[Typed]) -> String {
    let typed = |f: &Typed| match f.compiled.kind().is_double() {
        true => f.name.clone(),
        false => format!("{} {}", f.name, f.compiled.kind()),
    };
    features.iter().map(typed).collect::<Vec<_>>().join(", ")
}

fn nodes(count: usize) -> String {
    format!("{count} {}", if count == 1 { "node" } else { "nodes" })
}

fn container(out: &mut String, cluster: &ContainerCluster) {
    let mut parts = vec![nodes(cluster.nodes.len())];
    for (is_there, name) in [
        (cluster.has_search, "search"),
        (cluster.has_document_api, "document-api"),
        (cluster.has_document_processing, "document-processing"),
        (cluster.model_evaluation.is_some(), "model-evaluation"),
    ] {
        if is_there {
            parts.push(name.to_owned());
        }
    }
    line!(out, "container {}: {}", cluster.id, parts.join(", "));
    for component in &cluster.components {
        let kind = match &component.kind {
            ComponentKind::HuggingFaceEmbedder => "hugging-face-embedder",
            ComponentKind::HuggingFaceTokenizer => "hugging-face-tokenizer",
            ComponentKind::BertEmbedder => "bert-embedder",
            ComponentKind::ColbertEmbedder => "colbert-embedder",
            ComponentKind::SpladeEmbedder => "splade-embedder",
            ComponentKind::ImageEmbedder => "image-embedder",
            ComponentKind::Linguistics(_) => "linguistics",
            ComponentKind::Java { .. } => "Java, left out",
        };
        line!(out, "  component {} ({kind})", component.id);
    }
    for component in &cluster.python {
        let element = component.kind.element();
        line!(out, "  {element} {} (Python {})", component.id, component.class);
        for binding in &component.bindings {
            line!(out, "    binding {}", binding.value);
        }
    }
    for component in &cluster.native {
        let element = component.role.element();
        let kind = match &component.what {
            NativeKind::BuiltIn(row, _) => format!("type {}", row.name),
            NativeKind::Registered(name, _) => format!("native {name}"),
        };
        line!(out, "  {element} {} ({kind})", component.id);
        for binding in &component.bindings {
            line!(out, "    binding {}", binding.value);
        }
    }
    // What is wrong with chains was told.
    for chain in cluster.chains(&HashMap::new(), &mut Report::default()) {
        line!(out, "  {} chain {}: {}", chain.kind.name(), chain.id, chain.components.join(", "));
    }
}

fn content(out: &mut String, cluster: &ContentCluster) {
    let count: usize = cluster.nodes.iter().map(stead_app::services::Nodes::len).sum();
    let copies = cluster.min_redundancy.or(cluster.redundancy).unwrap_or(1);
    line!(out, "content {}: {}, redundancy {copies}", cluster.id, nodes(count.max(1)));
    for document in &cluster.documents {
        let mode = match document.mode {
            IndexMode::Index => "index",
            IndexMode::Streaming => "streaming",
            IndexMode::StoreOnly => "store-only",
        };
        let global = if document.is_global { ", global" } else { "" };
        line!(out, "  document {} ({mode}{global})", document.kind.value);
    }
}
