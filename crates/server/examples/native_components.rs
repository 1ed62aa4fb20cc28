//! A server with components of its own in Rust, beside those that are built in: `cargo run -p stead-server --example native_components`.
#![allow(clippy::print_stdout)] // an example speaks on stdout

use std::net::SocketAddr;

use stead_app::package::{PackageError, PackageFiles};
use stead_node::native::{
    Call, DocumentOperation, DocumentProcessor, Execution, HandlerAnswer, HandlerRequest,
    NativeError, Query, RequestHandler, Searcher,
};
use stead_search::result::SearchResult;
use stead_server::{Server, ServerHandle};
use stead_store::FieldValue;

const SERVICES: &str = r#"<services version="1.0">
  <container id="front" version="1.0">
    <document-api/>
    <handler id="measure" native="measure"><binding>http://*/measure/{text}</binding></handler>
    <document-processing>
      <chain id="default">
        <documentprocessor id="length" native="length"/>
        <documentprocessor id="shown" type="copy" after="length">
          <fields><item key="title">shown</item></fields>
        </documentprocessor>
      </chain>
    </document-processing>
    <search>
      <chain id="default">
        <searcher id="mark" native="mark" before="deduplicate"><config name="mark"><text>!</text></config></searcher>
        <searcher id="deduplicate" type="deduplicate"><fields>title</fields></searcher>
      </chain>
    </search>
  </container>
  <content id="music" version="1.0"><documents><document type="music" mode="index"/></documents></content>
</services>"#;

const SCHEMA: &str = "schema music {
  document music {
    field title type string { indexing: summary | attribute }
    field shown type string { indexing: summary }
    field length type int { indexing: summary | attribute }
  }
}";

/// Writes a text behind the titles of what was found.
struct Mark(String);

impl Searcher for Mark {
    fn search(&self, query: Query, execution: &Execution<'_>) -> Result<SearchResult, NativeError> {
        if query.values.get("user") == Some("nobody") {
            return Err(NativeError::Invalid("nobody may search".to_owned()));
        }
        let mut result = execution.search(query)?;
        for hit in &mut result.hits {
            let title =
                hit.get("title").map(|title| String::from_utf8_lossy(&title.json()).into_owned());
            hit.set("mark", title.unwrap_or_default() + &self.0);
        }
        Ok(result)
    }
}

/// Writes how long titles are.
struct Length;

impl DocumentProcessor for Length {
    fn process(
        &self,
        mut operation: DocumentOperation,
        _: &Call,
    ) -> Result<Vec<DocumentOperation>, NativeError> {
        if let Some(FieldValue::Text(title)) = operation.get("title") {
            let length = i64::try_from(title.len()).unwrap_or(i64::MAX);
            operation.set("length", Some(FieldValue::Integer(length)))?;
        }
        Ok(vec![operation])
    }
}

/// Says how long a text is.
struct Measure;

impl RequestHandler for Measure {
    fn handle(&self, request: HandlerRequest, _: &Call) -> Result<HandlerAnswer, NativeError> {
        let text = request.parameter("text").unwrap_or_default();
        if text.trim().is_empty() {
            return Err(NativeError::Invalid("the text is empty".to_owned()));
        }
        Ok(HandlerAnswer::json(200, format!("{{\"length\": {}}}", text.chars().count())))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = start("127.0.0.1:8080".parse()?).await?;
    println!(
        "http://{}/search/",
        server.http_addresses().first().map_or_else(String::new, ToString::to_string)
    );
    std::future::pending().await
}

/// The application.
pub fn package() -> Result<PackageFiles, PackageError> {
    PackageFiles::from_texts([("services.xml", SERVICES), ("schemas/music.sd", SCHEMA)])
}

/// Starts the server.
pub async fn start(http: SocketAddr) -> Result<ServerHandle, Box<dyn std::error::Error>> {
    let server = Server::builder()
        .package(package()?)
        .http(http)
        .searcher("mark", |creating| {
            let text = creating.text("text").ok_or("it needs the setting text")?;
            Ok(Box::new(Mark(text.to_owned())))
        })
        .document_processor("length", |_| Ok(Box::new(Length)))
        .handler("measure", |_| Ok(Box::new(Measure)));
    Ok(server.start().await?)
}
