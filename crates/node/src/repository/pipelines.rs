//! Bringing the pipelines in line with the configuration and with the models that are served.

use super::record::{ModelRecord, State, VersionRecord};
use super::update::{Lock, Scope, Update};
use super::{Models, Repository};
use crate::VersionRef;
use crate::pipeline::{Pipeline, build};
use crate::recorder::Recorder;
use crate::servable::Servable;
use std::sync::Arc;
use stead_app::{ModelSettings, PipelineEntry, PipelineNode, PipelineSettings, SequenceSettings};

/// The models of a pipeline's nodes, with the settings of their sequences.
type Parts = Vec<(Arc<Servable>, SequenceSettings)>;

impl Repository {
    /// Builds what has changed, or whose models have, and takes out of service what cannot be built.
    pub(super) fn update_pipelines(&self, lock: &Lock<'_>, scope: Scope<'_>, update: &mut Update) {
        for entry in &lock.pipelines {
            let known = self.models.load().get(&entry.name).cloned();
            if known.as_ref().is_some_and(|k| !k.pipeline && !k.removed) {
                // A model has the name. A warning has told so.
                self.report(entry, scope, update);
                continue;
            }
            let asked = matches!(scope, Scope::Model(name) if name == entry.name);
            if known.as_ref().is_some_and(|k| k.unloaded && !k.removed) && !asked {
                continue;
            }
            let mut record =
                known.map_or_else(|| ModelRecord::new(&entry.name), |k| ModelRecord::clone(&k));
            if self.refit(entry, scope, &mut record, update) {
                self.put(lock, record);
            }
        }
    }

    fn report(&self, entry: &PipelineEntry, scope: Scope<'_>, update: &mut Update) {
        if let (Err(error), false) = (&entry.settings, !matches!(scope, Scope::Start | Scope::All))
        {
            update.failures.push((entry.name.clone(), 0, error.to_string()));
        }
    }

    /// Changes the record of one pipeline. `false` when everything is as it was.
    fn refit(
        &self,
        entry: &PipelineEntry,
        scope: Scope<'_>,
        record: &mut ModelRecord,
        update: &mut Update,
    ) -> bool {
        let models = self.models.load_full();
        let settings = entry.settings.clone().map_err(|e| e.to_string());
        let parts = settings.and_then(|s| Ok((parts(&models, entry, &s)?, s)));
        let version = record.versions.get(&Pipeline::VERSION);
        let served = version.and_then(VersionRecord::instance).cloned();
        if let (Ok((parts, settings)), Some(served)) = (&parts, &served)
            && let Some(pipeline) = served.pipeline()
        {
            let own: Vec<_> = parts.iter().map(|(model, _)| Arc::clone(model)).collect();
            if !record.removed && pipeline.is_of(settings, &own) {
                let stateful = parts.iter().filter(|(model, _)| model.is_stateful());
                pipeline.change(&stateful.map(|(_, own)| own).collect::<Vec<_>>());
                return false;
            }
        }
        let name = &entry.name;
        let recorder = version.map_or_else(
            || Arc::new(Recorder::new(name, Pipeline::VERSION)),
            |v| Arc::clone(&v.recorder),
        );
        let built = parts.and_then(|(parts, settings)| {
            let (recorder, machine) = (Arc::clone(&recorder), &self.machine);
            build(name, &entry.pointer, &settings, &parts, recorder, machine)
        });
        let before = match version.map(|v| &v.state) {
            Some(State::Loading(Some(text))) => Some(text.clone()),
            _ => None,
        };
        if let Some(served) = &served {
            record.drain(served);
        }
        let state = match built {
            Ok(pipeline) => {
                tracing::info!(pipeline = name, "pipeline is available");
                State::Available(Arc::new(Servable::Pipeline(Arc::new(pipeline))))
            }
            Err(text) => {
                let told = before.as_ref() == Some(&text) && !record.removed;
                let again = matches!(scope, Scope::All)
                    || matches!(scope, Scope::Model(asked) if asked == name);
                if !told || again {
                    tracing::error!(pipeline = name, "pipeline cannot be served: {text}");
                    update.failures.push((name.clone(), Pipeline::VERSION, text.clone()));
                }
                if told {
                    return false;
                }
                State::Loading(Some(text))
            }
        };
        update.changed = true;
        let others: Vec<u64> =
            record.versions.keys().copied().filter(|v| *v != Pipeline::VERSION).collect();
        others.into_iter().for_each(|v| record.retire(v));
        (record.removed, record.unloaded) = (false, false);
        (record.pipeline, record.problem) = (true, None);
        let entry = VersionRecord {
            state,
            stamp: Vec::new(),
            failed: false,
            settings: ModelSettings::default(),
            recorder,
        };
        record.versions.insert(Pipeline::VERSION, entry);
        true
    }
}

/// The models that a pipeline's nodes ask for.
///
/// # Errors
/// In words, with the place in the configuration and the name of a model that is not there.
fn parts(
    models: &Models,
    entry: &PipelineEntry,
    settings: &PipelineSettings,
) -> Result<Parts, String> {
    let part = |node: &PipelineNode| {
        let wrong = |text: String| {
            let place = format!("{}{}/model_name", entry.pointer, node.pointer);
            let missing = "Pipeline definition has reference to missing model";
            format!("{place}: {missing} - node {:?}: {text}", node.name)
        };
        let record = models.get(&node.model).filter(|r| !r.pipeline);
        let unknown = || wrong(format!("there is no model {:?}", node.model));
        let record = record.ok_or_else(unknown)?;
        let version = node.version.map_or(VersionRef::Latest, VersionRef::Number);
        let servable = record.find(&version).map_err(|e| wrong(e.to_string()))?;
        let settings = record.versions.get(&servable.version()).map(|v| &v.settings.sequences);
        Ok((Arc::clone(servable), settings.cloned().unwrap_or_default()))
    };
    settings.nodes.iter().map(part).collect()
}
