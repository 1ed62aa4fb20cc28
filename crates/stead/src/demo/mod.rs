//! `stead demo`: the models of the examples, served and asked.

mod blog;
mod models;
mod stories;
mod voice;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use stead_node::NodeConfig;
use stead_server::{MetricsOptions, ServerHandle, ServerOptions};

use crate::failure::Failure;
use crate::http_client::Target;
use crate::serve;

/// How long the demo waits for requests in flight when it is told to stop.
const DRAIN: Duration = Duration::from_secs(5);

/// Serve the built-in example models and show what requests and answers look like
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stead demo\n  stead demo --once\n  stead demo --rest_port 8000"
)]
pub struct DemoArgs {
    /// Use free ports, show the requests and exit.
    #[arg(long)]
    once: bool,
    /// HTTP port.
    #[arg(long = "rest_port", default_value_t = 8080)]
    rest_port: u16,
    /// gRPC port.
    #[arg(long = "port", default_value_t = 9000)]
    port: u16,
}

/// How long an answer of this process may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the command.
pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    let folder = models::unpack()?;
    let port =
        |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, if args.once { 0 } else { port }));
    let options = ServerOptions {
        http: vec![port(args.rest_port)],
        grpc: vec![port(args.port)],
        metrics: MetricsOptions { enabled: true, list: Vec::new() },
        ..ServerOptions::default()
    };
    serve::runtime()?.block_on(async {
        let deployments = tokio::task::block_in_place(|| blog::deploy(folder.path()))?;
        let node = NodeConfig { deployments: Some(deployments), ..NodeConfig::path(folder.config()) };
        let server = serve::start(node, options).await?;
        let (rest, grpc) = addresses(&server)?;
        println!("stead serves a blog and four small models from its own binary.\n");
        blog::recommend(rest)?;
        voice::listen(rest)?;
        for story in stories::STORIES {
            tell(story, rest)?;
        }
        if args.once {
            server.drain(DRAIN).await;
            println!("The demo is over. Without --once it keeps serving, so that you can try for yourself.");
            return Ok(());
        }
        print!("{}", invitation(rest, grpc));
        serve::until_told(server, DRAIN).await
    })
}

fn addresses(server: &ServerHandle) -> Result<(SocketAddr, SocketAddr), Failure> {
    let both = (server.http_addresses().first(), server.grpc_addresses().first());
    let (Some(rest), Some(grpc)) = both else { return Err(Failure::failed("no address is bound")) };
    Ok((*rest, *grpc))
}

/// Asks one question over HTTP, like any client, and prints it with its answer.
fn tell(story: &stories::Story, rest: SocketAddr) -> Result<(), Failure> {
    println!("{}", story.question);
    println!("  POST http://{rest}{}", story.path);
    println!("  {}", shortened(story.body));
    let answer = post(rest, story.path, story.body)?;
    println!("  -> {}", shortened(&answer));
    let value = serde_json::from_str(&answer).map_err(Failure::failed)?;
    let lines = (story.explain)(&value);
    let lines = lines.ok_or_else(|| Failure::failed(format!("an unexpected answer: {answer}")))?;
    for line in lines {
        println!("  {line}");
    }
    println!();
    Ok(())
}

/// The body of a good answer to a JSON body.
fn post(rest: SocketAddr, path: &str, body: &str) -> Result<String, Failure> {
    send(rest, "POST", path, body)
}

fn get(rest: SocketAddr, path: &str) -> Result<String, Failure> {
    send(rest, "GET", path, "")
}

/// The server's own threads answer while this one waits.
fn send(rest: SocketAddr, method: &str, path: &str, body: &str) -> Result<String, Failure> {
    let bytes = body.as_bytes();
    let length = bytes.len() as u64;
    let send = || {
        let body = (&mut &*bytes as &mut dyn std::io::Read, length);
        Target::at(rest).send_body(method, path, "application/json", body, PATIENCE)
    };
    let answer = tokio::task::block_in_place(send)?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    match answer.status {
        200 => Ok(text),
        status => Err(Failure::failed(format!("{path}: {status}: {text}"))),
    }
}

/// Long bodies are numbers after numbers: the beginning tells enough.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 150;
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}... ({} bytes)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}

fn invitation(rest: SocketAddr, grpc: SocketAddr) -> String {
    format!(
        "Now it is your turn. The server keeps running (gRPC on {grpc}); Ctrl-C stops it.\n\n  \
         curl -G http://{rest}/search/ --data-urlencode 'yql=select title from post where topic contains \"coffee\"'\n  \
         curl http://{rest}/v2/models/ranker\n  \
         curl -d '{{\"instances\": [[4.7, 320, 12, 24]]}}' http://{rest}/v1/models/ranker:predict\n  \
         curl http://{rest}/v1/models/sentiment/metadata\n  \
         curl http://{rest}/metrics\n  \
         stead sequence show vad {} --target http://{rest}\n\n\
         Your own models: stead serve my_model.onnx\n",
        voice::SEQUENCE
    )
}
