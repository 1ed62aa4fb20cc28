//! Documents and searches for programs that have the node within: no runtime, no sockets.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, SystemTime};

use stead_app::Source;
use stead_app::package::PackageFiles;
use stead_store::{FieldValue, Members, Operation, Outcome, Selected, Selection, StoreError, View};

use crate::embedded::{Embedded, NodeConfig};
use crate::{
    Code, Deployed, Deployments, DocumentOptions, Error, Fed, FeedRoute, Feeding, Prepared,
    WhenBusy,
};

/// A document as it was when it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its id.
    pub id: String,
    /// Its fields by name.
    pub fields: Vec<(String, FieldValue)>,
}

impl Document {
    /// The value of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FieldValue> {
        self.fields.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    fn new(view: &View, id: &str, fields: Vec<(usize, FieldValue)>) -> Document {
        let name = |number| view.kind().field_name(number).unwrap_or_default().to_owned();
        let fields = fields.into_iter().map(|(number, value)| (name(number), value)).collect();
        Document { id: id.to_owned(), fields }
    }
}

impl Embedded {
    /// A node whose applications and documents are below a folder, which is made if there is none. What was deployed and fed before is
    /// there again.
    ///
    /// # Errors
    /// When another process holds the folder, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Arc<Embedded>, Error> {
        Embedded::over(Deployments::open(folder)?)
    }

    /// A node with one application, whose documents are in memory.
    ///
    /// # Errors
    /// [`Code::InvalidPackage`] with all that is wrong.
    pub fn in_memory(package: &PackageFiles) -> Result<Arc<Embedded>, Error> {
        Embedded::over(Deployments::of_package(package, DocumentOptions::default())?)
    }

    fn over(deployments: Arc<Deployments>) -> Result<Arc<Embedded>, Error> {
        let config = NodeConfig::new(Source::Nothing);
        Embedded::start(NodeConfig { deployments: Some(deployments), ..config })
    }

    /// Deploys an application package: it is prepared and activated, or nothing is changed.
    ///
    /// # Errors
    /// [`Code::InvalidPackage`] with all that is wrong; [`Code::FailedPrecondition`] where the application is in memory.
    pub fn deploy(&self, package: &PackageFiles) -> Result<Prepared, Error> {
        let deployments = self.applications()?;
        let session = deployments.create_from(package)?;
        let prepared = deployments.prepare(session).and_then(|prepared| {
            deployments.activate(session)?;
            Ok(prepared)
        });
        prepared.inspect_err(|_| deployments.discard(session))
    }

    /// Does an operation with a document, as the document processors of the application have it, and waits until it is durable and the
    /// next search sees it. Threads that feed at the same time share syncs of the disk and calls of processors; one that has many to feed
    /// uses [`Deployments::feed`].
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] for ids without a type that is stored, for values that scripts cannot take, and for updates where the
    /// application has processors, which see their JSON ([`Embedded::feed_json`]); what processors raise; what the disk refuses.
    pub fn feed(&self, operation: Operation) -> Result<Outcome, Error> {
        self.feed_with(Fed { operation, changes: None })
    }

    fn feed_with(&self, fed: Fed) -> Result<Outcome, Error> {
        kind_of(&fed.operation.document)?;
        let (sender, receiver) = sync_channel(1);
        // Whoever asked waits for it.
        let done = move |outcome| drop(sender.send(outcome));
        let (route, when_busy) = (FeedRoute::Default, WhenBusy::Wait);
        let how = Feeding { route, timeout: Duration::MAX, when_busy };
        self.applications()?.feed(&*self.active()?, fed, how, done)?;
        let ended = || Error::new(Code::Internal, "the operation ended without an answer");
        receiver.recv().map_err(|_| ended())?
    }

    /// [`Embedded::feed`] from JSON as Vespa is fed with: `{"put": id, "fields": {..}}` and its like.
    ///
    /// # Errors
    /// As there; [`Code::InvalidJson`] for JSON that is no operation or does not fit the type.
    pub fn feed_json(&self, json: &str) -> Result<Outcome, Error> {
        let wrong = |text: String| Error::new(Code::InvalidJson, text);
        let id = Operation::document_of(json.as_bytes()).map_err(|e| wrong(e.what()))?;
        let view = self.view(kind_of(&id)?)?;
        let operation = Operation::read(view.kind(), json.as_bytes());
        let operation = operation.map_err(|e| wrong(e.what()))?;
        let members = Members::parse(json.as_bytes()).map_err(|e| wrong(e.to_string()))?;
        self.feed_with(Fed { operation, changes: members.fields_text().map(Arc::from) })
    }

    /// A document; nothing if there is none with this id.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] for ids without a type that is stored; [`Code::Unavailable`] before anything is deployed;
    /// [`Code::Internal`] for documents that cannot be read.
    pub fn document(&self, id: &str) -> Result<Option<Document>, Error> {
        let view = self.view(kind_of(id)?)?;
        let fields = view.find(id).map_or(Ok(None), |lid| view.read(lid, |_| true));
        let fields = fields.map_err(unreadable)?;
        Ok(fields.map(|fields| Document::new(&view, id, fields)))
    }

    /// Hands on all documents of a type, or those that a selection selects, as they were at one moment, until `goes_on` says no.
    ///
    /// # Errors
    /// As [`Embedded::document`].
    pub fn visit(
        &self,
        kind: &str,
        selection: Option<&Selection>,
        mut goes_on: impl FnMut(Document) -> bool,
    ) -> Result<(), Error> {
        let view = self.view(kind)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut reader = view.fields_reader();
        for lid in view.lids() {
            let fields = reader.read(lid, |_| true).map_err(unreadable)?;
            let (Some(id), Some(fields)) = (view.id(lid), fields) else { continue };
            let (kind, now) = (view.kind(), now.as_secs() as i64);
            let document = Selected { kind, id, fields: &fields, now };
            let is_selected = selection.is_none_or(|selection| selection.selects(&document));
            if is_selected && !goes_on(Document::new(&view, id, fields)) {
                break;
            }
        }
        Ok(())
    }

    fn applications(&self) -> Result<&Arc<Deployments>, Error> {
        let none = || Error::new(Code::FailedPrecondition, "this node has no applications");
        self.deployments().ok_or_else(none)
    }

    fn active(&self) -> Result<Arc<Deployed>, Error> {
        let none = || Error::new(Code::Unavailable, "no application is deployed here yet");
        self.applications()?.active().ok_or_else(none)
    }

    fn view(&self, kind: &str) -> Result<View, Error> {
        let none =
            || Error::new(Code::InvalidArgument, format!("document type {kind} does not exist"));
        self.active()?.view(kind).ok_or_else(none)
    }
}

fn unreadable(error: StoreError) -> Error {
    Error::new(Code::Internal, error.to_string())
}

/// The type that an id `id:namespace:type:..:name` names.
fn kind_of(id: &str) -> Result<&str, Error> {
    let kind = id.strip_prefix("id:").and_then(|rest| rest.split(':').nth(1));
    kind.ok_or_else(|| {
        let text = format!("expected an id id:namespace:type::name, found {id:.80?}");
        Error::new(Code::InvalidArgument, text)
    })
}
