//! Documents made durable by fjall and by SQLite, as `--example feed_speed` of stead-store makes them: one thread makes documents up,
//! of which so many may wait for their acknowledgement; another writes those that wait as one group and acknowledges them when
//! that is synced.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::Instant;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use rusqlite::{Connection, params};
use serde_json::json;

use crate::Result;
use crate::turns::quantile_us;

/// A document of about 1 kB, as in `feed_speed`.
struct Document {
    id: String,
    number: i32,
    price: f64,
    name: String,
    vector: Vec<f32>,
    text: String,
}

impl Document {
    fn new(at: u64) -> Document {
        Document {
            id: format!("id:n:post::{at}"),
            number: at as i32,
            price: at as f64 / 3.0,
            name: format!("name of {at}"),
            vector: (0..128).map(|i| (at + i) as f32 / 7.0).collect(),
            text: "a text of words ".repeat(29),
        }
    }

    fn vector_bytes(&self) -> Vec<u8> {
        self.vector.iter().flat_map(|x| x.to_le_bytes()).collect()
    }
}

/// Writes a group of documents and returns when they are on disk.
trait Engine {
    fn write(&mut self, group: &[Document]) -> Result<()>;
    fn count(&self) -> Result<u64>;
}

/// A row for each document, with a column for each field.
struct Sqlite(Connection);

impl Sqlite {
    fn open(folder: &Path) -> Result<Sqlite> {
        let connection = Connection::open(folder.join("documents.db"))?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        // Every commit syncs the log; at NORMAL, the default of many, none does.
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute(
            "create table post (id text primary key, number integer, price real, name text, vector blob, text text) without rowid",
            [],
        )?;
        Ok(Sqlite(connection))
    }
}

impl Engine for Sqlite {
    fn write(&mut self, group: &[Document]) -> Result<()> {
        let transaction = self.0.transaction()?;
        let sql = "insert or replace into post values (?1, ?2, ?3, ?4, ?5, ?6)";
        for d in group {
            let values = params![d.id, d.number, d.price, d.name, d.vector_bytes(), d.text];
            transaction.prepare_cached(sql)?.execute(values)?;
        }
        Ok(transaction.commit()?)
    }

    fn count(&self) -> Result<u64> {
        Ok(self.0.query_row("select count(*) from post", [], |row| row.get::<_, i64>(0))? as u64)
    }
}

/// A value for each document: its fields, one behind the other, texts with their lengths.
struct Fjall {
    database: Database,
    posts: Keyspace,
}

impl Fjall {
    fn open(folder: &Path) -> Result<Fjall> {
        let database = Database::builder(folder).open()?;
        let posts = database.keyspace("post", KeyspaceCreateOptions::default)?;
        Ok(Fjall { database, posts })
    }
}

impl Engine for Fjall {
    fn write(&mut self, group: &[Document]) -> Result<()> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for d in group {
            let mut value = Vec::with_capacity(1100);
            value.extend(d.number.to_le_bytes());
            value.extend(d.price.to_le_bytes());
            value.extend(d.vector_bytes());
            for text in [&d.name, &d.text] {
                value.extend((text.len() as u32).to_le_bytes());
                value.extend(text.as_bytes());
            }
            batch.insert(&self.posts, d.id.as_bytes(), value);
        }
        Ok(batch.commit()?)
    }

    fn count(&self) -> Result<u64> {
        Ok(self.posts.len()? as u64)
    }
}

/// Feeds `count` documents to the engine of a name in an empty folder and prints a line of JSON.
pub fn run(engine: &str, folder: &Path, count: u64, waiting: usize) -> Result<()> {
    let engine: Box<dyn Engine + Send> = match engine {
        "sqlite" => Box::new(Sqlite::open(folder)?),
        "fjall" => Box::new(Fjall::open(folder)?),
        other => return Err(format!("no engine {other}").into()),
    };
    let (documents, queue) = channel();
    let (acknowledged, room) = sync_channel(waiting);
    let begin = Instant::now();
    // A place in the channel is room for a document that may wait.
    let writer = std::thread::spawn(move || {
        write(engine, &queue, &acknowledged, waiting).map_err(|e| e.to_string())
    });
    let mut times = Vec::with_capacity(count as usize);
    let mut on_their_way = 0;
    for at in 0..count {
        while on_their_way == waiting {
            times.push(room.recv()?);
            on_their_way -= 1;
        }
        times.extend(room.try_iter().inspect(|_| on_their_way -= 1));
        documents.send((Instant::now(), Document::new(at)))?;
        on_their_way += 1;
    }
    drop(documents);
    times.extend(room.iter());
    let seconds = begin.elapsed().as_secs_f64();
    let found = writer.join().map_err(|_| "the writer panicked")??;
    let mut ms = |fraction| quantile_us(&mut times, fraction) / 1e3;
    let (p50, p99) = (ms(0.5), ms(0.99));
    println!(
        "{}",
        json!({"documents": count, "waiting": waiting, "per_second": count as f64 / seconds, "p50_ms": p50, "p99_ms": p99, "found": found})
    );
    Ok(())
}

/// Writes groups until there are no more documents, and how many the engine has then.
fn write(
    mut engine: Box<dyn Engine + Send>,
    queue: &Receiver<(Instant, Document)>,
    acknowledged: &SyncSender<u64>,
    most: usize,
) -> Result<u64> {
    while let Ok(first) = queue.recv() {
        let (sent, group): (Vec<Instant>, Vec<Document>) =
            std::iter::once(first).chain(queue.try_iter()).take(most).unzip();
        engine.write(&group)?;
        for sent in sent {
            acknowledged.send(sent.elapsed().as_nanos() as u64)?;
        }
    }
    engine.count()
}
