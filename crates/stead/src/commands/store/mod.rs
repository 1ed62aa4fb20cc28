//! `stead store`: looking after the documents that a server keeps.

mod restore;
mod verify;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::commands::deploy::of_deploy_port;
use crate::failure::Failure;
use crate::http_client::{AccessArgs, Target, segment};

/// How long a server may take to write a backup and to read it back.
const PATIENCE: Duration = Duration::from_secs(6 * 3600);

/// Verify, back up and restore the documents of a server
#[derive(Debug, clap::Args)]
#[command(
    after_help = "DIR is the folder that `stead serve --data DIR` has, or a backup of it.\n\n\
    Examples:\n  stead store verify /var/lib/stead\n  stead store backup monday --target http://127.0.0.1:19071\n  \
    stead store restore /var/lib/stead/backups/monday /var/lib/stead-new\n  stead store snapshot"
)]
pub struct StoreArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Read every byte of what is kept, and tell what is damaged
    #[command(
        after_help = "No server may have the folder open; nothing is changed. The exit code is 0 if everything is as it was written, \
        1 if anything is damaged or missing.\n\nExample:\n  stead store verify /var/lib/stead --json"
    )]
    Verify {
        /// The folder of a server, or a backup.
        folder: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Have a server write a backup, while it goes on
    #[command(
        after_help = "The backup is the folder backups/NAME below the folder of the server: the application and all documents as of \
        one moment. The server reads it back before it answers.\n\nExample:\n  stead store backup monday"
    )]
    Backup {
        /// The name of the backup.
        name: String,
        #[command(flatten)]
        server: ServerArgs,
    },
    /// Copy a backup to a new folder for a server
    #[command(after_help = "The backup is verified first; what is damaged is not restored.\n\n\
        Example:\n  stead store restore /var/lib/stead/backups/monday /var/lib/stead-new\n  stead serve --data /var/lib/stead-new")]
    Restore {
        /// The backup.
        backup: PathBuf,
        /// The new folder, which is empty or not there.
        folder: PathBuf,
    },
    /// Have a server write a snapshot, so that its next start is quick
    #[command(after_help = "Example:\n  stead store snapshot --json")]
    Snapshot {
        #[command(flatten)]
        server: ServerArgs,
    },
}

#[derive(Debug, clap::Args)]
struct ServerArgs {
    /// The deploy port of the server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:19071")]
    target: Target,
    #[command(flatten)]
    access: AccessArgs,
    /// Print the server's JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command. False if something is damaged.
pub fn run(args: &StoreArgs) -> Result<bool, Failure> {
    match &args.verb {
        Verb::Verify { folder, json } => verify::run(folder, *json),
        Verb::Restore { backup, folder } => restore::run(backup, folder).map(|()| true),
        Verb::Backup { name, server } => {
            let told = server.ask(&format!("/stead/v1/backup/{}", segment(name)))?;
            if let Some(told) = told {
                let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
                let documents = told["documents"].as_object().into_iter().flatten();
                let count: u64 = documents.filter_map(|(_, count)| count.as_u64()).sum();
                println!("backup {} of {count} documents in {}", text("name"), text("folder"));
            }
            Ok(true)
        }
        Verb::Snapshot { server } => {
            if let Some(told) = server.ask("/stead/v1/snapshot")? {
                println!("snapshot at position {}", told["position"]);
            }
            Ok(true)
        }
    }
}

impl ServerArgs {
    /// What the server answers, unless it is printed.
    fn ask(&self, path: &str) -> Result<Option<Value>, Failure> {
        let none = (&mut std::io::empty() as &mut dyn std::io::Read, 0);
        let target = self.access.reach(&self.target)?;
        let answer = target.send_body("POST", path, "application/json", none, PATIENCE);
        let answer = answer.map_err(of_deploy_port)?;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        let json: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if answer.status != 200 {
            return Err(Failure::failed(json["message"].as_str().unwrap_or(&text)));
        }
        if self.json {
            println!("{}", text.trim_end());
            return Ok(None);
        }
        Ok(Some(json))
    }
}

/// The documents below the folder of a server; the folder itself if it is that of documents.
fn documents(folder: &Path) -> PathBuf {
    let below = folder.join("documents");
    if below.is_dir() { below } else { folder.to_owned() }
}
