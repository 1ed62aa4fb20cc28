//! Text as a query in YQL: read; what stands in it is found.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_search::yql::parse;

fuzz_target!(|text: &str| match parse(text) {
    Ok(statement) => {
        let _neighbors = statement.neighbors();
        for grouping in &statement.groupings {
            assert!(text[grouping.at..].starts_with(&grouping.text));
        }
    }
    Err(error) => assert!(error.line > 0 && error.column > 0),
});
