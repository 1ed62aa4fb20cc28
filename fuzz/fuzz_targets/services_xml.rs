//! Text as the XML files of a package.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_app::application::Application;
use stead_app::package::{MAX_DIAGNOSTICS, PackageFiles};
use stead_app::services::ServicesOptions;

fuzz_target!(|text: &str| {
    let files = PackageFiles::from_texts([
        ("services.xml", text),
        ("hosts.xml", text),
        ("validation-overrides.xml", text),
        ("search/query-profiles/default.xml", text),
        ("search/query-profiles/types/root.xml", text),
    ])
    .expect("paths within the package");
    let (_, report) = Application::read(&files, ServicesOptions { ignore_components: true });
    assert!(report.diagnostics().len() <= MAX_DIAGNOSTICS);
});
