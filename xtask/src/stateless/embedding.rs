//! Texts a second by stead's embedder and by ONNX Runtime.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::dialogue::Dialogue;
use super::{Context, load, passages};
use crate::results::{Table, goal, middle};
use crate::{paths, process};

/// Texts of a turn, and those that the best batch is chosen by.
const TURN: usize = 200;
const TRIED: usize = 256;

/// Texts of a call of ONNX Runtime.
const BATCHES: [usize; 6] = [1, 4, 8, 16, 32, 64];

/// stead's texts a second over ONNX Runtime's with one text a call, and with its best batch.
const OVER_ONE: f64 = 1.25;
const OVER_BEST: f64 = 1.15;

/// The longest that a setting is measured when passages are left.
const MOST: [Duration; 2] = [Duration::from_secs(80), Duration::from_secs(8)];

/// Texts of a request to `/embed`, and documents that are fed.
const REQUEST: usize = 64;
const FED: [usize; 2] = [2000, 200];

/// The table.
pub fn table(context: &Context) -> Result<Table, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let all = format!("0-{}", cores - 1);
    let (mut rows, mut notes) = (Vec::new(), String::new());
    for (threads, list) in [(1, "0".to_owned()), (cores, all)] {
        println!("{threads} threads");
        let (mut stead, tokens) = passages::stead(context, &list)?;
        let mut runtime = passages::onnx_runtime(context, &list, threads)?;
        passages::agree(&mut stead, &mut runtime)?;
        let best = best_batch(context, &mut runtime)?;
        let turns = turns(context, &mut stead, &mut runtime, best)?;
        let part = middle(turns.iter().map(|turn| turn.tokenising / turn.stead).collect());
        notes += &format!(
            " {threads} threads: {} passages of {:.0} tokens, tokenising is {:.1} % of stead's time, ONNX Runtime's best batch is {best}.",
            turns.len() * TURN,
            tokens as f64 / passages::count(context) as f64,
            part.unwrap_or(f64::NAN) * 100.0
        );
        rows.extend(rows_of(threads, &turns, best));
    }
    rows.extend(served(context, cores)?);
    Ok(Table {
        title: "texts a second".to_owned(),
        note: format!(
            "all-MiniLM-L6-v2 in f32 on seeded passages of {} to {} tokens, `--example embedding_speed` of stead-node: `Embedded::embed` of {TURN} texts, from text to \
             normalised vectors, beside ONNX Runtime with the ids of the same texts (it is not asked to tokenise), padded to the longest of a call, mean and norm in Rust. Turn by turn \
             on the same cores until the {} passages are done or {} s are over; ratios are medians of the turns' ratios; the vectors agree to a cosine of 0.9999.{notes} `POST /embed` \
             has {REQUEST} texts a request from two clients, `stead feed` documents whose text is embedded.",
            passages::TOKENS[0],
            passages::TOKENS[1],
            passages::count(context),
            MOST[usize::from(context.quick)].as_secs(),
        ),
        header: vec!["what", "threads", "texts/s", "stead over it", "goal"],
        rows,
    })
}

/// Seconds of a turn.
struct Turn {
    stead: f64,
    tokenising: f64,
    one: f64,
    best: f64,
}

fn best_batch(context: &Context, runtime: &mut Dialogue) -> Result<usize, String> {
    let tried = TRIED.min(passages::count(context));
    runtime.seconds("run 8 0 64")?;
    let mut found = Vec::new();
    for batch in BATCHES {
        let seconds = runtime.seconds(&format!("run {batch} 0 {tried}"))?;
        println!("ONNX Runtime, batch {batch}: {:.1} texts/s", tried as f64 / seconds);
        found.push((seconds, batch));
    }
    let best = found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, batch)| batch).ok_or_else(|| "no batches".to_owned())
}

fn turns(
    context: &Context,
    stead: &mut Dialogue,
    runtime: &mut Dialogue,
    best: usize,
) -> Result<Vec<Turn>, String> {
    stead.seconds("embed 0 64")?;
    let begin = Instant::now();
    let mut turns = Vec::new();
    for from in (0..=passages::count(context) - TURN).step_by(TURN) {
        let turn = Turn {
            stead: stead.seconds(&format!("embed {from} {TURN}"))?,
            one: runtime.seconds(&format!("run 1 {from} {TURN}"))?,
            best: runtime.seconds(&format!("run {best} {from} {TURN}"))?,
            tokenising: stead.seconds(&format!("tokens {from} {TURN}"))?,
        };
        turns.push(turn);
        if begin.elapsed() > MOST[usize::from(context.quick)] {
            break;
        }
    }
    Ok(turns)
}

fn rows_of(threads: usize, turns: &[Turn], best: usize) -> Vec<Vec<String>> {
    let row = |name: &str, seconds: fn(&Turn) -> f64, wanted: Option<f64>| {
        let speed = middle(turns.iter().map(|turn| TURN as f64 / seconds(turn)).collect());
        let ratio = middle(turns.iter().map(|turn| seconds(turn) / turn.stead).collect());
        let ratio = ratio.unwrap_or(f64::NAN);
        let wanted = wanted.map(|wanted| format!("{wanted} {}", goal(ratio >= wanted)));
        vec![
            name.to_owned(),
            threads.to_string(),
            format!("{:.1}", speed.unwrap_or(f64::NAN)),
            format!("{ratio:.2}"),
            wanted.unwrap_or_else(|| "-".to_owned()),
        ]
    };
    vec![
        row("stead, `Embedded::embed`", |turn| turn.stead, None),
        row("ONNX Runtime, one text a call", |turn| turn.one, Some(OVER_ONE)),
        row(&format!("ONNX Runtime, {best} texts a call"), |turn| turn.best, Some(OVER_BEST)),
    ]
}

/// The same behind HTTP.
fn served(context: &Context, cores: usize) -> Result<Vec<Vec<String>>, String> {
    let server = context.serve(&passages::package(context)?, &[])?;
    let texts = passages::texts(context)?;
    let request = |inputs: &[String]| {
        json!({"path": "/embed", "body": {"inputs": inputs}}).to_string() + "\n"
    };
    let requests: String = texts.chunks_exact(REQUEST).map(request).collect();
    let requests = context.write("embed.jsonl", &requests)?;
    let seconds = if context.quick { "2" } else { "15" };
    let point = load::closed(
        context,
        &server.rest,
        &["--queries".as_ref(), requests.as_ref()],
        2,
        seconds,
    )?;
    let embedded = point.per_second * REQUEST as f64;

    let fed = FED[usize::from(context.quick)].min(texts.len());
    let put = |(at, text): (usize, &String)| {
        json!({"put": format!("id:n:passage::{at}"), "fields": {"text": text}}).to_string() + "\n"
    };
    let documents: String = texts.iter().take(fed).enumerate().map(put).collect();
    let documents = context.write("passages.jsonl", &documents)?;
    let mut feed = process::command(paths::stead("release"), ["feed"]);
    feed.arg(&documents).args(["--json", "--target", &server.rest, "--connections", "64"]);
    let begin = Instant::now();
    let told = process::capture(&mut feed, "stead feed")?;
    let took = begin.elapsed().as_secs_f64();
    let told: Value = serde_json::from_str(&told).map_err(|e| format!("stead feed: {e}"))?;
    if told["feeder.ok.count"] != json!(fed) {
        return Err(format!("stead feed: {told}"));
    }
    let row = |name: &str, speed: f64| {
        vec![
            name.to_owned(),
            cores.to_string(),
            format!("{speed:.1}"),
            "-".to_owned(),
            "-".to_owned(),
        ]
    };
    Ok(vec![row("stead, `POST /embed`", embedded), row("stead, `stead feed`", fed as f64 / took)])
}
