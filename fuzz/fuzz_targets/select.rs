//! Text as a query and as groupings in JSON: read, what stands in it is found.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_search::grouping::syntax::parse;
use stead_search::select::{fields, groupings, read};

fuzz_target!(|text: &str| {
    match read(text) {
        Ok(statement) => drop(statement.neighbors()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    for grouping in groupings(text).unwrap_or_default() {
        let _known = parse(&grouping);
    }
    let _names = fields(text);
});
