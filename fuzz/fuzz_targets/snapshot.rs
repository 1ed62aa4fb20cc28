//! Bytes as the table of a snapshot and the pack that it names: refused, or opened, fed, and opened again with the same documents.
//!
//! The first two bytes are the length of the table, without what a manifest has around it; what follows the table is the pack.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_log::{SeededRng, SimIo, write_manifest};
use stead_store::{DocumentType, Store, StoreOptions, verify};

/// The seeds have documents of it (`--example snapshot_seeds` of stead-store).
const SCHEMA: &str = include_str!("../seeds/snapshot.sd");

static KIND: LazyLock<DocumentType> = LazyLock::new(|| {
    let files = PackageFiles::from_texts([("schemas/shop.sd", SCHEMA)]).expect("a package");
    let (application, _) = Application::read(&files, ServicesOptions::default());
    DocumentType::new(application.schema("shop").expect("the schema"))
});

fuzz_target!(|bytes: &[u8]| {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (table, pack) = rest.split_at(length);
    let io = SimIo::new(1);
    write_manifest(&io, "0000000000000001.snapshot", table).expect("a disk in memory");
    io.set_contents("0000000000000001.pack", pack);
    let verified = verify(&io, &mut |_| {}).expect("nobody has it");
    let Ok(store) = open(&io) else { return };
    let view = store.reader("shop").expect("the type").view();
    let ids = |view: &stead_store::View| {
        let all = view.lids().filter_map(|lid| Some((lid, view.id(lid)?.to_owned())));
        all.collect::<Vec<_>>()
    };
    let (before, all) = (ids(&view), view.lids().count());
    assert_eq!(before.len(), all);
    let is_whole = view.lids().all(|lid| view.read(lid, |_| true).is_ok());
    assert!(is_whole || verified.problems().next().is_some());
    drop(store);
    let store = open(&io).expect("what was opened once is opened again");
    assert_eq!(ids(&store.reader("shop").expect("the type").view()), before);
});

fn open(io: &SimIo) -> Result<Store, stead_store::StoreError> {
    let (io, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(1)));
    Store::open(io, rng, vec![KIND.clone()], StoreOptions::default())
}
