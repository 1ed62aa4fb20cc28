//! A package for programs.

use std::collections::HashMap;

use serde_json::{Value, json};
use stead_app::application::rank::{CompiledProfile, Typed};
use stead_app::application::{Field, InputType, RankProfile, Schema};
use stead_app::components::{
    BindingPattern, Chain, NativeComponent, NativeKind, NativeRole, PythonComponent,
};
use stead_app::package::{Diagnostic, Located, Report};

use super::Checked;

/// The package with its errors and warnings.
pub(super) fn json(checked: &Checked) -> Value {
    let application = &checked.application;
    let schemas: Vec<Value> = application
        .schemas
        .iter()
        .map(|s| schema(s, checked.profiles.get(&s.name.value).map_or(&[], Vec::as_slice)))
        .collect();
    let services = &application.services;
    let containers: Vec<Value> = services
        .containers
        .iter()
        .map(|c| {
            let components: Vec<Value> = c
                .components
                .iter()
                .map(|c| json!({"id": c.id, "embedder": c.is_embedder()}))
                .collect();
            let chains = c.chains(&HashMap::new(), &mut Report::default());
            json!({"id": c.id, "nodes": c.nodes.len(), "search": c.has_search,
                   "documentApi": c.has_document_api, "components": components,
                   "python": c.python.iter().map(python).collect::<Vec<_>>(),
                   "native": c.native.iter().map(native).collect::<Vec<_>>(),
                   "chains": chains.iter().map(chain).collect::<Vec<_>>()})
        })
        .collect();
    let contents: Vec<Value> = services
        .contents
        .iter()
        .map(|c| {
            let documents: Vec<&str> = c.documents.iter().map(|d| d.kind.value.as_str()).collect();
            json!({"id": c.id, "documents": documents, "redundancy": c.min_redundancy.or(c.redundancy)})
        })
        .collect();
    let models: Vec<Value> =
        application.models.iter().map(|m| json!({"path": m.path, "bytes": m.size})).collect();
    json!({
        "ok": !checked.report.has_errors(),
        "errors": checked.report.errors().map(diagnostic).collect::<Vec<_>>(),
        "warnings": checked.report.warnings().map(diagnostic).collect::<Vec<_>>(),
        "schemas": schemas,
        "containers": containers,
        "contents": contents,
        "models": models,
    })
}

fn python(component: &PythonComponent) -> Value {
    json!({"id": component.id, "kind": component.kind.element(),
           "class": component.class.to_string(), "bindings": bindings(&component.bindings)})
}

fn bindings(of: &[Located<BindingPattern>]) -> Value {
    of.iter().map(|binding| binding.value.to_string()).collect()
}

fn native(component: &NativeComponent) -> Value {
    let attribute = match &component.what {
        NativeKind::BuiltIn(..) => "type",
        NativeKind::Registered(..) => "native",
    };
    let mut shown = json!({"id": component.id, "kind": component.role.element(), attribute: component.what.name()});
    if component.role == NativeRole::Handler {
        shown["bindings"] = bindings(&component.bindings);
    }
    shown
}

fn chain(chain: &Chain) -> Value {
    json!({"id": chain.id, "kind": chain.kind.name(), "components": chain.components})
}

fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let place = &diagnostic.place;
    json!({"file": &*place.file, "line": place.line, "column": place.column, "text": diagnostic.text})
}

fn schema(schema: &Schema, compiled: &[CompiledProfile]) -> Value {
    let fields: Vec<Value> = schema.all_fields().map(field).collect();
    let profiles: Vec<Value> = schema
        .profiles
        .iter()
        .map(|p| profile(p, compiled.iter().find(|c| c.name == p.name.value)))
        .collect();
    let sets: serde_json::Map<String, Value> = schema
        .field_sets
        .iter()
        .map(|s| {
            let names: Vec<&str> = s.fields.iter().map(|f| f.value.as_str()).collect();
            (s.name.value.clone(), json!(names))
        })
        .collect();
    json!({"name": schema.name.value, "fields": fields, "fieldsets": sets, "rankProfiles": profiles})
}

fn field(field: &Field) -> Value {
    json!({"name": field.name.value, "type": field.kind.to_string(), "attribute": field.is_attribute(),
           "index": field.is_index(), "summary": field.is_summary()})
}

fn profile(profile: &RankProfile, types: Option<&CompiledProfile>) -> Value {
    let inputs: serde_json::Map<String, Value> = profile
        .inputs
        .iter()
        .map(|i| {
            let kind = match &i.kind {
                InputType::Tensor(kind) => kind.to_string(),
                InputType::Text => "string".to_owned(),
            };
            (i.name.value.clone(), json!(kind))
        })
        .collect();
    let expression =
        |phase: &stead_app::application::Phase| phase.expression.as_ref().map(|e| e.value.clone());
    let inherits: Vec<&str> = profile.inherits.iter().map(|n| n.value.as_str()).collect();
    let typed = |of: fn(&CompiledProfile) -> &Vec<Typed>| -> serde_json::Map<String, Value> {
        let list = types.map(of).into_iter().flatten();
        list.map(|f| (f.name.clone(), json!(f.compiled.kind().to_string()))).collect()
    };
    json!({
        "name": profile.name.value,
        "inherits": inherits,
        "inputs": inputs,
        "functions": typed(|t| &t.functions),
        "matchFeatures": typed(|t| &t.match_features),
        "summaryFeatures": typed(|t| &t.summary_features),
        "firstPhase": expression(&profile.first_phase),
        "secondPhase": expression(&profile.second_phase),
        "globalPhase": expression(&profile.global_phase),
    })
}
