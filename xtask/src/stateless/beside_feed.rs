//! Queries that embed their text while documents are embedded as fast as they can be.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::load::{self, Point};
use super::networks::queries;
use super::{Context, passages};
use crate::process;
use crate::results::{Table, goal, middle};

/// Documents that every query ranks.
const RANKED: usize = 200;

/// A turn: queries alone, the feed alone, both.
const TURNS: [usize; 2] = [3, 1];
const SECONDS: [u64; 2] = [8, 2];

/// The 99th percentile beside a feed over that without one.
const SLOWER: f64 = 1.3;

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    // It writes the texts.
    drop(passages::stead(context, "0")?);
    let texts = passages::texts(context)?;
    let server = context.serve(&passages::package(context)?, &[])?;
    let quick = usize::from(context.quick);
    let (count, seconds) = (TURNS[quick], SECONDS[quick]);
    let feed = Feed { context, target: &server.rest };
    feed.whole(&texts[..RANKED], 1)?;
    // No text is asked twice: vectors of queries are kept.
    let asked = texts.len() / (2 * count);
    let mut asked = texts.chunks_exact(asked);
    let mut turns = Vec::new();
    for turn in 0..count {
        let mut ask = || {
            let file = queries_of(context, asked.next().unwrap_or_default())?;
            load::closed(context, &server.rest, &queries(&file), 1, &seconds.to_string())
        };
        let idle = ask()?;
        let alone = feed.during(&texts, 10 + turn, || {
            std::thread::sleep(Duration::from_secs(seconds));
            Ok(())
        })?;
        let beside = feed.during(&texts, 20 + turn, &mut ask)?;
        println!(
            "p99 {:.2} ms, beside the feed {:.2} ms; fed {:.1}/s, beside queries {:.1}/s",
            idle.p99_ms, beside.0.p99_ms, alone.1, beside.1
        );
        turns.push(Turn { idle, beside: beside.0, alone: alone.1, fed: beside.1 });
    }
    // What it is without the other and with it, and which ratio of both is good.
    type Figure = fn(&Turn) -> f64;
    type Wanted = Option<(&'static str, fn(f64) -> bool)>;
    let row = |what: &str, [alone, both]: [Figure; 2], wanted: Wanted| {
        let of = |value: &dyn Fn(&Turn) -> f64| {
            middle(turns.iter().map(value).collect()).unwrap_or(f64::NAN)
        };
        let ratio = of(&|turn| both(turn) / alone(turn));
        let wanted = wanted.map(|(text, is_met)| format!("{text} {}", goal(is_met(ratio))));
        vec![
            what.to_owned(),
            format!("{:.2}", of(&alone)),
            format!("{:.2}", of(&both)),
            format!("{ratio:.2}"),
            wanted.unwrap_or_else(|| "-".to_owned()),
        ]
    };
    Ok(Table {
        title: "queries beside a feed".to_owned(),
        note: format!(
            "MiniLM as in `embedding`. One client searches as fast as it is answered: each query embeds a passage and ranks {RANKED} documents with it. `stead feed` with 64 connections has \
             documents embedded meanwhile. {count} turns of {seconds} s without the one, the other, and with both; ratios are the medians of the turns' ratios."
        ),
        header: vec!["what", "alone", "both", "ratio", "goal"],
        rows: vec![
            row("query p50 ms", [|turn| turn.idle.p50_ms, |turn| turn.beside.p50_ms], None),
            row(
                "query p99 ms",
                [|turn| turn.idle.p99_ms, |turn| turn.beside.p99_ms],
                Some(("at most 1.3", |ratio| ratio <= SLOWER)),
            ),
            row("queries/s", [|turn| turn.idle.per_second, |turn| turn.beside.per_second], None),
            row(
                "documents/s",
                [|turn| turn.alone, |turn| turn.fed],
                Some(("never starves", |ratio| ratio > 0.0)),
            ),
        ],
    })
}

/// One turn: the queries, and documents a second.
struct Turn {
    idle: Point,
    beside: Point,
    alone: f64,
    fed: f64,
}

fn queries_of(context: &Context, texts: &[String]) -> Result<std::path::PathBuf, String> {
    let query = |text: &String| {
        let body = json!({
            "yql": "select * from passage where part = 1",
            "ranking": "near",
            "input.query(q)": "embed(minilm, @text)",
            "text": text,
            "timeout": "30s",
        });
        json!({"path": "/search/", "method": "POST", "body": body}).to_string() + "\n"
    };
    context.write("beside-feed.jsonl", &texts.iter().map(query).collect::<String>())
}

/// Documents for a server.
struct Feed<'a> {
    context: &'a Context,
    target: &'a str,
}

impl Feed<'_> {
    fn start(&self, texts: &[String], part: usize) -> Result<Child, String> {
        let put = |(at, text): (usize, &String)| {
            let fields = json!({"text": text, "part": part});
            json!({"put": format!("id:n:passage::{part}-{at}"), "fields": fields}).to_string()
                + "\n"
        };
        let documents: String = texts.iter().enumerate().map(put).collect();
        let file = self.context.write(&format!("feed-{part}.jsonl"), &documents)?;
        self.spawn(&file).map_err(|e| format!("stead feed: {e}"))
    }

    fn spawn(&self, file: &Path) -> std::io::Result<Child> {
        let mut feed = process::command(&self.context.stead, ["feed"]);
        feed.arg(file).args(["--json", "--target", self.target, "--connections", "64"]);
        feed.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    fn whole(&self, texts: &[String], part: usize) -> Result<(), String> {
        let status = self.start(texts, part)?.wait().map_err(|e| format!("stead feed: {e}"))?;
        if status.success() { Ok(()) } else { Err(format!("stead feed failed ({status})")) }
    }

    /// What happens while documents are fed, and how many of these a second were stored meanwhile.
    fn during<T>(
        &self,
        texts: &[String],
        part: usize,
        what: impl FnOnce() -> Result<T, String>,
    ) -> Result<(T, f64), String> {
        let mut feed = self.start(texts, part)?;
        // The first of them is stored, so that what follows is all beside the feed.
        let begin = Instant::now();
        while self.stored(part)? == 0 && begin.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let (from, begin) = (self.stored(part)?, Instant::now());
        let found = what();
        let (seconds, to) = (begin.elapsed().as_secs_f64(), self.stored(part)?);
        let is_over = feed.try_wait().is_ok_and(|ended| ended.is_some());
        let _ = feed.kill();
        let _ = feed.wait();
        match is_over {
            true => Err("the feed ended before the measurement".to_owned()),
            false => Ok((found?, (to - from) as f64 / seconds)),
        }
    }

    fn stored(&self, part: usize) -> Result<u64, String> {
        let yql = format!("select * from passage where part = {part}");
        let mut query = process::command(&self.context.stead, ["query", "--json", "--target"]);
        query.args([self.target, &yql, "hits=0", "timeout=20s"]);
        let told: Value = serde_json::from_str(&process::capture(&mut query, "stead query")?)
            .map_err(|e| format!("stead query: {e}"))?;
        told["root"]["fields"]["totalCount"].as_u64().ok_or_else(|| format!("stead query: {told}"))
    }
}
