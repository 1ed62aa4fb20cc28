//! `stead serve`: flags, and what they start.

mod anew;
mod edit;
pub mod flags;
mod listen;
mod log;
mod model;
pub mod options;
mod python;
mod recent;
mod security;
mod values;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use clap::ArgMatches;
use stead_app::package::PackageFiles;
use stead_app::services::SERVER_TOML;
use stead_app::{ServerConfig, Source};
use stead_engine::Backend;
use stead_node::{
    Cores, DeployOptions, Deployments, DocumentOptions, Embedded, NodeConfig, PythonSettings,
    write_list,
};
use stead_server::{MetricsOptions, ServerHandle, ServerOptions, is_metric};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;
use options::{Applications, ServeOptions};

/// Runs the command.
pub fn run(matches: &ArgMatches) -> Result<(), Failure> {
    if let Some(done) = edit::run(matches)? {
        println!("{done}");
        return Ok(());
    }
    anew::start_if_python_needs_it();
    let options = options::resolve(matches)?;
    let log = log::start(&options.log)?;
    for note in &options.notes {
        tracing::warn!("{note}");
    }
    runtime()?.block_on(async {
        let told = ServerOptions { log: Some(log), ..server_options(&options)? };
        let server = start(node_config(&options)?, told).await?;
        tracing::info!("{}", threads(&options, &Cores::of_this_process()));
        announce(&options, &server);
        until_told(server, options.drain).await
    })
}

/// tokio's threads do I/O and the shortest requests; long ones go to the node's own pool.
pub fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::failed)
}

/// Starts a node and a server for it.
///
/// # Errors
/// Nothing to serve from, or an address that is taken.
pub async fn start(node: NodeConfig, server: ServerOptions) -> Result<ServerHandle, Failure> {
    let node = Embedded::start(node).map_err(Failure::failed)?;
    stead_server::serve(server, node).await.map_err(Failure::failed)
}

fn node_config(options: &ServeOptions) -> Result<NodeConfig, Failure> {
    // A library that was named and is none ends the start; one that is missing, only models that want it.
    if options.onnxruntime.library.is_some() {
        options.onnxruntime.open().map_err(Failure::failed)?;
    }
    let documents = DocumentOptions { room: options.room, ..DocumentOptions::default() };
    let self_test = Some(crate::commands::python::self_test()?);
    let python = PythonSettings { self_test, ..options.python.clone() };
    let backends: Vec<Arc<dyn Backend>> = vec![Arc::new(options.onnxruntime.clone())];
    let deploy =
        DeployOptions { documents, python, backends: backends.clone(), ..DeployOptions::default() };
    let deployments = match &options.applications {
        None => None,
        Some(Applications::Data(folder)) => {
            Some(Deployments::open_with(folder, deploy).map_err(Failure::failed)?)
        }
        Some(Applications::Package(path)) => {
            let files = PackageFiles::open(path).map_err(Failure::failed)?;
            Some(Deployments::of_package(&files, deploy).map_err(Failure::failed)?)
        }
        Some(Applications::Beside(folder)) => {
            let file = folder.join(SERVER_TOML);
            let failed = |error| Failure::failed(format!("{}: {error}", file.display()));
            let text = std::fs::read_to_string(&file).map_err(failed)?;
            Some(Deployments::of_server(&text, folder, deploy).map_err(Failure::failed)?)
        }
    };
    Ok(NodeConfig {
        defaults: options.settings.clone(),
        threads: options.threads,
        pinning: options.pinning.clone(),
        poll: options.poll,
        cleaner: options.cleaner,
        state_path: options.state_path.clone(),
        deployments,
        backends,
        ..NodeConfig::new(options.source.clone())
    })
}

fn server_options(options: &ServeOptions) -> Result<ServerOptions, Failure> {
    Ok(ServerOptions {
        http: options.rest.clone(),
        grpc: options.grpc.clone(),
        deploy: options.deploy.clone(),
        admin: options.admin.clone(),
        auth: options.auth.clone(),
        limits: options.limits,
        tls: options.tls.clone(),
        reload_poll: options.poll,
        max_body_bytes: options.max_body_bytes,
        metrics: metrics(options)?,
        console: is_console_on(options),
        sequence_admin: options.sequence_admin,
        cors: options.cors.clone(),
        ..ServerOptions::default()
    })
}

/// Whether only this machine reaches the HTTP port. What is for people is on there without being asked for.
fn is_loopback(options: &ServeOptions) -> bool {
    options.rest.iter().all(|address| address.ip().is_loopback())
}

/// Whether the page for people is served.
fn is_console_on(options: &ServeOptions) -> bool {
    options.console_enable.unwrap_or_else(|| is_loopback(options))
}

/// Metrics are on where only this machine can read them, and where somebody asked for them.
fn metrics(options: &ServeOptions) -> Result<MetricsOptions, Failure> {
    let mut metrics = MetricsOptions {
        enabled: options.metrics_enable || is_loopback(options),
        list: options.metrics_list.clone(),
    };
    if let (Source::ConfigFile(path), false) = (&options.source, options.metrics_enable)
        && let Ok(bytes) = std::fs::read(path)
        && let Ok(config) = ServerConfig::parse(&bytes)
    {
        if config.metrics.enable == Some(true) && options.rest.is_empty() {
            return Err(Failure::usage(
                "monitoring.metrics.enable in the config needs --rest_port",
            ));
        }
        metrics.enabled = config.metrics.enable.unwrap_or(metrics.enabled);
        metrics.list = config.metrics.metrics_list;
        if let Some(unknown) = metrics.list.iter().find(|name| !is_metric(name)) {
            let text = format!("monitoring.metrics.metrics_list: there is no metric `{unknown}`");
            return Err(Failure::usage(text));
        }
    }
    Ok(metrics)
}

/// How many threads compute, and why so many.
fn threads(options: &ServeOptions, cores: &Cores) -> String {
    // That there are such places was checked with the flags.
    let places = options.pinning.places(cores, options.threads).unwrap_or_default();
    let count = match places.len() {
        0 => options.threads.unwrap_or(cores.workers()),
        pinned => pinned,
    };
    let s = if count == 1 { " computes" } else { "s compute" };
    let quota = cores.quota().map(|quota| format!(", a quota of {quota:.1}")).unwrap_or_default();
    let (physical, logical) = (cores.physical(), cores.logical());
    let place = |cpus: &Vec<usize>| write_list(cpus);
    let places: Vec<String> = places.iter().map(place).collect();
    let pinned = match places.is_empty() {
        true => String::new(),
        false => format!(", pinned to CPUs {}", places.join(" | ")),
    };
    format!("{count} thread{s} (physical cores: {physical}, CPUs: {logical}{quota}){pinned}")
}

/// Logs where the server listens, and the one difference from OpenVINO Model Server that surprises.
fn announce(options: &ServeOptions, server: &ServerHandle) {
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    for address in server.http_addresses() {
        tracing::info!("HTTP on {scheme}://{address}");
    }
    let page = server.http_addresses().first().filter(|_| is_console_on(options));
    if let Some(address) = page {
        tracing::info!("console on {scheme}://{address}/console/");
    }
    for address in server.grpc_addresses() {
        tracing::info!("gRPC on {address}");
    }
    for address in server.admin_addresses() {
        tracing::info!("administration on {scheme}://{address}");
    }
    for address in server.deploy_addresses() {
        tracing::info!("deployments on {scheme}://{address}");
    }
    let local = |list: &[SocketAddr]| list.iter().all(|address| address.ip().is_loopback());
    if local(&options.rest) && local(&options.grpc) {
        tracing::info!(
            "only this machine can connect; --rest_bind_address 0.0.0.0 and --grpc_bind_address \
             0.0.0.0 open the server to others, as OpenVINO Model Server does by default"
        );
    }
}

/// Waits for SIGTERM or SIGINT, then lets requests in flight finish. A second signal ends the process. SIGHUP before has files read
/// again that may change while the server runs.
///
/// # Errors
/// Requests that were not answered in time.
pub async fn until_told(server: ServerHandle, drain: std::time::Duration) -> Result<(), Failure> {
    let stop = signals()?;
    let mut hangup = signal(SignalKind::hangup()).map_err(Failure::failed)?;
    let reload = async {
        while hangup.recv().await.is_some() {
            server.reload().await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = stop => {}
        () = reload => {}
    }
    tracing::info!(
        "stopping: waiting up to {drain:?} for requests in flight; a second signal ends at once"
    );
    let again = signals()?;
    tokio::select! {
        answered = server.drain(drain) => match answered {
            true => Ok(()),
            false => Err(Failure::failed("stopped with requests in flight")),
        },
        () = again => Err(Failure::failed("ended by a second signal")),
    }
}

/// Completes at the next SIGTERM or SIGINT.
fn signals() -> Result<impl Future<Output = ()>, Failure> {
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::failed)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => (),
            _ = interrupt.recv() => (),
        }
    })
}
