//! Whether the parts of a package fit together: services and schemas, scripts and components, models and files.

use stead_expr::TensorType;

use super::constants::read_constant;
use super::field::Field;
use super::package::Application;
use super::profile::ConstantValue;
use crate::package::{Located, PackageFiles, Place, Report};
use crate::schema::FieldType;
use crate::services::{ContentDocument, IndexMode};

pub(super) fn check(application: &Application, files: &PackageFiles, report: &mut Report) {
    documents(application, report);
    hosts(application, report);
    components(application, report);
    component_files(application, files, report);
    model_files(application, files, report);
    other_files(files, report);
    super::python::check(application, files, report);
}

/// Documents of clusters have schemas, and parents are global.
fn documents(application: &Application, report: &mut Report) {
    let held = || application.services.contents.iter().flat_map(|c| &c.documents);
    for document in held() {
        if application.schema(&document.kind).is_none() {
            let text = format!("document type {} has no schema", document.kind.value);
            report.error(&document.kind.place, text);
        }
    }
    for schema in &application.schemas {
        let is_streamed = |d: &&ContentDocument| {
            d.kind.value == schema.name.value && d.mode == IndexMode::Streaming
        };
        for import in &schema.imports {
            if let Some(document) = held().find(is_streamed) {
                let text = format!(
                    "documents of {} are streamed, which import no fields of others",
                    document.kind.value
                );
                report.error(&import.place, text);
            }
            let Some(field) = schema.field(&import.reference) else { continue };
            let FieldType::Reference(parent) = &*field.kind else { continue };
            if held().any(|d| d.kind.value == *parent && !d.is_global) {
                let text = format!(
                    "fields of {parent} can be imported only if services.xml has it with global=\"true\""
                );
                report.error(&import.place, text);
            }
        }
        let is_imported =
            |field: &Field| schema.imports.iter().any(|i| i.reference == field.name.value);
        for field in schema.all_fields().filter(|f| f.is_attribute() && !is_imported(f)) {
            let FieldType::Reference(parent) = &*field.kind else { continue };
            if held().any(|d| d.kind.value == *parent && !d.is_global) {
                let text = format!(
                    "documents of {parent} can be referred to only if services.xml has them with global=\"true\""
                );
                report.error(&field.name.place, text);
            }
        }
        let is_held = held().any(|d| d.kind.value == schema.name.value);
        let is_parent = application
            .schemas
            .iter()
            .any(|s| s.document.inherits.iter().any(|n| n.value == schema.name.value));
        if !is_held && !is_parent && !schema.is_document_only && held().next().is_some() {
            let text =
                format!("no content cluster holds documents of schema {}", schema.name.value);
            report.warning(&schema.name.place, text);
        }
    }
}

/// Aliases of hosts are known, where hosts are named.
fn hosts(application: &Application, report: &mut Report) {
    if application.hosts.is_empty() {
        return;
    }
    let services = &application.services;
    let nodes = services.containers.iter().map(|c| &c.nodes);
    let nodes = nodes.chain(services.contents.iter().flat_map(|c| &c.nodes));
    for node in nodes.flat_map(|n| &n.nodes) {
        let is_known = application.hosts.iter().any(|h| h.aliases.contains(&node.host));
        if !is_known && !node.host.is_empty() {
            report.error(&node.place, format!("hosts.xml has no host of alias {}", node.host));
        }
    }
}

/// The components that scripts ask for are there.
fn components(application: &Application, report: &mut Report) {
    let services = &application.services;
    let embedders: Vec<&str> = services
        .containers
        .iter()
        .flat_map(|c| &c.components)
        .filter(|c| c.is_embedder())
        .map(|c| c.id.as_str())
        .collect();
    let java: Vec<&str> = services
        .containers
        .iter()
        .flat_map(|c| &c.components)
        .filter(|c| !c.is_embedder())
        .map(|c| c.id.as_str())
        .collect();
    let containers = services.containers.iter();
    let python: Vec<&str> = containers.flat_map(|c| &c.python).map(|c| c.id.as_str()).collect();
    if services.containers.is_empty() {
        return;
    }
    for schema in &application.schemas {
        for field in schema.all_fields().filter(|f| f.from.is_none()) {
            for id in field.components("embed") {
                // Whether one in Python is an embedder is known when it is created.
                let is_there = if id.is_empty() {
                    embedders.len() == 1 || (embedders.is_empty() && !python.is_empty())
                } else {
                    [&embedders, &java, &python].iter().any(|ids| ids.contains(&id.as_str()))
                };
                if is_there {
                    continue;
                }
                let known =
                    if embedders.is_empty() { "none".to_owned() } else { embedders.join(", ") };
                let text = if id.is_empty() {
                    format!(
                        "embed of field {} must name an embedder; services.xml has {known}",
                        field.name.value
                    )
                } else {
                    format!(
                        "embed {id} of field {}: services.xml has no such embedder; it has {known}",
                        field.name.value
                    )
                };
                let place = field.indexing.as_ref().map_or(&field.name.place, |s| &s.place);
                // Left out components are told of once, where they stand.
                if embedders.is_empty() && report.has_errors() {
                    continue;
                }
                report.error(place, text);
            }
            for id in field.components("generate") {
                let text = format!(
                    "generate {id} of field {}: language models are not run",
                    field.name.value
                );
                report.error(&field.name.place, text);
            }
        }
    }
}

/// Files that components name are there; what is elsewhere is not fetched.
fn component_files(application: &Application, files: &PackageFiles, report: &mut Report) {
    for component in application.services.containers.iter().flat_map(|c| &c.components) {
        for model in component.models() {
            let (name, id) = (&model.name, &component.id);
            match (model.attribute("path"), model.attribute("url")) {
                (Some(path), _) if !files.has(path) => {
                    let text = format!("{name} of component {id}: the package has no file {path}");
                    report.error(&model.place, text);
                }
                (None, Some(url)) => {
                    let text =
                        format!("{name} of component {id} is at {url}, which is not fetched");
                    report.warning(&model.place, text);
                }
                _ => {}
            }
        }
    }
}

/// Files of models and constants are there, and constants are of their types.
fn model_files(application: &Application, files: &PackageFiles, report: &mut Report) {
    let mut constant = |name: &str, file: &Located<String>, kind: &TensorType| {
        if let Err(text) = read_constant(files, &file.value, kind) {
            report.error(&file.place, format!("constant {name}: {text}"));
        }
    };
    for schema in &application.schemas {
        for found in &schema.constants {
            let kind = found.kind.tensor().cloned().unwrap_or_else(TensorType::double);
            constant(&found.name.value, &found.file, &kind);
        }
        for found in schema.profiles.iter().flat_map(|p| &p.constants) {
            if let ConstantValue::File(file) = &found.value {
                constant(&found.name.value, file, &found.kind);
            }
        }
    }
    for schema in &application.schemas {
        let models = schema.profiles.iter().flat_map(|p| &p.onnx_models);
        for model in models.chain(&schema.onnx_models) {
            if !files.has(&model.file.value) {
                let text = format!("the package has no file {}", model.file.value);
                report.error(&model.file.place, text);
            }
        }
    }
}

/// What is in a package and has no part in stead.
fn other_files(files: &PackageFiles, report: &mut Report) {
    for (folder, why) in [
        ("components", "Java bundles are not run"),
        ("rules", "semantic rules of queries are not supported"),
        ("search/page-templates", "page templates are not supported"),
        ("routing", "one process plays all parts"),
        ("security", "access is not controlled yet"),
    ] {
        let path = if files.below(folder).next().is_some() { folder } else { continue };
        report.warning(&Place::file(path), format!("this folder has no effect: {why}"));
    }
}
