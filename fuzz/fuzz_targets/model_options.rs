//! Text as a `stead.toml` and as a `config.json`: read or refused with its place. What was read says the same after settings of nothing
//! were laid over it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_app::{ModelSettings, ServerConfig, parse_stead_toml};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(settings) = parse_stead_toml(text) {
        assert_eq!(ModelSettings::default().over(&settings), settings, "nothing changes nothing");
        assert_eq!(settings.clone().over(&settings), settings, "nor does the same");
        if let Some(precision) = settings.precision {
            assert_eq!(precision.to_string().parse(), Ok(precision));
        }
    }
    if let Ok(config) = ServerConfig::parse(bytes) {
        for entry in &config.models {
            // A model may be wrong and the others served.
            let _ = entry.settings.as_ref().map(ModelSettings::contradiction);
        }
    }
});
