//! An application whose documents are asked for as clients do.
#![allow(dead_code, clippy::unwrap_used)]

pub mod music;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use stead_app::application::Application;
use stead_app::application::rank::PackageModels;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_search::RankPlan;
use stead_search::models::Loaded;
use stead_search::rank::{RankError, RankOptions};
use stead_search::request::{Format, SearchRequest, flatten};
use stead_search::result::render;
use stead_search::run::{Searcher, field_value, search};
use stead_search::{Parallel, Serial};
use stead_store::{Collection, DocumentType, Documents, Imports, View};

/// The schemas of a package in a cluster `c`, ready to be searched.
pub struct Asked {
    pub application: Application,
    /// By schema and profile.
    plans: BTreeMap<(String, String), Arc<RankPlan>>,
}

impl Asked {
    /// Types by their names, with whether they are global, and their schemas.
    pub fn new(types: &[(&str, bool, &str)]) -> Asked {
        Asked::of_package(types, "", &[])
    }

    /// The same of a package with a container cluster of its own and some files.
    pub fn of_package(
        types: &[(&str, bool, &str)],
        container: &str,
        others: &[(&str, &str)],
    ) -> Asked {
        let documents: String = types
            .iter()
            .map(|(name, is_global, _)| {
                format!("<document type='{name}' mode='index' global='{is_global}'/>")
            })
            .collect();
        let services = format!(
            "<services version='1.0'>{container}<content id='c' version='1.0'><redundancy>1</redundancy>\
             <documents>{documents}</documents></content></services>"
        );
        let paths: Vec<String> =
            types.iter().map(|(name, ..)| format!("schemas/{name}.sd")).collect();
        let mut files = vec![("services.xml", services.as_str())];
        files.extend(paths.iter().zip(types).map(|(path, (.., schema))| (path.as_str(), *schema)));
        files.extend(others);
        let files = PackageFiles::from_texts(files).unwrap();
        let (application, mut report) = Application::read(&files, ServicesOptions::default());
        let models = PackageModels::new(&files);
        let compiled = application.compile(&models, &mut report);
        assert!(!report.has_errors(), "{:?}", report.diagnostics());
        let loaded = Loaded::new(&files);
        let mut plans = BTreeMap::new();
        for (name, ..) in types {
            let schema = application.schema(name).unwrap();
            for profile in &compiled[*name] {
                let of = &compiled[*name];
                let plan = RankPlan::new(&application, schema, &profile.name, of, &loaded, &models);
                plans.insert(((*name).to_owned(), profile.name.clone()), Arc::new(plan.unwrap()));
            }
        }
        Asked { application, plans }
    }

    /// The type of the documents of a schema.
    pub fn kind(&self, name: &str) -> DocumentType {
        DocumentType::stored(self.application.schema(name).unwrap())
    }

    /// Documents with their fields; their ids end with their numbers from 0.
    pub fn documents(&self, name: &str, list: &[Json]) -> Documents {
        let line = |(at, fields): (usize, &Json)| {
            json!({"put": format!("id:m:{name}::{at}"), "fields": fields}).to_string()
        };
        let lines: Vec<String> = list.iter().enumerate().map(line).collect();
        Documents::read(self.kind(name), lines.join("\n").as_bytes(), &mut |_| {}).unwrap()
    }

    /// The documents of a collection with what they import from others.
    pub fn joined(&self, of: &Collection, parents: &[&Collection]) -> View {
        let parent = |name: &str| {
            parents.iter().find(|p| p.kind().name() == name).map(|parent| parent.view())
        };
        Imports::new(of.kind()).join(of.view(), parent)
    }

    /// The status and the result of a request.
    pub fn search(&self, views: &[&View], body: &Json) -> (u16, Json) {
        self.search_on(views, body, &Serial)
    }

    /// The documents that a request finds, by their numbers, with their match features.
    pub fn features(&self, view: &View, body: &Json) -> Vec<(usize, Json)> {
        let (status, result) = self.search(&[view], body);
        assert_eq!(status, 200, "{body}: {result}");
        let hits = result["root"]["children"].as_array().cloned().unwrap_or_default();
        let hit = |hit: &Json| {
            let number = hit["id"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
            (number, hit["fields"]["matchfeatures"].clone())
        };
        let mut hits: Vec<_> = hits.iter().map(hit).collect();
        hits.sort_by_key(|(number, _)| *number);
        hits
    }

    /// The plan of a rank profile.
    pub fn plan(&self, schema: &str, profile: &str) -> Arc<RankPlan> {
        self.plans[&(schema.to_owned(), profile.to_owned())].clone()
    }

    /// The same on several cores.
    pub fn search_on(&self, views: &[&View], body: &Json, cores: &dyn Parallel) -> (u16, Json) {
        let plans = |schema: &str, name: &str| {
            let found = self.plans.get(&(schema.to_owned(), name.to_owned())).cloned();
            let known = self.plans.keys().filter(|(of, _)| of == schema);
            let known: Vec<&str> = known.map(|(_, profile)| profile.as_str()).collect();
            found.ok_or_else(|| RankError::Profile {
                schema: schema.to_owned(),
                name: name.to_owned(),
                known: known.join(", "),
            })
        };
        let stored = |id: &str, field: &str| {
            let found = views.iter().map(|view| field_value(view, id, field));
            found.collect::<Result<Vec<_>, _>>().map(|found| found.into_iter().flatten().next())
        };
        let searcher = |view: &&'_ View| {
            let schema = self.application.schema(view.kind().name()).unwrap();
            (schema, (*view).clone())
        };
        let types: Vec<_> = views.iter().map(searcher).collect();
        let mut searchers = Vec::new();
        for (schema, view) in &types {
            searchers.push(Searcher { schema, view, cluster: "c", stored: &stored, plans: &plans });
        }
        let pairs = flatten(body.to_string().as_bytes()).unwrap();
        let request = SearchRequest::new(pairs, &self.application.query_profiles).unwrap();
        let result = search(&searchers, &request, RankOptions { now: 0.0, seed: 1 }, cores);
        (result.status(), serde_json::from_slice(&render(&result, Format::Json)).unwrap())
    }
}
