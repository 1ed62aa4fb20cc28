//! A package as a whole.

use std::collections::{BTreeMap, HashSet};

use super::overrides::{self, Override};
use super::profile::OnnxModel;
use super::rank::encoding::{self, ENCODING_KEY};
use super::rank::{CompiledProfile, ModelTypes, compile_profile};
use super::schema::Schema;
use super::{links, read, resolve};
use crate::package::{PackageFiles, Place, Report};
use crate::profiles::{QueryProfiles, read_query_profiles};
use crate::schema::{Holds, parse_elements};
use crate::services::{
    ContentCluster, Host, Services, ServicesOptions, read_hosts, read_server_toml, read_services,
};
use crate::xml::{XmlElement, parse_xml, preprocess};

/// All that a package says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Application {
    /// Its schemas, in the order of their files.
    pub schemas: Vec<Schema>,
    /// What it runs.
    pub services: Services,
    /// The hosts that it names.
    pub hosts: Vec<Host>,
    /// Named parameters of queries.
    pub query_profiles: QueryProfiles,
    /// The files in `models/`.
    pub models: Vec<ModelFile>,
    /// Dangerous changes that are wanted.
    pub overrides: Vec<Override>,
}

/// A file in `models/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFile {
    /// The path from the root of the package.
    pub path: String,
    /// Its bytes.
    pub size: u64,
}

impl Application {
    /// Reads a package and tells all that is wrong with it. The expressions of its profiles are left for
    /// [`Application::compile`].
    #[must_use]
    pub fn read(files: &PackageFiles, options: ServicesOptions) -> (Application, Report) {
        let mut report = Report::default();
        let mut schemas = read_schemas(files, &mut report);
        let names: HashSet<String> =
            schemas.iter().map(|s| s.document.name.value.clone()).collect();
        resolve::documents(&mut schemas, &mut report);
        resolve::schemas(&mut schemas, &mut report);
        resolve::profiles(&mut schemas, &mut report);
        for schema in &schemas {
            resolve::check(schema, &names, &mut report);
        }
        let xml = |path: &str, report: &mut Report| read_xml(files, path, report);
        let services = match xml("services.xml", &mut report) {
            Some(root) => {
                let root = preprocess(root, files, &mut report);
                read_services(&root, options, &mut report)
            }
            None => {
                if !files.has("services.xml") {
                    let text = "services.xml is missing; it names clusters and the documents that they hold";
                    report.error(&Place::file("services.xml"), text);
                }
                Services::default()
            }
        };
        for cluster in &services.contents {
            snippets(cluster, &mut schemas, &mut report);
        }
        let hosts = xml("hosts.xml", &mut report);
        let hosts = hosts.map(|root| read_hosts(&root, &mut report)).unwrap_or_default();
        let overrides = xml("validation-overrides.xml", &mut report);
        let overrides =
            overrides.map(|root| overrides::read(&root, &mut report)).unwrap_or_default();
        let query_profiles = read_query_profiles(files, &mut report);
        let model = |path: &str| Some(ModelFile { path: path.to_owned(), size: files.size(path)? });
        let models = files.below("models").filter_map(model).collect();
        let application =
            Application { schemas, services, hosts, query_profiles, models, overrides };
        links::check(&application, files, &mut report);
        (application, report)
    }

    /// Reads the `stead.toml` of a server, which declares components in Python and nothing else, and tells all that is wrong
    /// with it. `files` has the folder `python` beside it.
    #[must_use]
    pub fn of_server(text: &str, files: &PackageFiles) -> (Application, Report) {
        let mut report = Report::default();
        let services = read_server_toml(text, &mut report);
        let application = Application { services, ..Application::default() };
        links::check(&application, files, &mut report);
        (application, report)
    }

    /// The expressions of every profile of every schema with their types, by the name of the schema.
    #[must_use]
    pub fn compile(
        &self,
        models: &dyn ModelTypes,
        report: &mut Report,
    ) -> BTreeMap<String, Vec<CompiledProfile>> {
        let inputs = self.query_profiles.inputs();
        let mut compiled = BTreeMap::new();
        for schema in &self.schemas {
            let profiles = schema.profiles.iter();
            let profiles: Vec<CompiledProfile> =
                profiles.map(|p| compile_profile(schema, p, &inputs, models, report)).collect();
            if let Some(files) = models.files() {
                let metadata = |model: &OnnxModel| models.metadata(model, ENCODING_KEY);
                for (profile, compiled) in schema.profiles.iter().zip(&profiles) {
                    let of = (schema, profile);
                    encoding::check(self, files, of, &compiled.models, &metadata, report);
                }
            }
            compiled.insert(schema.name.value.clone(), profiles);
        }
        compiled
    }

    /// The schema of this name.
    #[must_use]
    pub fn schema(&self, name: &str) -> Option<&Schema> {
        self.schemas.iter().find(|s| s.name.value == name)
    }
}

/// The root of an XML file, if there is one.
fn read_xml(files: &PackageFiles, path: &str, report: &mut Report) -> Option<XmlElement> {
    if !files.has(path) {
        return None;
    }
    match files.text(path) {
        Ok(text) => parse_xml(path, &text, report),
        Err(error) => {
            report.error(&Place::file(path), error.to_string());
            None
        }
    }
}

/// The schemas of `schemas/*.sd`, and of `searchdefinitions/*.sd` as it was in Vespa 7.
fn read_schemas(files: &PackageFiles, report: &mut Report) -> Vec<Schema> {
    let mut schemas: Vec<Schema> = Vec::new();
    for folder in ["schemas", "searchdefinitions"] {
        let is_schema = |path: &&str| path.ends_with(".sd") && path.matches('/').count() == 1;
        for path in files.below(folder).filter(is_schema) {
            let text = match files.text(path) {
                Ok(text) => text,
                Err(error) => {
                    report.error(&Place::file(path), error.to_string());
                    continue;
                }
            };
            let (elements, errors) = parse_elements(path, &text, Holds::File);
            let is_empty = elements.is_empty() && !errors.has_errors();
            report.append(errors);
            if is_empty {
                report.error(&Place::file(path), "expected a schema or a document, found nothing");
            }
            let Some(mut schema) = read::schema(&elements, report) else { continue };
            let file = path.rsplit('/').next().and_then(|name| name.strip_suffix(".sd"));
            if file != Some(schema.name.value.as_str()) {
                let text = format!(
                    "expected a schema with the name of the file, found {}",
                    schema.name.value
                );
                report.error(&schema.name.place, text);
            }
            resolve::from_profile_files(&mut schema, folder, files, report);
            resolve::files(&mut schema, files, report);
            if let Some(first) = schemas.iter().find(|s| s.name.value == schema.name.value) {
                let (name, place) = (&schema.name.value, &first.name.place);
                let text = format!("schema {name} stands twice, first at {place}");
                report.error(&schema.name.place, text);
                continue;
            }
            schemas.push(schema);
        }
    }
    schemas
}
/// Gives the schemas of a cluster what it says of dynamic summaries.
fn snippets(cluster: &ContentCluster, schemas: &mut [Schema], report: &mut Report) {
    let holds = |schema: &Schema| {
        cluster.documents.iter().any(|held| held.kind.value == schema.document.name.value)
    };
    for (field, _) in &cluster.snippets.fields {
        let is_field = |schema: &Schema| {
            let own = schema.all_fields().flat_map(|field| &field.summaries);
            let all = schema.summaries.iter().flat_map(|summary| &summary.fields).chain(own);
            let mut named = all.map(|summary| &summary.name.value);
            schema.field(&field.value).is_some() || named.any(|name| *name == field.value)
        };
        if !schemas.iter().filter(|schema| holds(schema)).any(is_field) {
            let text = format!(
                "override of {} has no effect: no summary of cluster {} has it",
                field.value, cluster.id
            );
            report.warning(&field.place, text);
        }
    }
    for schema in schemas.iter_mut().filter(|schema| holds(schema)) {
        schema.snippets.push((cluster.id.clone(), cluster.snippets.clone()));
    }
}
