//! `stead sequence`: looking after the sequences of a server that runs.

mod show;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use stead_node::SequenceId;
use stead_server::IdText;

use crate::failure::Failure;
use crate::http_client::{AccessArgs, Target, segment};

/// List, show, end, export, import and fork the sequences of a server
#[derive(Debug, clap::Args)]
#[command(
    after_help = "An ID of digits is a number, every other one a text; quotation marks make a text of digits: '\"5\"'.\n\n\
    Examples:\n  stead sequence list vad\n  stead sequence show vad 5 --json\n  \
    stead sequence export vad 5 call.npz\n  stead sequence import vad 6 call.npz --target http://127.0.0.1:9090\n  \
    stead sequence fork vad 5 what-if"
)]
pub struct SequenceArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Show the live sequences of a model
    #[command(after_help = "Example:\n  stead sequence list vad --limit 20")]
    List {
        #[command(flatten)]
        server: ServerArgs,
        /// The most sequences to show.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
        /// Begin behind this ID.
        #[arg(long, value_name = "ID", value_parser = id)]
        after: Option<SequenceId>,
    },
    /// Show one sequence and the tensors of its state
    #[command(after_help = "Example:\n  stead sequence show vad 5")]
    Show {
        #[command(flatten)]
        server: ServerArgs,
        /// The sequence.
        #[arg(value_parser = id)]
        id: SequenceId,
    },
    /// End a sequence; a step of it that runs has no effect
    #[command(after_help = "Example:\n  stead sequence end vad 5")]
    End {
        #[command(flatten)]
        server: ServerArgs,
        /// The sequence.
        #[arg(value_parser = id)]
        id: SequenceId,
    },
    /// Write the state of a sequence to a .npz file
    #[command(after_help = "Example:\n  stead sequence export vad 5 call.npz")]
    Export {
        #[command(flatten)]
        server: ServerArgs,
        /// The sequence.
        #[arg(value_parser = id)]
        id: SequenceId,
        /// The file, which must not be there yet.
        file: PathBuf,
    },
    /// Begin a sequence with the state in a .npz file
    #[command(after_help = "Example:\n  stead sequence import vad 6 call.npz")]
    Import {
        #[command(flatten)]
        server: ServerArgs,
        /// The new sequence.
        #[arg(value_parser = id)]
        id: SequenceId,
        /// A file that `export` wrote, or one with an array for each state.
        file: PathBuf,
    },
    /// Begin a sequence with a copy of another one's state
    #[command(after_help = "Example:\n  stead sequence fork vad 5 what-if")]
    Fork {
        #[command(flatten)]
        server: ServerArgs,
        /// The sequence that is copied; it goes on.
        #[arg(value_parser = id)]
        id: SequenceId,
        /// The new sequence.
        #[arg(value_parser = id)]
        to: SequenceId,
    },
}

#[derive(Debug, clap::Args)]
struct ServerArgs {
    /// The model.
    model: String,
    /// Where the server answers HTTP.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080", value_parser = target)]
    target: Target,
    #[command(flatten)]
    access: AccessArgs,
    /// The version; the latest one without it.
    #[arg(long, value_name = "N")]
    version: Option<u64>,
    /// Print the server's JSON.
    #[arg(long)]
    json: bool,
}

fn target(text: &str) -> Result<Target, String> {
    text.parse()
}

fn id(text: &str) -> Result<SequenceId, String> {
    IdText(text.to_owned()).read().map_err(|fault| fault.0.to_string())
}

/// Runs the command.
pub fn run(args: &SequenceArgs) -> Result<(), Failure> {
    match &args.verb {
        Verb::List { server, limit, after } => {
            let after = after.as_ref().map(|id| format!("&after={}", segment(&IdText::write(id))));
            let rest = format!("?limit={limit}{}", after.unwrap_or_default());
            let page = server.ask("GET", &rest, b"")?;
            server.tell(&page, |page| show::list(page, &server.model))
        }
        Verb::Show { server, id } => {
            let shown = server.ask("GET", &path(id, ""), b"")?;
            server.tell(&shown, show::one)
        }
        Verb::End { server, id } => {
            let ended = server.ask("DELETE", &path(id, ""), b"")?;
            server.tell(&ended, |e| show::sentence(e, "ended"))
        }
        Verb::Fork { server, id, to } => {
            let body = json!({"to": to_json(to)}).to_string();
            let made = server.ask("POST", &path(id, "/fork"), body.as_bytes())?;
            server.tell(&made, |m| show::sentence(m, "begun as a copy"))
        }
        Verb::Import { server, id, file } => {
            let unread = |e| Failure::failed(format!("{}: {e}", file.display()));
            let bytes = std::fs::read(file).map_err(unread)?;
            let made = server.ask("PUT", &path(id, "/state"), &bytes)?;
            server.tell(&made, |m| show::sentence(m, "begun"))
        }
        Verb::Export { server, id, file } => {
            let bytes = server.bytes("GET", &path(id, "/state"), b"")?;
            save(file, &bytes)?;
            let done = json!({"file": file.display().to_string(), "bytes": bytes.len()});
            server
                .tell(&done, |_| vec![format!("wrote {} ({} bytes)", file.display(), bytes.len())])
        }
    }
}

/// Writes a file that is not there yet: an export must not take the place of an earlier one by mistake.
fn save(file: &PathBuf, bytes: &[u8]) -> Result<(), Failure> {
    let unwritten = |e: std::io::Error| {
        let hint = match e.kind() {
            std::io::ErrorKind::AlreadyExists => "; give another name or remove it",
            _ => "",
        };
        Failure::failed(format!("{}: {e}{hint}", file.display()))
    };
    let mut open = File::create_new(file).map_err(unwritten)?;
    open.write_all(bytes).map_err(unwritten)
}

fn path(id: &SequenceId, rest: &str) -> String {
    format!("/{}{rest}", segment(&IdText::write(id)))
}

fn to_json(id: &SequenceId) -> Value {
    match id {
        SequenceId::Number(number) => json!(number),
        SequenceId::Text(text) => json!(&**text),
    }
}

impl ServerArgs {
    /// The body of a good answer to a request below `sequences`.
    fn bytes(&self, method: &str, rest: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
        let version = self.version.map(|v| format!("/versions/{v}")).unwrap_or_default();
        let path = format!("/v2/models/{}{version}/sequences{rest}", segment(&self.model));
        let answer = self.access.reach(&self.target)?.send(method, &path, body)?;
        if answer.status == 200 {
            return Ok(answer.body);
        }
        let text = match serde_json::from_slice::<Value>(&answer.body) {
            Ok(value) if value["error"].is_string() => {
                value["error"].as_str().unwrap_or_default().to_owned()
            }
            _ => "it does not answer as stead does".to_owned(),
        };
        let hint = match answer.status {
            404 if text.contains("odel with requested") => {
                format!("; `curl -X POST {}/v2/repository/index` shows the models", self.target)
            }
            404 => format!("; `stead sequence list {}` shows those that live", self.model),
            409 => "; end the one that lives first, or choose another id".to_owned(),
            503 => "; end others, or raise max_sequence_number".to_owned(),
            _ => String::new(),
        };
        Err(Failure::failed(format!("{} ({}): {text}{hint}", self.target, answer.status)))
    }

    fn ask(&self, method: &str, rest: &str, body: &[u8]) -> Result<Value, Failure> {
        let bytes = self.bytes(method, rest, body)?;
        let no_json = |e| Failure::failed(format!("{} gave no JSON: {e}", self.target));
        serde_json::from_slice(&bytes).map_err(no_json)
    }

    /// Prints an answer as JSON or as the lines that `lines` makes of it.
    fn tell(
        &self,
        value: &Value,
        lines: impl FnOnce(&Value) -> Vec<String>,
    ) -> Result<(), Failure> {
        if self.json {
            println!("{value}");
        } else {
            lines(value).iter().for_each(|line| println!("{line}"));
        }
        Ok(())
    }
}
