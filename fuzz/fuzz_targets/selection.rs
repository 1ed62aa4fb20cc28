//! Texts as selections of documents, and what those that are one say of a document.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_store::{DocumentType, FieldValue, Selected, Selection};

const SCHEMA: &str = "schema m {
  document m {
    field y type int { indexing: attribute }
    field t type string { indexing: attribute }
    field a type array<string> { indexing: attribute }
    field s type map<string,int> { indexing: summary }
  }
}";

fuzz_target!(|text: &str| {
    let Ok(selection) = Selection::parse(text) else { return };
    let files = PackageFiles::from_texts([("schemas/m.sd", SCHEMA)]).expect("a path within the package");
    let (application, _) = Application::read(&files, ServicesOptions::default());
    let kind = DocumentType::new(application.schema("m").expect("the schema"));
    let text = |text: &str| FieldValue::Text(text.to_owned());
    let fields = [
        (0, FieldValue::Integer(7)),
        (1, text("abc")),
        (2, FieldValue::Array(vec![text("x"), text("y")])),
        (3, FieldValue::Map(vec![(text("k"), FieldValue::Integer(1))])),
    ];
    let document = Selected { kind: &kind, id: "id:n:m:n=1:u", fields: &fields, now: 1_700_000_000 };
    // Whatever it says, it says it again.
    assert_eq!(selection.selects(&document), selection.selects(&document));
});
