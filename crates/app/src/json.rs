//! JSON and TOML text to a tree, within limits.

use crate::ConfigError;
use serde_json::Value;

/// The largest configuration file in bytes: thousands of models fit in a megabyte.
pub(crate) const MAX_BYTES: usize = 16 << 20;

/// The deepest nesting, the limit of OpenVINO Model Server. It lies below the one built into `serde_json`.
pub(crate) const MAX_DEPTH: usize = 100;

/// Reads JSON.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, ConfigError> {
    check_size(bytes)?;
    check_depth(bytes)?;
    serde_json::from_slice(bytes)
        .map_err(|e| ConfigError::Syntax { format: "JSON", text: e.to_string() })
}

/// Reads TOML.
pub(crate) fn parse_toml(text: &str) -> Result<Value, ConfigError> {
    check_size(text.as_bytes())?;
    // TOML can nest by dots too (`a.b.c = 1`), but only as deep as its text is long; the parser has a limit of
    // its own for what it recurses into.
    check_depth(text.as_bytes())?;
    toml::from_str::<Value>(text)
        .map_err(|e| ConfigError::Syntax { format: "TOML", text: e.message().to_owned() })
}

fn check_size(bytes: &[u8]) -> Result<(), ConfigError> {
    if bytes.len() > MAX_BYTES {
        return Err(ConfigError::TooLarge { actual: bytes.len() as u64, limit: MAX_BYTES as u64 });
    }
    Ok(())
}

/// Brackets outside strings, counted before anything recurses.
fn check_depth(bytes: &[u8]) -> Result<(), ConfigError> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for b in bytes {
        match b {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(ConfigError::TooDeep { limit: MAX_DEPTH });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_texts_are_refused() {
        let deep = "[".repeat(100_000);
        assert_eq!(parse(deep.as_bytes()), Err(ConfigError::TooDeep { limit: 100 }));
        let quoted = format!("\"{}\\\"{}\"", "[".repeat(200), "{".repeat(200));
        assert!(parse(quoted.as_bytes()).is_ok());
        let dotted = format!("{}a = 1", "a.".repeat(100_000));
        assert!(parse_toml(&dotted).is_err());
        let header = format!("[{}a]", "a.".repeat(100_000));
        assert!(parse_toml(&header).is_err());
        let large = vec![b' '; MAX_BYTES + 1];
        assert!(matches!(parse(&large), Err(ConfigError::TooLarge { .. })));
        for half in ["", "{", "{\"model_config_list\": [", "{\"a\": 1}}", "\u{0}"] {
            assert!(matches!(parse(half.as_bytes()), Err(ConfigError::Syntax { .. })), "{half:?}");
        }
    }
}
