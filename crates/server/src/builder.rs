//! A server in a program of its own, which brings components along.

use std::net::SocketAddr;
use std::path::PathBuf;

use stead_app::Source;
use stead_app::package::PackageFiles;
use stead_node::native::{Creating, DocumentProcessor, NativeComponents, RequestHandler, Searcher};
use stead_node::{DeployOptions, Deployments, Embedded, NodeConfig};

use crate::{ServeError, ServerHandle, ServerOptions, serve};

/// A server in your own program.
///
/// ```no_run
/// # use stead_node::native::{Execution, NativeError, Query, Searcher};
/// # use stead_search::result::SearchResult;
/// # struct Rank;
/// # impl Searcher for Rank {
/// #     fn search(&self, query: Query, rest: &Execution<'_>) -> Result<SearchResult, NativeError> { rest.search(query) }
/// # }
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use stead_app::package::PackageFiles;
/// use stead_server::Server;
///
/// let server = Server::builder()
///     .package(PackageFiles::open("my-app".as_ref())?)
///     .http("127.0.0.1:8080".parse()?)
///     // <searcher id="rank" native="shop-rank"/> in its services.xml
///     .searcher("shop-rank", |_creating| Ok(Box::new(Rank)))
///     .start()
///     .await?;
/// # drop(server);
/// # Ok(())
/// # }
/// ```
pub struct Server;

impl Server {
    /// A server that serves nothing yet.
    #[must_use]
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }
}

/// What a server is made of.
#[derive(Default)]
pub struct ServerBuilder {
    options: ServerOptions,
    native: NativeComponents,
    applications: Applications,
    models: Option<PathBuf>,
}

#[derive(Default)]
enum Applications {
    #[default]
    None,
    Package(PackageFiles),
    Folder(PathBuf),
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The package, or the models.
    #[error(transparent)]
    Node(#[from] stead_node::Error),
    /// An address.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

impl ServerBuilder {
    /// Serves an application package, whose documents are in memory.
    #[must_use]
    pub fn package(mut self, package: PackageFiles) -> ServerBuilder {
        self.applications = Applications::Package(package);
        self
    }

    /// Serves what was deployed and fed below a folder; [`ServerBuilder::deploy`] takes more.
    #[must_use]
    pub fn data(mut self, folder: impl Into<PathBuf>) -> ServerBuilder {
        self.applications = Applications::Folder(folder.into());
        self
    }

    /// Serves the models of a repository beside it.
    #[must_use]
    pub fn models(mut self, path: impl Into<PathBuf>) -> ServerBuilder {
        self.models = Some(path.into());
        self
    }

    /// Listens for HTTP; port 0 takes a free one.
    #[must_use]
    pub fn http(mut self, address: SocketAddr) -> ServerBuilder {
        self.options.http.push(address);
        self
    }

    /// Listens for gRPC.
    #[must_use]
    pub fn grpc(mut self, address: SocketAddr) -> ServerBuilder {
        self.options.grpc.push(address);
        self
    }

    /// Listens for deployments.
    #[must_use]
    pub fn deploy(mut self, address: SocketAddr) -> ServerBuilder {
        self.options.deploy.push(address);
        self
    }

    /// Adds a searcher that packages name by `native`. `factory` makes one for each `searcher` of a package that does.
    #[must_use]
    pub fn searcher(
        mut self,
        name: &str,
        factory: impl Fn(&Creating<'_>) -> Result<Box<dyn Searcher>, String> + Send + Sync + 'static,
    ) -> ServerBuilder {
        self.native = self.native.searcher(name, factory);
        self
    }

    /// Adds a document processor that packages name by `native`.
    #[must_use]
    pub fn document_processor(
        mut self,
        name: &str,
        factory: impl Fn(&Creating<'_>) -> Result<Box<dyn DocumentProcessor>, String>
        + Send
        + Sync
        + 'static,
    ) -> ServerBuilder {
        self.native = self.native.document_processor(name, factory);
        self
    }

    /// Adds a handler that packages name by `native`, with bindings as those in Python have.
    #[must_use]
    pub fn handler(
        mut self,
        name: &str,
        factory: impl Fn(&Creating<'_>) -> Result<Box<dyn RequestHandler>, String>
        + Send
        + Sync
        + 'static,
    ) -> ServerBuilder {
        self.native = self.native.handler(name, factory);
        self
    }

    /// Adds components that were put together elsewhere; of a name that is there already the last counts.
    #[must_use]
    pub fn components(mut self, more: NativeComponents) -> ServerBuilder {
        self.native = self.native.and(more);
        self
    }

    /// Prepares the package and listens. Must be called on a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// All that is wrong with the package; addresses that are taken.
    pub async fn start(self) -> Result<ServerHandle, StartError> {
        let options = DeployOptions { native: self.native, ..DeployOptions::default() };
        let deployments = match self.applications {
            Applications::None => None,
            Applications::Package(files) => Some(Deployments::of_package(&files, options)?),
            Applications::Folder(folder) => Some(Deployments::open_with(&folder, options)?),
        };
        let source = self.models.map_or(Source::Nothing, Source::Path);
        let node = Embedded::start(NodeConfig { deployments, ..NodeConfig::new(source) })?;
        Ok(serve(self.options, node).await?)
    }
}
