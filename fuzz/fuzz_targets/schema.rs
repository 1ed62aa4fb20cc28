//! Text as a schema: read, resolved and compiled, whatever it is; and what it says is said within the limits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_app::application::Application;
use stead_app::application::rank::NoModels;
use stead_app::package::{MAX_DIAGNOSTICS, PackageFiles};
use stead_app::services::ServicesOptions;

fuzz_target!(|text: &str| {
    // Sizes in the text make work that is bounded, but not by the seconds of a fuzzer.
    let has_large_size = text.as_bytes().windows(4).any(|w| w.iter().all(u8::is_ascii_digit));
    if has_large_size {
        return;
    }
    let files = PackageFiles::from_texts([
        ("schemas/s.sd", text),
        ("schemas/t.sd", "schema t { document t inherits s { } rank-profile p inherits default { } }"),
        ("schemas/s/p.profile", text),
    ])
    .expect("paths within the package");
    let (application, mut report) = Application::read(&files, ServicesOptions::default());
    let _compiled = application.compile(&NoModels, &mut report);
    assert!(report.diagnostics().len() <= MAX_DIAGNOSTICS);
    for diagnostic in report.diagnostics() {
        assert!(diagnostic.place.line as usize <= text.matches('\n').count() + 1);
    }
});
