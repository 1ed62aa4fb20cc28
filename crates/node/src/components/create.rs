//! Components are created when an application is prepared, so that one that cannot be changes nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use stead_app::Durability;
use stead_app::application::Application;
use stead_app::components::{
    ArchiveWishes, Dependencies, PythonComponent, PythonKind, PythonOptions, PythonSource,
    python_packages,
};
use stead_app::package::{Located, PackageFiles, Report};
use stead_app::services::ClusterChains;
use stead_python::{
    AcquireError, BundleError, Call, CallError, Component, ComponentKind, Deadline, Host,
    Installation, PackageFile, Session, Value, unpack_bundles,
};

use super::beside::{Beside, ComponentHost, Other, Role};
use super::describe::Described;
use super::embed::Embedders;
use super::handle::HandlerUnit;
use super::identity::identity;
use super::infer::PythonModel;
use super::meters::ComponentMeters;
use super::processing::{Processing, context};
use super::settings::settings;
use super::together::Together;
use super::{Components, Files, Package, Pools, ServerHost, Stage, Stored, Unit, next_generation};
use super::{native, searching};
use crate::deploy::Python;
use crate::embedders::{Embedders as NativeEmbedders, Role as TextRole};
use crate::repository::Provided;
use crate::{Code, Error};

/// Something to tell of a component that was created.
pub(crate) type Note = String;

impl Components {
    /// Creates the components of an application; nothing if it has none, and then no Python is looked for.
    ///
    /// # Errors
    /// [`Code::InvalidPackage`] with all that is wrong, one on each line.
    pub(crate) fn create(
        application: &Application,
        files: &PackageFiles,
        python: &Python,
        host: &Arc<ServerHost>,
        embedders_beside: &Arc<NativeEmbedders>,
    ) -> Result<Option<(Components, Vec<Note>)>, Error> {
        let containers = application.services.containers.iter();
        if containers.clone().all(|c| c.python.is_empty() && c.native.is_empty()) {
            return Ok(None);
        }
        let (pools, meters) = (&python.pools, &python.meters);
        let no_room = |e| Error::new(Code::Internal, format!("no room for Python packages: {e}"));
        let has_python = containers.clone().any(|container| !container.python.is_empty());
        let stage = has_python.then(|| Stage::new(pools.store())).transpose().map_err(no_room)?;
        let mut making = Making {
            files,
            pools,
            meters,
            host,
            embedders_beside,
            stage: stage.map(Arc::new),
            generation: next_generation(),
            context: context(application),
            beside: Arc::default(),
            in_python: Vec::new(),
            wishes: HashMap::new(),
            components: Components {
                handlers: Vec::new(),
                units: Vec::new(),
                count: 0,
                processing: None,
                searching: BTreeMap::new(),
                models: Vec::new(),
                embedders: Arc::clone(embedders_beside),
            },
            notes: Vec::new(),
            wrong: Vec::new(),
        };
        let (mut chains, mut report): (Vec<ClusterChains>, _) = (Vec::new(), Report::default());
        // Models and embedders first: constructors of the others may ask for them.
        let mut others = Vec::new();
        for container in containers.clone() {
            let mut of_package: BTreeMap<&str, Vec<&PythonComponent>> = BTreeMap::new();
            for component in &container.python {
                of_package.entry(component.class.package()).or_default().push(component);
            }
            let deadline = Deadline::after(container.python_options.start_timeout);
            for (name, components) in of_package {
                let limits = Limits { options: &container.python_options, deadline };
                let package = making.package(name, &components, &limits);
                others.extend(package.map(|package| (package, components, limits)));
            }
        }
        for (package, components, limits) in &others {
            making.others(package, components, limits);
        }
        making.beside.complete();
        let in_python = Arc::new(Embedders(std::mem::take(&mut making.in_python)));
        let (compute, of_embedders) = (&python.compute, &python.embedder_meters);
        let embedders = Arc::clone(embedders_beside).and_python(&in_python, compute, of_embedders);
        let registered = &python.native;
        let (natives, wrong) =
            native::create(application, files, registered, meters, host, &embedders);
        making.components.embedders = embedders;
        making.wrong.extend(wrong);
        for container in containers {
            chains.push((container.id.clone(), container.chains(&making.wishes, &mut report)));
        }
        let processing = application.services.processing_chains(&chains, &mut report);
        let units = making.components.units.iter();
        let units = units.map(|unit| (unit.component.id.as_str(), unit)).collect();
        let searchers = &natives.searchers;
        let searching = searching::chains(&chains, &units, searchers, &mut report);
        // What is wrong without what classes say was told before.
        making.wrong.extend(report.errors().map(ToString::to_string));
        if !making.wrong.is_empty() {
            let text = format!("Invalid application:\n{}", making.wrong.join("\n"));
            return Err(Error::new(Code::InvalidPackage, text));
        }
        for (binding, id) in &natives.bindings {
            let handler = natives.handlers.get(id).cloned().map(HandlerUnit::Native);
            making.components.handlers.extend(handler.map(|handler| (binding.clone(), handler)));
        }
        making.components.handlers.sort_by(|(a, _), (b, _)| a.cmp(b));
        let processors = &natives.processors;
        let processing = Processing::new(application, &processing, &units, processors);
        making.components.count = units.len() + natives.len();
        (making.components.processing, making.components.searching) = (processing, searching);
        Ok(Some((making.components, making.notes)))
    }
}

/// What is on its way to be the components of an application.
struct Making<'a> {
    files: &'a PackageFiles,
    pools: &'a Pools,
    meters: &'a ComponentMeters,
    /// What they may ask.
    host: &'a Arc<ServerHost>,
    /// The embedders that need no Python.
    embedders_beside: &'a Arc<NativeEmbedders>,
    /// Where sources lie, if there is any Python.
    stage: Option<Arc<Stage>>,
    generation: i64,
    /// What components may know of the application.
    context: Value,
    /// What they know of its embedders.
    beside: Arc<Beside>,
    /// Embedders in Python, which components in other environments do not hold.
    in_python: Vec<Arc<Together>>,
    components: Components,
    /// Where they want to stand in chains, by their ids.
    wishes: HashMap<String, Dependencies>,
    notes: Vec<Note>,
    wrong: Vec<String>,
}

/// What holds for the components of a container.
struct Limits<'a> {
    options: &'a PythonOptions,
    /// When all of them must be there.
    deadline: Deadline,
}

impl Making<'_> {
    /// Loads a package and creates its models and embedders.
    fn package(
        &mut self,
        name: &str,
        components: &[&PythonComponent],
        limits: &Limits<'_>,
    ) -> Option<Arc<Package>> {
        let first = components.first().map(|component| &component.place);
        let place = first.map(|place| format!("{place}: ")).unwrap_or_default();
        let made = self.open(name, limits.options, limits.deadline);
        let made = made.map_err(|text| format!("{place}Python package {name}: {text}"));
        let (package, mut session) = self.noted(made)?;
        let problems = match self.source(name) {
            Some(PythonSource::Archive(_)) => problems(&package, &mut session, limits.deadline),
            // What sources may import they need not import.
            _ => Vec::new(),
        };
        for problem in problems {
            match problem.contains("is not installed") {
                true => self.wrong.push(format!("{place}Python package {name}: {problem}")),
                false => self.notes.push(format!("{place}Python package {name}: {problem}")),
            }
        }
        for component in components.iter().filter(|one| one.kind == PythonKind::Component) {
            self.make(component, &package, limits, &mut session);
        }
        Some(package)
    }

    /// Creates the components of a package that are neither models nor embedders.
    fn others(
        &mut self,
        package: &Arc<Package>,
        components: &[&PythonComponent],
        limits: &Limits<'_>,
    ) {
        let mut others = components.iter().filter(|one| one.kind != PythonKind::Component);
        let Some(first) = others.next() else { return };
        let session = self.session(package, limits.deadline);
        let (place, name) = (&first.place, &package.name);
        let session = session.map_err(|text| format!("{place}: Python package {name}: {text}"));
        let Some(mut session) = self.noted(session) else { return };
        for component in std::iter::once(first).chain(others) {
            self.make(component, package, limits, &mut session);
        }
    }

    /// Notes what is wrong.
    fn noted<T>(&mut self, made: Result<T, String>) -> Option<T> {
        made.map_err(|text| self.wrong.push(text)).ok()
    }

    /// Creates a component, and sees to it that it is found by what it is.
    fn make(
        &mut self,
        component: &PythonComponent,
        package: &Arc<Package>,
        limits: &Limits<'_>,
        session: &mut Session,
    ) {
        let (element, id) = (component.kind.element(), &component.id);
        let made = self.component(component, package, limits, session);
        let made = made.map_err(|text| format!("{}: {element} {id}: {text}", component.place));
        let Some((unit, described)) = self.noted(made) else { return };
        let unit = Arc::new(unit);
        let role = self.role(&unit, &described);
        self.noted(role.map_err(|text| format!("{}: component {id}: {text}", component.place)));
        self.wishes.insert(component.id.clone(), described.dependencies);
        for Located { value, .. } in &component.bindings {
            let handler = HandlerUnit::Python(Arc::clone(&unit));
            self.components.handlers.push((value.clone(), handler));
        }
        self.components.units.push(unit);
    }

    /// Sees to it that a component is found by what it is.
    fn role(&mut self, unit: &Arc<Unit>, described: &Described) -> Result<(), String> {
        let role = match described.kind.as_str() {
            "model" => {
                let name = unit.component.id.clone();
                let keeps = described.durability != Durability::Memory;
                let source = self.source(&unit.package.name);
                let identity = || identity(self.files, &unit.package.name, source, &unit.component);
                let identity = keeps.then(identity).transpose()?;
                let (model, settings) = PythonModel::new(unit, described, identity)?;
                let is_same = |other: &Provided| other.name == name;
                if self.components.models.iter().any(is_same) || self.host.has_model(&name) {
                    return Err("another model of the application has its id".to_owned());
                }
                let role = Role::Model(Arc::downgrade(&model));
                self.components.models.push(Provided { name, evaluate: model, settings });
                role
            }
            "embedder" => {
                let call = Arc::new(Together::one("component", Arc::clone(unit)));
                let role = Role::Embedder(Arc::downgrade(&call));
                self.in_python.push(call);
                role
            }
            _ => return Ok(()),
        };
        let (component, package) = (Arc::clone(&unit.component), Arc::clone(&unit.package));
        self.beside.add(Other { component, package, role });
        Ok(())
    }

    fn source(&self, name: &str) -> Option<PythonSource> {
        python_packages(self.files).remove(name)?.into_iter().next()
    }

    /// Registers a package with the interpreters of its environment and loads it in one of them.
    fn open(
        &self,
        name: &str,
        options: &PythonOptions,
        deadline: Deadline,
    ) -> Result<(Arc<Package>, Session), String> {
        let source = self.source(name).ok_or_else(|| format!("there is no python/{name}"))?;
        let wishes = options.packages.iter().find(|package| package.name == name);
        let isolation = wishes.map(|package| package.isolation).unwrap_or_default();
        let environment = wishes.and_then(|package| package.environment.as_deref());
        let (path, files, pool) = match &source {
            PythonSource::Archive(path) => {
                let of_archive = ArchiveWishes::read(self.files, path)?;
                let environment = environment.or(of_archive.environment.as_deref());
                let python = self.pools.installation(environment)?;
                let archive = self.pools.store().archive(self.files, path)?;
                let bundles = match of_archive.has_bundles {
                    true => self.bundles(name, &archive, &python, deadline)?,
                    false => Vec::new(),
                };
                let pool = self.pools.pool(python, isolation, bundles);
                (archive.path().to_owned(), Files::Stored { _archive: archive }, pool)
            }
            PythonSource::Sources(paths) => {
                let python = self.pools.installation(environment)?;
                let stage = self.stage.as_ref().ok_or("there is no place for sources")?;
                let path = stage.add(name, paths, self.files)?;
                let files = Files::Staged { _stage: Arc::clone(stage) };
                (path, files, self.pools.pool(python, isolation, Vec::new()))
            }
        };
        let (name, registered) = (name.to_owned(), format!("{name}@{}", self.generation));
        let manager = pool.manager.clone();
        manager.register(&registered, stead_python::PackageSource::File(path));
        let package = Package { name, registered, manager, pool, _files: files };
        let package = Arc::new(package);
        let session = self.session(&package, deadline)?;
        Ok((package, session))
    }

    /// An interpreter that has a package, and those of models and embedders that its components may ask for.
    fn session(&self, package: &Package, deadline: Deadline) -> Result<Session, String> {
        let Package { manager, registered, .. } = package;
        let beside = self.beside.packages_now(manager);
        let others: Vec<&str> = beside.iter().map(String::as_str).collect();
        manager.acquire_with(registered, &others, deadline).map_err(|error| match error {
            AcquireError::Load { error, .. } => told(&error),
            AcquireError::TimedOut => {
                "it was not loaded in time; start-timeout of python is the limit".to_owned()
            }
            other => other.to_string(),
        })
    }

    /// Unpacks the distributions that an archive brings along, if nobody has done so before.
    fn bundles(
        &self,
        name: &str,
        archive: &Stored,
        python: &Installation,
        deadline: Deadline,
    ) -> Result<Vec<Arc<Stored>>, String> {
        let store = self.pools.store();
        let package = PackageFile { name: name.to_owned(), path: archive.path().to_owned() };
        let folders = unpack_bundles(python, &package, &store.bundles()?, deadline);
        let folders = folders.map_err(|error| match error {
            BundleError::TimedOut => {
                "what it bundles was not unpacked in time; start-timeout of python is the limit"
                    .to_owned()
            }
            BundleError::Failed(error) => told(&error),
            other => other.to_string(),
        })?;
        Ok(folders.into_iter().map(|folder| store.hold(folder)).collect())
    }

    fn component(
        &self,
        component: &PythonComponent,
        package: &Arc<Package>,
        limits: &Limits<'_>,
        session: &mut Session,
    ) -> Result<(Unit, Described), String> {
        let kind = match component.kind {
            PythonKind::Handler => ComponentKind::Handler,
            PythonKind::Searcher => ComponentKind::Searcher,
            PythonKind::DocumentProcessor => ComponentKind::Processor,
            PythonKind::Component => ComponentKind::Component,
        };
        let host = ComponentHost::new(
            self.host,
            &self.beside,
            &package.manager,
            self.embedders_beside,
            match component.kind {
                PythonKind::DocumentProcessor => TextRole::Document,
                _ => TextRole::Query,
            },
        );
        let host: Arc<dyn Host> = Arc::new(host);
        let made = Arc::new(Component {
            id: component.id.clone(),
            generation: self.generation,
            kind,
            package: Some(package.registered.clone()),
            module: component.class.module.clone(),
            class: component.class.class.clone(),
            settings: settings(&component.settings)?,
            context: self.context.clone(),
        });
        let description =
            made.create(session, Arc::clone(&host), limits.deadline).map_err(|e| told(&e))?;
        let unit = Unit {
            component: made,
            host,
            beside: Arc::clone(&self.beside),
            package: Arc::clone(package),
            timeout: limits.options.timeout,
            is_development: self.pools.settings().development,
            meter: self.meters.of(&component.id, component.kind.element()),
            is_quick: AtomicBool::new(false),
        };
        Ok((unit, Described::read(description)?))
    }
}

/// What is wrong with a package in its interpreter, as far as it says what it needs.
fn problems(package: &Package, session: &mut Session, deadline: Deadline) -> Vec<String> {
    let call = Call::new("stead_package_importer", "environment_problems", Vec::new());
    match session.call(call.of_package(&package.registered), deadline) {
        Ok(Value::List(list)) => list.into_iter().filter_map(text).collect(),
        // What cannot be asked shows when components are created.
        _ => Vec::new(),
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::Str(text) => Some(text),
        _ => None,
    }
}

/// An error for the one who deploys, who may see all of it.
fn told(error: &CallError) -> String {
    match error {
        CallError::Raised(exception) => format!("{error}\n{}", exception.traceback.trim_end()),
        CallError::TimedOut | CallError::Busy => {
            "it was not created in time; start-timeout of python is the limit".to_owned()
        }
        other => other.to_string(),
    }
}
