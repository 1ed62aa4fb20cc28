//! How long reading vectors on disk takes whose files the system has not in memory: all blocks one after the other, and the blocks of documents
//! that lie far apart. With columns asked for before they are read, and without, in turns; medians.
//!
//! ```text
//! cargo run --release -p stead-store --example paged_speed -- [FOLDER] [DOCUMENTS] [SIZE] [TURNS]
//! ```
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rustix::fs::{Advice, fadvise};
use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_expr::{Cells, Labels, Value, parse_type};
use stead_log::{DirLock, DiskIo, Io, IoFile, SystemRng};
use stead_store::{
    Action, AttributeView, Column, DocumentType, FieldValue, Operation, Store, StoreOptions,
};

/// How many documents far apart are read.
const SCATTERED: usize = 100;

/// A disk that nobody tells what is read soon.
struct Untold(DiskIo);

struct UntoldFile(Box<dyn IoFile>);

impl Io for Untold {
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn IoFile>> {
        Ok(Box::new(UntoldFile(self.0.open(name)?)))
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn IoFile>> {
        self.0.create(name)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
    fn sync_dir(&self) -> io::Result<()> {
        self.0.sync_dir()
    }
    fn lock(&self) -> io::Result<Box<dyn DirLock>> {
        self.0.lock()
    }
}

impl IoFile for UntoldFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, out)
    }
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes)
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.0.truncate(len)
    }
    fn sync_data(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}

fn kind(size: usize) -> DocumentType {
    let schema = format!(
        "schema row {{ document row {{ field vector type tensor<float>(x[{size}]) {{ indexing: attribute\n attribute: paged }} }} }}"
    );
    let files = PackageFiles::from_texts([("schemas/row.sd", schema.as_str())]).unwrap();
    let (application, _) = Application::read(&files, ServicesOptions::default());
    DocumentType::stored(application.schema("row").unwrap())
}

fn open(io: Arc<dyn Io>, size: usize) -> Store {
    let options = StoreOptions::default();
    Store::open(io, Arc::new(SystemRng), vec![kind(size)], options).unwrap()
}

fn feed(folder: &Path, count: usize, size: usize) {
    let store = open(Arc::new(DiskIo::new(folder).unwrap()), size);
    let kind = parse_type(&format!("tensor<float>(x[{size}])")).unwrap();
    for at in 0..count {
        let cells: Vec<f32> = (0..size).map(|cell| (at * 31 + cell * 7) as f32).collect();
        let cells = Cells::Float(cells.into());
        let value = Value::new(kind.clone(), Labels::default(), cells).unwrap();
        let action = Action::Put { fields: vec![(0, FieldValue::Tensor(value))], create: false };
        let document = format!("id:row:row::{at}");
        let operation = Operation { operation: 0, document, condition: None, action };
        store.feed("row", operation, |outcome| assert!(outcome.is_ok())).unwrap();
    }
    while store.operations_in_flight() > 0 {
        std::thread::yield_now();
    }
    store.snapshot().unwrap();
}

/// Takes the files out of the memory of the system.
fn forget(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let file = File::open(entry.unwrap().path()).unwrap();
        if file.metadata().unwrap().is_file() {
            file.sync_all().unwrap();
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        }
    }
}

fn sum(found: Option<(&Column, usize)>) -> f64 {
    let Some((Column::Tensors(tensors), row)) = found else { panic!("a tensor") };
    tensors.value(row).unwrap().cells().doubles().iter().sum()
}

fn all(vectors: AttributeView<'_>) -> f64 {
    let mut values = vectors.cursor();
    vectors.view().lids().map(|lid| sum(values.at(lid).unwrap())).sum()
}

fn scattered(vectors: AttributeView<'_>) -> f64 {
    let count = vectors.view().len();
    // A step that has nothing in common with the number of documents.
    let documents: Vec<u32> = (0..SCATTERED).map(|at| (at * 7_368_787 % count) as u32).collect();
    let mut values = vectors.cursor_over(documents.iter().copied());
    documents.iter().map(|lid| sum(values.at(*lid).unwrap())).sum()
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual| args.get(at).map_or(usual, |text| text.parse().unwrap());
    let (count, size, turns) = (number(1, 50_000), number(2, 384), number(3, 9));
    let temporary = tempfile::tempdir().unwrap();
    let folder = args.first().map_or_else(|| temporary.path().to_path_buf(), PathBuf::from);
    feed(&folder, count, size);
    for (label, read) in [("all", all as fn(AttributeView<'_>) -> f64), ("scattered", scattered)] {
        let mut times = [Vec::new(), Vec::new()];
        for turn in 0..2 * turns {
            let io = DiskIo::new(&folder).unwrap();
            let side = (turn / 2 + turn) % 2;
            let io: Arc<dyn Io> = if side == 0 { Arc::new(io) } else { Arc::new(Untold(io)) };
            let store = open(io, size);
            let view = store.reader("row").unwrap().view();
            forget(&folder);
            let began = Instant::now();
            std::hint::black_box(read(view.attribute("vector").unwrap()));
            times[side].push(began.elapsed().as_secs_f64() * 1e3);
        }
        let ratio =
            median(times[1].iter().zip(&times[0]).map(|(untold, told)| untold / told).collect());
        let [told, untold] = times.map(median);
        println!("{label}: {told:.1} ms, {untold:.1} ms without being told, ratio {ratio:.2}");
    }
}
