//! Text as groupings: read, written, read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_search::grouping::syntax::parse;

fuzz_target!(|text: &str| match parse(text) {
    Ok(operations) => {
        for operation in operations {
            let written = operation.to_string();
            // What aliases stand for is written out, which may be more than is read.
            if let Ok(again) = parse(&written) {
                assert_eq!(again.first().map(ToString::to_string), Some(written));
            }
        }
    }
    Err(error) => assert!(error.line > 0 && error.column > 0),
});
