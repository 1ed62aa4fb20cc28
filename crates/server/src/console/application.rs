//! The application that is served, as people ask for it: schemas with their fields, rank profiles and documents.

use crate::http::Shared;
use serde_json::{Value, json};
use stead_app::application::{Field, Function, InputType, Phase, RankProfile, Schema};
use stead_app::schema::{Expression, Name};
use stead_node::Deployed;

/// `{"version", "tokens", "admin", "metrics", "application"}`: whether clients need tokens, whether who asks shows that of an administrator, whether
/// `/metrics` is served, and the application, null where none is served.
pub fn told(shared: &Shared, is_admin: bool) -> Value {
    let deployments = shared.node.deployments();
    let active = deployments.and_then(|deployments| deployments.active());
    json!({
        "version": shared.options.version,
        "tokens": shared.guard.wants_tokens(),
        "admin": is_admin,
        "metrics": shared.options.metrics.enabled,
        "deploys": deployments.is_some(),
        "application": active.as_deref().map(application),
    })
}

fn application(deployed: &Deployed) -> Value {
    let of = &deployed.application;
    let schemas: Vec<Value> = of.schemas.iter().map(|s| schema(deployed, s)).collect();
    let components = of.services.containers.iter().flat_map(|container| &container.components);
    let embedders = components.filter(|c| c.is_embedder()).map(|c| c.id.as_str());
    json!({
        "generation": deployed.session.0,
        "prepared": deployed.prepared,
        "checksum": format!("{:016x}", deployed.checksum),
        "schemas": schemas,
        "embedders": embedders.collect::<Vec<_>>(),
        "models": of.models.iter().map(|m| json!({"path": m.path, "bytes": m.size})).collect::<Vec<_>>(),
    })
}

fn schema(deployed: &Deployed, schema: &Schema) -> Value {
    let kind = &schema.document.name.value;
    let view = deployed.view(kind);
    let sets = schema.field_sets.iter().map(|set| {
        let fields: Vec<&str> = set.fields.iter().map(|f| f.value.as_str()).collect();
        json!({"name": set.name.value, "fields": fields})
    });
    let imports = schema.imports.iter().map(|import| {
        json!({
            "name": import.name.value,
            "from": format!("{}.{}", import.reference, import.field),
            "type": import.kind.as_ref().map(ToString::to_string),
        })
    });
    json!({
        "name": schema.name.value,
        "type": kind,
        "cluster": deployed.cluster(kind),
        "documents": view.as_ref().map(|view| view.len()),
        "bytes": view.as_ref().map(|view| view.memory()),
        "fields": schema.all_fields().map(field).collect::<Vec<_>>(),
        "imports": imports.collect::<Vec<_>>(),
        "fieldSets": sets.collect::<Vec<_>>(),
        "summaries": schema.summaries.iter().map(|s| s.name.value.as_str()).collect::<Vec<_>>(),
        "profiles": schema.profiles.iter().map(profile).collect::<Vec<_>>(),
    })
}

fn field(field: &Field) -> Value {
    let uses = [
        ("attribute", field.is_attribute()),
        ("index", field.is_index()),
        ("summary", field.is_summary()),
    ];
    let details = [
        ("fast-search", field.attribute.fast_search),
        ("paged", field.attribute.paged),
        ("bm25", field.index.has_bm25),
        ("hnsw", field.index.hnsw.is_some()),
    ];
    let named = |list: &[(&'static str, bool)]| -> Vec<&'static str> {
        list.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect()
    };
    json!({
        "name": field.name.value,
        "type": field.kind.value.to_string(),
        "uses": named(&uses),
        "details": named(&details),
    })
}

fn profile(profile: &RankProfile) -> Value {
    let names = |list: &[Name]| list.iter().map(|n| n.value.clone()).collect::<Vec<_>>();
    let inputs = profile.inputs.iter().map(|input| {
        let kind = match &input.kind {
            InputType::Tensor(kind) => kind.to_string(),
            InputType::Text => "string".to_owned(),
        };
        json!({"name": input.name.value, "type": kind, "hasDefault": input.default.is_some()})
    });
    let functions = profile.functions.iter().map(|Function { name, parameters, body, .. }| {
        json!({"name": name.value, "parameters": parameters, "expression": line(body)})
    });
    let phase = |phase: &Phase| {
        let expression = phase.expression.as_ref()?;
        let count = phase.count.as_ref().map(|count| count.value);
        Some(json!({"expression": line(expression), "count": count}))
    };
    let features = |list: &Option<stead_app::application::Features>| -> Vec<String> {
        list.iter().flat_map(|features| &features.list).map(line).collect()
    };
    json!({
        "name": profile.name.value,
        "inherits": names(&profile.inherits),
        "inputs": inputs.collect::<Vec<_>>(),
        "functions": functions.collect::<Vec<_>>(),
        "firstPhase": phase(&profile.first_phase),
        "secondPhase": phase(&profile.second_phase),
        "globalPhase": phase(&profile.global_phase),
        "matchFeatures": features(&profile.match_features),
        "summaryFeatures": features(&profile.summary_features),
    })
}

/// An expression on one line.
fn line(expression: &Expression) -> String {
    expression.value.split_whitespace().collect::<Vec<_>>().join(" ")
}
