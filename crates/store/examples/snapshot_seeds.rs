//! Writes seeds of the fuzz target `snapshot`: tables of snapshots, each behind its length and followed by its pack.
//!
//!     cargo run -p stead-store --example snapshot_seeds -- fuzz/seeds/snapshot

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_expr::{Cells, Labels, Value, parse_type};
use stead_log::{SeededRng, SimIo, read_manifest};
use stead_store::{Action, DocumentType, FieldValue, Operation, Store, StoreOptions};

const SCHEMA: &str = include_str!("../../../fuzz/seeds/snapshot.sd");

/// What is put before each snapshot, and the documents that are removed then.
const SEEDS: [(&str, usize, &[usize]); 3] = [
    ("one", 1, &[]),
    ("groups", 40, &[3, 4, 39]),
    ("removed", 20, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder =
        std::env::args().nth(1).map(PathBuf::from).ok_or("usage: snapshot_seeds FOLDER")?;
    for (name, count, removed) in SEEDS {
        std::fs::write(folder.join(name), seed(count, removed)?)?;
    }
    Ok(())
}

/// A snapshot of so many documents, without those that were removed.
fn seed(count: usize, removed: &[usize]) -> Result<Vec<u8>, Box<dyn Error>> {
    let files = PackageFiles::from_texts([("schemas/shop.sd", SCHEMA)])?;
    let (application, _) = Application::read(&files, ServicesOptions::default());
    let kind = DocumentType::new(application.schema("shop").ok_or("the schema")?);
    let io = SimIo::new(1);
    let (disk, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(1)));
    let store = Store::open(disk, rng, vec![kind], StoreOptions::default())?;
    let submit = |at: usize, action: Action| {
        let document = format!("id:n:shop::{at}");
        store.submit_wait("shop", Operation { operation: 0, document, condition: None, action })
    };
    for at in 0..count {
        submit(at, Action::Put { fields: fields(at)?, create: false })?;
    }
    for at in removed {
        submit(*at, Action::Remove)?;
    }
    store.snapshot()?;
    drop(store);
    let table = read_manifest(&io, "0000000000000001.snapshot", usize::from(u16::MAX))?;
    let table = table.ok_or("no snapshot")?;
    let mut bytes = u16::try_from(table.len())?.to_le_bytes().to_vec();
    bytes.extend(table);
    bytes.extend(io.contents("0000000000000001.pack").unwrap_or_default());
    Ok(bytes)
}

/// Some documents lack a field.
fn fields(at: usize) -> Result<Vec<(usize, FieldValue)>, Box<dyn Error>> {
    let kind = parse_type("tensor<int8>(k{},x[2])")?;
    let mut labels = Labels::default();
    labels.push("a");
    labels.push(&format!("b{at}"));
    let mixed = Value::new(
        kind.clone(),
        labels,
        Cells::from_numbers(kind.cell(), &[1.0, -2.0, 3.0, at as f64]),
    )?;
    let all = [
        (0, FieldValue::Integer(at as i64 * 1000)),
        (
            1,
            FieldValue::Array(vec![
                FieldValue::Text(format!("tag{}", at % 3)),
                FieldValue::Text(String::new()),
            ]),
        ),
        (2, FieldValue::Tensor(mixed)),
        (3, FieldValue::Text(format!("a text of document {at} "))),
    ];
    Ok(all.into_iter().filter(|(field, _)| at % 5 != *field + 1).collect())
}
