//! Schemas whose elements are as they should be and do not fit together.

#![allow(clippy::unwrap_used)]

use stead_app::application::Application;
use stead_app::application::rank::NoModels;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;

use crate::common::{check, schemas};

#[test]
fn schemas_tell_all_that_does_not_fit() {
    for (name, text) in schemas("meaning") {
        let services = "<services version='1.0'><container id='c'/></services>";
        let path = format!("schemas/{name}");
        let files = PackageFiles::from_texts([
            ("services.xml", services),
            (&path, &text),
            ("constants/x.json", "{}"),
        ]);
        let (application, mut report) =
            Application::read(&files.unwrap(), ServicesOptions::default());
        let _compiled = application.compile(&NoModels, &mut report);
        check("meaning", &name, &text, &report);
        assert_eq!(report.has_errors(), name != "good.sd", "{name}");
    }
}

#[test]
fn short_texts_do_not_become_gigabytes() {
    let functions: String =
        (0..5_000).map(|n| format!("function f{n}() {{ expression: 1 }}\n")).collect();
    let profiles: String =
        (0..5_000).map(|n| format!("rank-profile p{n} inherits base {{}}\n")).collect();
    let schema =
        format!("schema s {{ document s {{ }} rank-profile base {{ {functions} }} {profiles} }}");
    let files = PackageFiles::from_texts([("schemas/s.sd", schema.as_str())]);
    let (_, report) = Application::read(&files.unwrap(), ServicesOptions::default());
    let errors: Vec<String> = report.errors().map(|e| e.text.clone()).collect();
    let expected = "rank profiles together inherit more than 100000 elements";
    assert!(errors.iter().any(|e| e == expected), "{errors:.3?}");
}
