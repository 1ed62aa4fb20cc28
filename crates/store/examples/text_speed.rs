//! How fast documents of texts are indexed while they are fed, and how fast a store of them opens: with the segments of its snapshot, and where
//! the indexes are made again of the texts.
//!
//!     cargo run --release -p stead-store --example text_speed -- FOLDER [DOCUMENTS] [WORDS] [THREADS]
//!
//! Documents have a text of so many words, whose frequencies follow Zipf's law, and are submitted by so many threads. Ends with a line of JSON;
//! FOLDER should be empty, on the disk that is to be measured.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_log::{DiskIo, SystemRng};
use stead_store::{Action, DocumentType, FieldValue, Operation, Store, StoreOptions};

/// How many words there are.
const VOCABULARY: u64 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: text_speed FOLDER [DOCUMENTS] [WORDS] [THREADS]";
    let folder = PathBuf::from(args.next().ok_or(usage)?);
    let mut number = |usual: u64| args.next().map_or(Ok(usual), |word| word.parse());
    let (count, words, threads) = (number(100_000)?, number(200)?, number(2)?);

    let store = open(&folder, "")?;
    let (next, failed) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        break;
                    }
                    let of = Arc::clone(&failed);
                    let fed = store.feed("text", put(at, words), move |outcome| {
                        of.fetch_add(u64::from(outcome.is_err()), Ordering::Relaxed);
                    });
                    failed.fetch_add(u64::from(fed.is_err()), Ordering::Relaxed);
                }
            });
        }
    });
    // What waits is done before.
    store.submit_wait("text", put(count, words))?;
    let feed = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    drop(store);
    let close = begin.elapsed().as_secs_f64();

    let started = |settings: &str| -> Result<(f64, usize, usize), Box<dyn Error>> {
        let begin = Instant::now();
        let store = open(&folder, settings)?;
        let start = begin.elapsed().as_secs_f64();
        let view = store.reader("text")?.view();
        let index = view.text(0).ok_or("the index")?;
        Ok((start, index.documents(), index.memory()))
    };
    let (start, documents, memory) = started("")?;
    // Nobody has written an index of these rules.
    let (again, ..) = started("match { max-length: 999999 }")?;
    println!(
        "{{\"documents\": {documents}, \"words\": {words}, \"threads\": {threads}, \"failed\": {}, \"per_second\": {:.0}, \"close_s\": {close:.2}, \"start_s\": {start:.2}, \"start_again_s\": {again:.2}, \"index_bytes\": {memory}}}",
        failed.load(Ordering::Relaxed),
        count as f64 / feed,
    );
    Ok(())
}

fn open(folder: &Path, settings: &str) -> Result<Store, Box<dyn Error>> {
    let schema = format!(
        "schema text {{ document text {{ field text type string {{ indexing: index | summary\n {settings} }} }} }}"
    );
    let files = PackageFiles::from_texts([("schemas/text.sd", &*schema)])?;
    let (application, _) = Application::read(&files, ServicesOptions::default());
    let kind = DocumentType::new(application.schema("text").ok_or("the schema")?);
    let io = Arc::new(DiskIo::new(folder)?);
    Ok(Store::open(io, Arc::new(SystemRng), vec![kind], StoreOptions::default())?)
}

/// Document `at`, whose text has so many words.
fn put(at: u64, words: u64) -> Operation {
    let mut seed = at;
    let mut text = String::new();
    for _ in 0..words {
        // The logarithm of the rank of a word is as likely to be one as another.
        let share = (random(&mut seed) >> 11) as f64 / (1_u64 << 53) as f64;
        word((VOCABULARY as f64).powf(share) as u64, &mut text);
    }
    let fields = vec![(0, FieldValue::Text(text))];
    let document = format!("id:n:text::{at}");
    Operation {
        operation: 0,
        document,
        condition: None,
        action: Action::Put { fields, create: false },
    }
}

/// The word of a rank, frequent ones being short, as English ends its words.
fn word(rank: u64, text: &mut String) {
    const SYLLABLES: [&str; 16] = [
        "be", "con", "di", "er", "for", "ga", "ho", "in", "lo", "men", "no", "per", "re", "sta",
        "ti", "ver",
    ];
    const ENDS: [&str; 8] = ["", "s", "ing", "ed", "ation", "ly", "er", "ness"];
    let mut rest = rank;
    while rest > 0 {
        text.push_str(SYLLABLES[(rest % 16) as usize]);
        rest /= 16;
    }
    text.push_str(ENDS[(rank % 8) as usize]);
    text.push(' ');
}

/// A number that follows from a seed (splitmix64).
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
