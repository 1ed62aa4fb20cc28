//! A program that stores documents and ranks them, without a server: `cargo run -p stead-node --example documents [FOLDER]`.
#![allow(clippy::print_stdout)] // an example speaks on stdout

use stead_app::package::{PackageError, PackageFiles};
use stead_node::Embedded;
use stead_search::result::render;
use stead_store::{FieldValue, Selection};

/// A container that is asked, and a content cluster of one type of documents.
pub const SERVICES: &str = r#"<services version="1.0">
  <container id="front" version="1.0"><search/></container>
  <content id="music" version="1.0"><documents><document type="music" mode="index"/></documents></content>
</services>"#;

const SCHEMA: &str = "schema music {
  document music {
    field title type string { indexing: summary | attribute }
    field taste type tensor<float>(x[2]) { indexing: attribute }
  }
  rank-profile taste {
    inputs { query(user) tensor<float>(x[2]) }
    first-phase { expression: sum(query(user) * attribute(taste)) }
  }
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let package = package()?;
    let node = match std::env::args().nth(1) {
        // What was fed before is there again.
        Some(folder) => {
            let node = Embedded::open(folder.as_ref())?;
            node.deploy(&package)?;
            node
        }
        None => Embedded::in_memory(&package)?,
    };
    println!("{}", run(&node)?);
    Ok(())
}

/// The application.
pub fn package() -> Result<PackageFiles, PackageError> {
    PackageFiles::from_texts([("services.xml", SERVICES), ("schemas/music.sd", SCHEMA)])
}

/// Feeds, reads, visits and ranks; returns the result of the search.
pub fn run(node: &Embedded) -> Result<String, Box<dyn std::error::Error>> {
    // Each is durable, and in the next search, when the call returns.
    for (name, title, taste) in [("1", "Blue", [1, 0]), ("2", "Hejira", [0, 1])] {
        let put = format!(
            r#"{{"put": "id:ns:music::{name}", "fields": {{"title": "{title}", "taste": {taste:?}}}}}"#
        );
        node.feed_json(&put)?;
    }
    node.feed_json(r#"{"update": "id:ns:music::1", "fields": {"title": {"assign": "Ladies"}}}"#)?;

    let found = node.document("id:ns:music::1")?;
    let title = FieldValue::Text("Ladies".to_owned());
    assert_eq!(found.as_ref().and_then(|document| document.field("title")), Some(&title));

    let selection = Selection::parse("music.title = \"*jira\"")?;
    node.visit("music", Some(&selection), |document| {
        println!("visited {}", document.id);
        true
    })?;

    let (result, format) = node.search_wait(&[
        ("yql", "select * from music where true"),
        ("ranking", "taste"),
        ("input.query(user)", "[0.2, 0.8]"),
    ])?;
    Ok(String::from_utf8_lossy(&render(&result, format)).into_owned())
}
