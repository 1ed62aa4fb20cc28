//! A text on the first line, and bytes behind it as `tokenizer.json` and `vocab.txt`: whatever is read makes ids of the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_embed::{Cut, Settings, Specials, Tokenizer};

fuzz_target!(init: {
    // Panics of the library are caught and are errors; one that nobody catches still ends the process.
    std::panic::set_hook(Box::new(|_| {}));
}, |bytes: &[u8]| {
    let Some(end) = bytes.iter().position(|b| *b == b'\n') else { return };
    let Ok(text) = std::str::from_utf8(&bytes[..end]) else { return };
    let file = &bytes[end + 1..];
    for settings in [
        Settings::default(),
        Settings { specials: Specials::OfFile, cut: Cut::OfFileOr(8) },
        Settings { specials: Specials::Around(1, 2), cut: Cut::At(8) },
    ] {
        let mut tokenizers = vec![Tokenizer::from_json(file, settings)];
        tokenizers.extend(std::str::from_utf8(file).ok().map(|words| {
            Tokenizer::from_vocabulary(words, settings)
        }));
        for tokenizer in tokenizers.into_iter().flatten() {
            if let Ok(ids) = tokenizer.encode(text) {
                assert!(settings.cut == Cut::Never || ids.len() <= 8);
                assert!(ids.iter().all(|id| *id <= tokenizer.largest_id()));
            }
        }
    }
});
