//! Packages with one type of documents.

use super::{Server, package};

/// A package with a cluster `c` of one type.
pub struct App {
    kind: &'static str,
    pub services: String,
    pub schema: String,
}

impl App {
    /// Of a type by its name, with the text of its schema.
    pub fn new(kind: &'static str, schema: impl Into<String>) -> App {
        let services = format!(
            r#"<services version="1.0"><container id="front" version="1.0"><search/><document-api/></container>
  <content id="c" version="1.0"><documents><document type="{kind}" mode="index"/></documents></content></services>"#
        );
        App { kind, services, schema: schema.into() }
    }

    /// Documents `music` with a title, a year and a taste, and what else a test wants.
    pub fn music(fields: &str, profiles: &str) -> App {
        let schema = format!(
            "schema music {{
  document music {{
    field title type string {{ indexing: summary | attribute }}
    field year type int {{ indexing: summary | attribute }}
    field taste type tensor<float>(x[2]) {{ indexing: summary | attribute }}
    {fields}
  }}
  {profiles}
}}"
        );
        App::new("music", schema)
    }

    /// The package in a folder.
    pub fn folder(&self) -> tempfile::TempDir {
        let schema = format!("schemas/{}.sd", self.kind);
        package(&[("services.xml", &self.services), (&schema, &self.schema)])
    }

    /// Deploys it on a server.
    pub fn deploy(&self, server: &Server) {
        server.deploy(self.folder().path());
    }
}
