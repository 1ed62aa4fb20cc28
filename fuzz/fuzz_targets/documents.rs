//! Bytes as documents of a schema, whole and in pieces, behind the scripts of its fields, and as a query.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_search::RankQuery;
use stead_store::{DocumentType, Documents, NoEmbedder, Operation, ScriptContext, Scripts};

const SCHEMA: &str = "schema doc {
  document doc {
    struct pair { field a type string {} field b type float {} }
    field n type int { indexing: attribute }
    field d type double { indexing: attribute }
    field f type bool { indexing: attribute }
    field t type string { indexing: attribute }
    field p type position { indexing: attribute }
    field r type raw { indexing: attribute }
    field l type array<long> { indexing: attribute }
    field w type weightedset<string> { indexing: attribute }
    field m type map<string,int> { indexing: summary struct-field key { indexing: attribute } }
    field s type array<pair> { indexing: summary struct-field b { indexing: attribute } }
    field x type tensor<float>(x[2]) { indexing: attribute }
    field k type tensor<int8>(k{},x[2]) { indexing: attribute }
  }
  field sum type int { indexing: (input n + 1) * 3 % 7 | attribute }
  field quotient type double { indexing: input d / 3 - input n | attribute }
  field text type string { indexing: (input t || \"none\") . \" \" . input f | normalize | substring 1 9 | attribute }
  field words type array<string> { indexing: input t | split \"[, ]+\" | for_each { trim | lowercase } | attribute }
  field when type long { indexing: input t | to_epoch_second | attribute }
  field curve type long { indexing: input p | zcurve | attribute }
  field keys type array<string> { indexing: input m | for_each { get_field $key } | attribute }
  field names type array<string> { indexing: input s | for_each { get_field a } | attribute }
  field bits type tensor<int8>(k{},x[1]) { indexing: input k | binarize 3 | pack_bits | attribute }
}";

fuzz_target!(|data: &[u8]| {
    let files = PackageFiles::from_texts([("schemas/doc.sd", SCHEMA)]).expect("a path within the package");
    let (application, _) = Application::read(&files, ServicesOptions::default());
    let kind = DocumentType::new(application.schema("doc").expect("the schema"));
    // In small pieces too: where a piece ends must not show.
    let whole = Documents::read(kind.clone(), data, &mut |_| {});
    let pieces = Documents::read(kind.clone(), std::io::BufReader::with_capacity(3, data), &mut |_| {});
    match (whole, pieces) {
        (Ok(whole), Ok(pieces)) => {
            assert_eq!(whole.view().len(), pieces.view().len());
            for attribute in whole.view().kind().attributes() {
                assert_eq!(whole.given(&attribute.name), pieces.given(&attribute.name));
            }
        }
        (whole, pieces) => assert_eq!(whole.err(), pieces.err()),
    }
    let _operation = Operation::read(&kind, data);
    let schema = application.schema("doc").expect("the schema");
    let kind = DocumentType::new(schema);
    let scripts = Scripts::new(schema, &kind);
    let cx = ScriptContext { now: 0, seed: 1, embedder: &NoEmbedder };
    let _filled = Documents::read_with(kind, data, (&scripts, &cx), &mut |_| {});
    if let Ok(json) = serde_json::from_slice(data) {
        let _query = RankQuery::from_json(&json);
    }
});
