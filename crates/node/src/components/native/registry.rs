//! What a program brings: components by the names that packages know them by.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use stead_app::components::{Setting, Settings};

use super::{DocumentProcessor, Models, RequestHandler, Searcher};

/// Makes a component, or says in words what is wrong with its settings.
pub(super) type Factory<T> = Arc<dyn Fn(&Creating<'_>) -> Result<Box<T>, String> + Send + Sync>;

/// The components of a program, which packages name by `native="..."`.
///
/// ```
/// use stead_node::native::{Execution, NativeComponents, NativeError, Query, Searcher};
/// use stead_search::result::SearchResult;
///
/// /// Writes a text behind what was found.
/// struct Mark(String);
///
/// impl Searcher for Mark {
///     fn search(&self, query: Query, execution: &Execution<'_>) -> Result<SearchResult, NativeError> {
///         let mut result = execution.search(query)?;
///         for hit in &mut result.hits {
///             hit.set("mark", self.0.as_str());
///         }
///         Ok(result)
///     }
/// }
///
/// let mine = NativeComponents::default().searcher("mark", |creating| {
///     let text = creating.text("text").ok_or("it needs the setting text")?;
///     Ok(Box::new(Mark(text.to_owned())))
/// });
/// # let _ = mine;
/// ```
#[derive(Clone, Default)]
pub struct NativeComponents {
    pub(super) searchers: BTreeMap<String, Factory<dyn Searcher>>,
    pub(super) processors: BTreeMap<String, Factory<dyn DocumentProcessor>>,
    pub(super) handlers: BTreeMap<String, Factory<dyn RequestHandler>>,
}

impl NativeComponents {
    /// Adds a searcher; the last of a name counts. `factory` makes one for each `searcher` of a package that names it.
    #[must_use]
    pub fn searcher(
        mut self,
        name: &str,
        factory: impl Fn(&Creating<'_>) -> Result<Box<dyn Searcher>, String> + Send + Sync + 'static,
    ) -> NativeComponents {
        self.searchers.insert(name.to_owned(), Arc::new(factory));
        self
    }

    /// Adds a document processor; the last of a name counts.
    #[must_use]
    pub fn document_processor(
        mut self,
        name: &str,
        factory: impl Fn(&Creating<'_>) -> Result<Box<dyn DocumentProcessor>, String>
        + Send
        + Sync
        + 'static,
    ) -> NativeComponents {
        self.processors.insert(name.to_owned(), Arc::new(factory));
        self
    }

    /// Adds a handler; the last of a name counts.
    #[must_use]
    pub fn handler(
        mut self,
        name: &str,
        factory: impl Fn(&Creating<'_>) -> Result<Box<dyn RequestHandler>, String>
        + Send
        + Sync
        + 'static,
    ) -> NativeComponents {
        self.handlers.insert(name.to_owned(), Arc::new(factory));
        self
    }
}

impl NativeComponents {
    /// These and others; of a name that both have the other counts.
    #[must_use]
    pub fn and(mut self, other: NativeComponents) -> NativeComponents {
        self.searchers.extend(other.searchers);
        self.processors.extend(other.processors);
        self.handlers.extend(other.handlers);
        self
    }
}

impl fmt::Debug for NativeComponents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chained = self.searchers.keys().chain(self.processors.keys());
        let names: Vec<&String> = chained.chain(self.handlers.keys()).collect();
        f.debug_tuple("NativeComponents").field(&names).finish()
    }
}

/// What a component is made of.
pub struct Creating<'c> {
    /// Its id.
    pub id: &'c str,
    /// What its `config`s say.
    pub settings: &'c [Settings],
    /// The models of the application; a component may keep them.
    pub models: Models,
}

impl Creating<'_> {
    /// A setting that is a text, or the path of a file of the package.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        let all = self.settings.iter().flat_map(|settings| &settings.values);
        all.filter(|(known, _)| known == name).find_map(|(_, value)| match value {
            Setting::Text(text) | Setting::File(text) => Some(text.as_str()),
            _ => None,
        })
    }
}
