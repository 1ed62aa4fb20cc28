//! `stead.toml`: stead's own options beside a model.

use crate::{ConfigError, ModelSettings, json, options};

/// Reads the text of a `stead.toml`: the options of [`OPTIONS`](crate::OPTIONS) at the top level.
///
/// # Errors
/// [`ConfigError`]: not TOML, an unknown key, a value out of range.
pub fn parse_stead_toml(text: &str) -> Result<ModelSettings, ConfigError> {
    let mut settings = ModelSettings::default();
    options::apply(&json::parse_toml(text)?, "", &mut settings)?;
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_in_toml() {
        let s = parse_stead_toml("max_batch_size = 8\nthreads = 2\n[default_inputs]\nsr = 16000\n");
        let s = s.unwrap();
        assert_eq!((s.max_batch_size, s.threads), (Some(8), Some(2)));
        assert_eq!(s.default_inputs["sr"].dims, Vec::<usize>::new());
        let cases = [
            ("max_batch_sise = 8", "unknown key /max_batch_sise; known here: max_batch_size, "),
            ("max_batch_size = -1", "/max_batch_size must be an integer from 0 to "),
            ("max_batch_size = ", "the file is not valid TOML - "),
            ("a = [[[", "the file is not valid TOML - "),
        ];
        for (text, start) in cases {
            let error = parse_stead_toml(text).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}");
        }
    }
}
