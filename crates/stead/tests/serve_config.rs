//! What `stead serve` refuses in a config file before it serves anything.

#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::process::Command;

#[test]
fn a_list_of_metrics_with_an_unknown_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    for (name, known) in [("stead_sequence_active", true), ("stead_sequence_nothing", false)] {
        let config = format!(
            r#"{{"model_config_list": [], "monitoring": {{"metrics": {{"enable": true, "metrics_list": ["{name}"]}}}}}}"#
        );
        std::fs::write(&path, config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_stead"));
        command.arg("serve").arg("--config_path").arg(&path);
        // A server that takes its config fails next, because nothing can be bound to this address.
        command.args(["--rest_port", "1", "--rest_bind_address", "192.0.2.1"]);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(if known { 1 } else { 64 }), "{text}");
        assert_eq!(text.contains("there is no metric `stead_sequence_nothing`"), !known, "{text}");
    }
}
