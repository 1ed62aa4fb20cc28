//! Packages of a schema with one profile, and the models that it names.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::ThreadId;

use serde_json::{Value as Json, json};
use stead_app::application::Application;
use stead_app::application::rank::{PackageModels, ProfileModel};
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_expr::{Value, compile};
use stead_search::matching::Matcher;
use stead_search::models::{Loaded, ModelError, ModelFunction, Probe};
use stead_search::query::{QueryTree, Tree};
use stead_search::rank::{Means, RankOptions, Ranked, Wanted};
use stead_search::{Parallel, RankPlan, RankQuery};
use stead_store::Documents;

/// The models of tests of `stead-trees`, which are Vespa's.
pub fn vespa_trees(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../trees/tests/data/vespa");
    fs::read(folder.join(name)).unwrap()
}

/// A package of a schema `doc` with these fields, a profile `p` with this body, and files.
pub struct Package {
    folder: tempfile::TempDir,
}

impl Package {
    pub fn new(fields: &[(&str, &str)], profile: &str, files: &[(&str, &[u8])]) -> Package {
        let folder = tempfile::tempdir().unwrap();
        let field = |(name, kind): &(&str, &str)| {
            format!("    field {name} type {kind} {{ indexing: attribute }}\n")
        };
        let fields: String = fields.iter().map(field).collect();
        let schema = format!(
            "schema doc {{\n  document doc {{\n{fields}  }}\n  rank-profile p {{\n{profile}\n  }}\n}}\n"
        );
        let services = "<services version=\"1.0\"><content id=\"c\" version=\"1.0\"><redundancy>1</redundancy>\
            <documents><document type=\"doc\" mode=\"index\"/></documents></content></services>";
        let own = [("schemas/doc.sd", schema.as_bytes()), ("services.xml", services.as_bytes())];
        for (path, bytes) in own.iter().chain(files) {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        }
        Package { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn files(&self) -> PackageFiles {
        PackageFiles::open(self.folder.path()).unwrap()
    }

    /// What is wrong with the package, and the models that its profile names.
    pub fn models(&self) -> (Vec<String>, Vec<ProfileModel>) {
        let files = self.files();
        let (application, mut report) = Application::read(&files, ServicesOptions::default());
        let compiled =
            application.compile(&PackageModels::new(&files).with_probe(&Probe::PLAIN), &mut report);
        let wrong = report.diagnostics().iter().map(ToString::to_string).collect();
        let profile = compiled["doc"].iter().find(|p| p.name == "p").unwrap();
        (wrong, profile.models.clone())
    }

    /// The first model that the profile names, which is right.
    pub fn model(&self) -> Result<ModelFunction, ModelError> {
        let (mut wrong, models) = self.models();
        wrong.retain(|text| !text.contains("takes the predictions of the library"));
        assert_eq!(wrong, [""; 0]);
        ModelFunction::load(&models[0], &self.files())
    }
}

impl Package {
    /// The profile, ready to run, and documents, each an object of fields; what is wrong with the package is an error too.
    fn prepared(&self, documents: &[Json]) -> Result<(RankPlan, Documents), String> {
        let files = self.files();
        let (application, mut report) = Application::read(&files, ServicesOptions::default());
        let models = PackageModels::new(&files);
        let compiled = application.compile(&models, &mut report);
        if let Some(error) = report.errors().next() {
            return Err(error.text.clone());
        }
        let schema = application.schema("doc").unwrap();
        let loaded = Loaded::new(&files);
        let plan = RankPlan::new(&application, schema, "p", &compiled["doc"], &loaded, &models)
            .map_err(|e| e.to_string())?;
        let line = |(at, fields): (usize, &Json)| {
            json!({"put": format!("id:n:doc::{at}"), "fields": fields}).to_string()
        };
        let lines: Vec<String> = documents.iter().enumerate().map(line).collect();
        let lines = lines.join("\n");
        let documents = Documents::read(plan.documents().clone(), lines.as_bytes(), &mut |_| {});
        Ok((plan, documents.map_err(|e| e.to_string())?))
    }

    /// The hits of a query among documents.
    pub fn rank(&self, query: &Json, documents: &[Json]) -> Result<Ranked, String> {
        let (plan, documents) = self.prepared(documents)?;
        let query = RankQuery::from_json(query).map_err(|e| e.to_string())?;
        let options = RankOptions { now: 0.0, seed: 1 };
        plan.rank(&query, documents.view(), options, usize::MAX).map_err(|e| e.to_string())
    }

    /// The same of all documents as matches, on some cores.
    pub fn rank_on(&self, documents: &[Json], cores: &dyn Parallel) -> Ranked {
        let (plan, documents) = self.prepared(documents).unwrap();
        let tree = QueryTree { root: Tree::All, ..QueryTree::default() };
        let matcher = Matcher::new(&tree, documents.view()).unwrap();
        let means = Means { is_late: &|| false, cores };
        let wanted = Wanted { hits: usize::MAX, features: usize::MAX, explains: false };
        let (query, options) = (RankQuery::default(), RankOptions { now: 0.0, seed: 1 });
        let view = documents.view();
        plan.rank_matches(&query, view, (&matcher, None), options, (wanted, means)).unwrap().0
    }
}

/// Threads that begin in any order; remembers those that worked, the caller's own left out.
pub struct Threads(usize, Mutex<HashSet<ThreadId>>);

impl Threads {
    pub fn new(count: usize) -> Threads {
        Threads(count, Mutex::default())
    }

    /// How many threads have worked.
    pub fn worked(&self) -> usize {
        self.1.lock().unwrap().len()
    }
}

impl Parallel for Threads {
    fn threads(&self) -> usize {
        self.0
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            for at in (0..n).rev() {
                scope.spawn(move || {
                    self.1.lock().unwrap().insert(std::thread::current().id());
                    f(at);
                });
            }
        });
    }
}

/// The value of an expression without names.
pub fn value(text: &str) -> Value {
    compile(text, &|_: &str| None).unwrap().run(&[]).unwrap()
}

/// The number that expressions have for a text.
pub fn hash(text: &str) -> f64 {
    value(&format!("\"{text}\"")).as_double().unwrap()
}
