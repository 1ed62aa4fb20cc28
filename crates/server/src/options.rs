//! What the server is told when it starts.

use crate::security::{AuthOptions, LimitOptions};
use crate::tls::TlsOptions;
use crate::vespa::logs::RecentLog;
use std::net::SocketAddr;
use std::time::Duration;

/// The default limit of a request's body: that of Triton.
pub const DEFAULT_MAX_BODY_BYTES: usize = 64 << 20;

/// Where to listen and what to allow.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Addresses for REST; port 0 takes a free one. Empty for none.
    pub http: Vec<SocketAddr>,
    /// Addresses for gRPC; port 0 takes a free one. Empty for none.
    pub grpc: Vec<SocketAddr>,
    /// Addresses for deployments; port 0 takes a free one. Empty for none.
    pub deploy: Vec<SocketAddr>,
    /// Addresses for administration, which is taken nowhere else then; port 0 takes a free one. Empty for none.
    pub admin: Vec<SocketAddr>,
    /// How clients say who they are; without it they need not.
    pub auth: Option<AuthOptions>,
    /// How much one client may ask.
    pub limits: LimitOptions,
    /// TLS on all of them; plain connections without it.
    pub tls: Option<TlsOptions>,
    /// How often to look whether files of these options have changed; `None` for never.
    pub reload_poll: Option<Duration>,
    /// The largest body of a request, after decompression, over HTTP and gRPC.
    pub max_body_bytes: usize,
    /// How long a client may take to send the headers of a request.
    pub header_timeout: Duration,
    /// How long a client may pause while it sends a body or takes an answer.
    pub body_timeout: Duration,
    /// The last lines of the log, for whoever asks on the deploy port; `None` where nobody keeps them.
    pub log: Option<RecentLog>,
    /// The metrics page.
    pub metrics: MetricsOptions,
    /// Whether the page for people is served at `/console/`.
    pub console: bool,
    /// Whether clients on other machines, and web pages, may look after sequences (list, end, export, ...).
    pub sequence_admin: bool,
    /// What browsers on other origins may do.
    pub cors: CorsOptions,
    /// The server's name in metadata.
    pub name: String,
    /// The server's version in metadata.
    pub version: String,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            http: Vec::new(),
            grpc: Vec::new(),
            deploy: Vec::new(),
            admin: Vec::new(),
            auth: None,
            limits: LimitOptions::default(),
            tls: None,
            reload_poll: Some(Duration::from_secs(1)),
            max_body_bytes: DEFAULT_MAX_BODY_BYTES,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            log: None,
            metrics: MetricsOptions::default(),
            console: false,
            sequence_admin: false,
            cors: CorsOptions::default(),
            name: "stead".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The metrics page `/metrics`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetricsOptions {
    /// Whether the page is served; it answers 400 otherwise, as OpenVINO Model Server does.
    pub enabled: bool,
    /// The families to show; empty for OpenVINO Model Server's default families and stead's own.
    pub list: Vec<String>,
}

/// OpenVINO Model Server's options for cross-origin requests. Without origins no header is sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CorsOptions {
    /// `Access-Control-Allow-Origin`: `*` or a comma list.
    pub allowed_origins: String,
    /// `Access-Control-Allow-Methods`.
    pub allowed_methods: String,
    /// `Access-Control-Allow-Headers`.
    pub allowed_headers: String,
    /// `Access-Control-Allow-Credentials`.
    pub allow_credentials: bool,
}
