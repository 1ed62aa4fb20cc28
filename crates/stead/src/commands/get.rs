//! `stead get`: documents of a server by their ids.

use serde_json::Value;

use super::feed::document_path;
use crate::failure::Failure;
use crate::http_client::{AccessArgs, Target, segment};

/// Get documents by their ids from a server
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Prints a line of JSON for each document that is there: {\"id\", \"fields\"}. The exit code is 1 if one is not.\n\n\
    Examples:\n  stead get id:ns:music::1\n  stead get id:ns:music::1 id:ns:music::2 --field-set music:title,year\n  \
    stead get id:ns:music::1 --target http://10.0.0.5:8080"
)]
pub struct GetArgs {
    /// The ids of the documents.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// The query port of the server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    target: Target,
    #[command(flatten)]
    access: AccessArgs,
    /// The fields: [document], [all], [id] or type:field,field.
    #[arg(long, value_name = "SET")]
    field_set: Option<String>,
}

/// Runs the command. False if a document is not there.
pub fn run(args: &GetArgs) -> Result<bool, Failure> {
    let target = args.access.reach(&args.target)?;
    let mut all = true;
    for id in &args.ids {
        let mut path = document_path(id).ok_or_else(|| {
            Failure::usage(format!("expected an id id:namespace:type::name, found {id:?}"))
        })?;
        if let Some(set) = &args.field_set {
            path += &format!("?fieldSet={}", segment(set));
        }
        let answer = target.send("GET", &path, &[])?;
        let mut json: Value = serde_json::from_slice(&answer.body).map_err(|e| {
            Failure::failed(format!("what {} answered is no JSON: {e}", args.target))
        })?;
        match answer.status {
            200 => {
                if let Some(members) = json.as_object_mut() {
                    members.remove("pathId");
                }
                println!("{json}");
            }
            404 if json["message"].is_null() => {
                eprintln!("{id}: there is no such document");
                all = false;
            }
            status => {
                let text = json["message"].as_str().unwrap_or_default();
                return Err(Failure::failed(format!("{id}: {status}: {text}")));
            }
        }
    }
    Ok(all)
}
