//! Bytes as the archive of an application package: listed within its limits, what it holds read as a package.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_app::application::Application;
use stead_app::package::{MAX_DIAGNOSTICS, PackageFiles};
use stead_app::services::ServicesOptions;

fuzz_target!(|data: &[u8]| {
    let Ok(files) = PackageFiles::from_archive(data) else { return };
    let paths: Vec<String> = files.paths().map(str::to_owned).collect();
    for path in &paths {
        let parts: Vec<&str> = path.split('/').collect();
        assert!(!path.starts_with('/') && !parts.contains(&".."), "{path:?} leads out");
        let size = files.size(path).expect("a file that is listed has a size");
        match files.read(path, size) {
            Ok(bytes) => assert_eq!(bytes.len() as u64, size, "{path:?}"),
            Err(error) => panic!("{path:?}: {error}"),
        }
    }
    // Schemas have a fuzzer of their own, and sizes in them make work that is not bounded by its seconds.
    if paths.iter().any(|path| path.starts_with("schemas/")) {
        return;
    }
    let (_, report) = Application::read(&files, ServicesOptions::default());
    assert!(report.diagnostics().len() <= MAX_DIAGNOSTICS);
});
