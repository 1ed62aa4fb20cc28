//! An application that is ready to be served.

use std::collections::BTreeMap;
use std::time::SystemTime;

use stead_app::application::Application;
use stead_app::application::rank::PackageModels;
use stead_app::package::{PackageFiles, Report, Severity};
use stead_app::services::{Nodes, ServicesOptions};
use stead_search::RankPlan;
use stead_search::models::Probe;
use stead_search::rank::RankError;

use super::session::{SessionId, millis};
use crate::{Code, Error};

/// An application that is ready to be served.
pub struct Deployed {
    /// The session that it was deployed by, which is its generation.
    pub session: SessionId,
    /// What its package says.
    pub application: Application,
    /// What there is to tell of its package.
    pub log: Vec<LogLine>,
    /// Milliseconds since 1970 when it was prepared.
    pub prepared: u64,
    /// Depends on the paths and bytes of all of its files.
    pub checksum: u64,
    /// By schema and profile.
    plans: BTreeMap<String, BTreeMap<String, Result<RankPlan, RankError>>>,
}

/// A line of the log of a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Milliseconds since 1970.
    pub time: u64,
    /// `INFO` or `WARNING`.
    pub level: &'static str,
    /// What is told.
    pub message: String,
}

impl Deployed {
    /// Reads a package, compiles its expressions and loads its models.
    ///
    /// # Errors
    /// [`Code::InvalidPackage`] with every error of the package, one on each line.
    pub(super) fn prepare(
        files: &PackageFiles,
        session: SessionId,
        now: SystemTime,
    ) -> Result<Deployed, Error> {
        let (application, mut report) = Application::read(files, ServicesOptions::default());
        let models = PackageModels::new(files).with_probe(&Probe);
        let mut compiled = application.compile(&models, &mut report);
        report.sort();
        if report.has_errors() {
            return Err(Error::new(Code::InvalidPackage, errors(&report)));
        }
        let prepared = millis(now);
        let mut log = lines(&application, &report, prepared);
        let mut plans = BTreeMap::new();
        for schema in &application.schemas {
            let compiled = compiled.remove(&schema.name.value).unwrap_or_default();
            let mut of_schema = BTreeMap::new();
            for profile in &schema.profiles {
                let name = &profile.name.value;
                let plan = RankPlan::new(&application, schema, name, &compiled, files, &models);
                if let Err(error) = &plan {
                    let message = format!(
                        "{}: rank-profile {name} of schema {} cannot run: {error}",
                        profile.name.place, schema.name.value
                    );
                    log.push(LogLine { time: prepared, level: "WARNING", message });
                }
                of_schema.insert(name.clone(), plan);
            }
            plans.insert(schema.name.value.clone(), of_schema);
        }
        let checksum = checksum(files)?;
        Ok(Deployed { session, application, log, prepared, checksum, plans })
    }

    /// How documents of a schema are ranked by a profile.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] when there is no such schema or profile, or it has something that does not run.
    pub fn plan(&self, schema: &str, profile: &str) -> Result<&RankPlan, Error> {
        let missing = || {
            let text = format!("schema {schema} has no rank-profile {profile}");
            Error::new(Code::InvalidArgument, text)
        };
        let plan = self.plans.get(schema).and_then(|of| of.get(profile)).ok_or_else(missing)?;
        plan.as_ref().map_err(|error| Error::new(Code::InvalidArgument, error.to_string()))
    }
}

/// All that is wrong, one on each line.
fn errors(report: &Report) -> String {
    let mut lines: Vec<String> = report.errors().map(ToString::to_string).collect();
    if report.omitted() > 0 {
        lines.push(format!("and {} more", report.omitted()));
    }
    format!("Invalid application:\n{}", lines.join("\n"))
}

fn lines(application: &Application, report: &Report, time: u64) -> Vec<LogLine> {
    let warnings = report.diagnostics().iter().filter(|d| d.severity == Severity::Warning);
    let mut log: Vec<LogLine> = warnings
        .map(|d| LogLine { time, level: "WARNING", message: format!("{}: {}", d.place, d.text) })
        .collect();
    let services = &application.services;
    let containers = services.containers.iter().map(|c| c.nodes.len());
    let contents = services.contents.iter().map(|c| c.nodes.iter().map(Nodes::len).sum());
    // A cluster that names no nodes has one.
    let nodes: usize = containers.chain(contents).map(|count: usize| count.max(1)).sum();
    let clusters = services.containers.len() + services.contents.len();
    if nodes > clusters {
        let message = format!(
            "the package asks for {nodes} nodes in {clusters} clusters; this process is all of them"
        );
        log.push(LogLine { time, level: "INFO", message });
    }
    log
}

/// The largest file that the checksum reads at a time is the largest that anything reads.
const MAX_FILE: u64 = 16 << 30;

fn checksum(files: &PackageFiles) -> Result<u64, Error> {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    for path in files.paths() {
        let bytes = files.read(path, MAX_FILE).map_err(|_| {
            Error::new(Code::Internal, format!("cannot read {path} of the application package"))
        })?;
        hash.update(path.as_bytes());
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    Ok(hash.digest())
}
