//! A line that a client shows, one with a JSON Web Key Set, and behind them a file of tokens. Nobody is known by a text that is no token of
//! the file and that no key of the set has signed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_server::{AuthOptions, Credentials};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut parts = text.splitn(3, '\n');
    let mut part = || parts.next().filter(|part| !part.is_empty());
    let (shown, jwks, tokens) = (part().unwrap_or_default(), part(), part());
    let expected = AuthOptions { issuer: Some("i".into()), ..AuthOptions::default() };
    for options in [AuthOptions::default(), expected] {
        for (tokens, jwks) in [(tokens, jwks), (None, jwks), (tokens, None)] {
            let Ok(known) = Credentials::of_texts(options.clone(), tokens, jwks) else { continue };
            let name = known.name(shown, 0);
            if jwks.is_none() && name.is_some() {
                let has_it = tokens.is_some_and(|t| t.contains("sha256") || t.contains("token"));
                assert!(has_it, "known without a file that has tokens");
            }
            assert_eq!(known.name("", 0), None, "nobody shows nothing");
        }
    }
});
