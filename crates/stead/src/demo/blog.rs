//! The part of the demo in which models are evaluated where documents are stored: posts of a blog for its readers.

use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, mpsc};

use serde_json::{Value, json};
use stead_node::{Deployments, WhenBusy};
use stead_store::{Operation, View};

use super::{post, shortened};
use crate::commands::deploy;
use crate::failure::Failure;

/// The package of `examples/blog-recommendation`.
const PACKAGE: [(&str, &[u8]); 4] = [
    ("services.xml", include_bytes!("../../../../examples/blog-recommendation/app/services.xml")),
    (
        "schemas/post.sd",
        include_bytes!("../../../../examples/blog-recommendation/app/schemas/post.sd"),
    ),
    (
        "schemas/user.sd",
        include_bytes!("../../../../examples/blog-recommendation/app/schemas/user.sd"),
    ),
    (
        "models/recommend.onnx",
        include_bytes!("../../../../examples/blog-recommendation/app/models/recommend.onnx"),
    ),
];

/// Its readers and posts.
const DOCUMENTS: &[u8] = include_bytes!("../../../../examples/blog-recommendation/posts.jsonl.gz");

/// Whom posts are recommended to.
const READER: &str = "id:blog:user::0";

/// Posts of each kind that are shown.
const SHOWN: usize = 3;

/// The package below a folder, deployed there and fed.
pub fn deploy(folder: &Path) -> Result<Arc<Deployments>, Failure> {
    let app = folder.join("blog");
    for (path, bytes) in PACKAGE {
        let path = app.join(path);
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(Failure::failed)?;
        std::fs::write(path, bytes).map_err(Failure::failed)?;
    }
    let deployments = Deployments::open(&folder.join("data")).map_err(Failure::failed)?;
    let mut package = Vec::new();
    deploy::pack(&app)?.read_to_end(&mut package).map_err(Failure::failed)?;
    let mut upload = deployments.upload().map_err(Failure::failed)?;
    upload.write(&package).map_err(Failure::failed)?;
    let session = deployments.create(upload).map_err(Failure::failed)?;
    deployments.prepare(session).map_err(Failure::failed)?;
    let active = deployments.activate(session).map_err(Failure::failed)?;

    let mut lines = String::new();
    let mut unpacked = flate2::read::GzDecoder::new(DOCUMENTS);
    unpacked.read_to_string(&mut lines).map_err(Failure::failed)?;
    let views = [active.view("user"), active.view("post")];
    let (sender, receiver) = mpsc::channel();
    let mut count = 0;
    for line in lines.lines() {
        let is_of = |view: &&View| line.contains(&format!(":{}::", view.kind().name()));
        let kind = views.iter().flatten().find(is_of).map(View::kind);
        let kind = kind.ok_or_else(|| Failure::failed("a document of no type"))?;
        let operation = Operation::read(kind, line.as_bytes()).map_err(Failure::failed)?;
        let sender = sender.clone();
        let done = move |outcome: Result<_, _>| drop(sender.send(outcome.map(|_| ())));
        let submitted = deployments.submit(kind.name(), operation, WhenBusy::Refuse, done);
        submitted.map_err(Failure::failed)?;
        count += 1;
    }
    for outcome in receiver.iter().take(count) {
        outcome.map_err(Failure::failed)?;
    }
    Ok(deployments)
}

/// Asks for the posts of a reader: by direction alone, and as the network orders the best of these.
pub fn recommend(rest: SocketAddr) -> Result<(), Failure> {
    println!(
        "1. Which posts of a blog should a reader see?\n   1,020 documents are stored here: posts and readers, each with a \
         vector of 128 numbers. The query names a reader;\n   every post is scored by a dot product, and a network of 197,000 \
         weights orders the best 200 where they are stored."
    );
    let likes = format!("/document/v1/blog/user/docid/{}", READER.rsplit(':').next().unwrap_or(""));
    let reader = super::get(rest, &likes)?;
    let reader: Value = serde_json::from_str(&reader).map_err(Failure::failed)?;
    for (profile, how) in [("nearest", "by the dot product"), ("recommend", "by the network too")] {
        let body = json!({
            "yql": "select title, topic from post where true",
            "ranking": profile,
            "hits": SHOWN,
            "input.query(user_profile)": format!("document({READER}).embedding"),
        });
        let body = body.to_string();
        println!("  POST http://{rest}/search/\n  {body}");
        let answer = post(rest, "/search/", &body)?;
        println!("  -> {}", shortened(&answer));
        let value: Value = serde_json::from_str(&answer).map_err(Failure::failed)?;
        let lines = hits(&value).filter(|lines| lines.len() == SHOWN);
        let unexpected = || Failure::failed(format!("an unexpected answer: {answer}"));
        println!("  {how}, for one who likes {}:", texts(&reader["fields"]["likes"]).join(", "));
        lines.ok_or_else(unexpected)?.iter().for_each(|line| println!("    {line}"));
    }
    println!();
    Ok(())
}

/// The hits of an answer, for people; `None` if it does not have the expected form.
fn hits(answer: &Value) -> Option<Vec<String>> {
    let line = |hit: &Value| {
        let (score, fields) = (hit["relevance"].as_f64()?, &hit["fields"]);
        let (title, topic) = (fields["title"].as_str()?, fields["topic"].as_str()?);
        Some(format!("{score:.3}  {title} ({topic})"))
    };
    answer["root"]["children"].as_array()?.iter().map(line).collect()
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_explained_and_surprises_noticed() {
        let hit =
            json!({"relevance": 0.91, "fields": {"title": "Inside film", "topic": "photography"}});
        let answer = json!({"root": {"children": [hit]}});
        assert_eq!(hits(&answer), Some(vec!["0.910  Inside film (photography)".to_owned()]));
        assert_eq!(hits(&json!({"root": {"errors": []}})), None);
    }

    #[test]
    fn the_documents_are_those_of_the_example() {
        let mut lines = String::new();
        flate2::read::GzDecoder::new(DOCUMENTS).read_to_string(&mut lines).unwrap();
        assert_eq!(lines.lines().count(), 1020);
        assert!(lines.contains(READER));
    }
}
