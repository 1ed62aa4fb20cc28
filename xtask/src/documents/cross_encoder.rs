//! `examples/cross-encoder` by clients and threads, and by the tokens of what is read.

use std::thread;

use super::Context;
use super::clients::{self, Load, Time, Work};
use super::passages::{self, Lengths, Questions};
use super::store::Store;
use crate::results::{Table, goal, middle};

const CLIENTS: [usize; 4] = [1, 4, 16, 64];
const QUICK: [usize; 2] = [1, 64];

/// What one thread for a run has over all cores at the most clients in the post, which ranked with ONNX Runtime: whether its rows here
/// have it too tells that the load is like the post's. stead's threads need not lose as much.
const ONE_OVER_ALL: f64 = 1.5;
/// Seconds of a turn for each client, where that is longer: a question waits for those of all other clients, and a turn
/// must be several such waits long.
const SECONDS_PER_CLIENT: f64 = 0.25;

/// Runs of one load differ by as much.
const NOISE: f64 = 0.05;

/// Questions and passages of the example.
const EXAMPLE: Lengths = Lengths { shortest: 23, longest: 105, room: 128 };

const TOKENS: [usize; 5] = [32, 64, 128, 256, 512];

/// Clients by the threads of a run.
pub fn threads(context: &Context) -> Result<Table, String> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let network = passages::network(context, None)?;
    let questions = Questions::new()?;
    let store = |name, threads| passages::store(context, name, &network, threads, EXAMPLE);
    let (all, one, elastic) =
        (store("encoder-all", Some(cores))?, store("encoder-1", Some(1))?, store("encoder", None)?);
    let (in_place, outside) = (questions.in_place(), |n| questions.outside(&network, n, None));
    let sides: [(&str, &[&Store], &Work); 5] = [
        ("stead, intraop-threads: all cores", &[&all], &in_place),
        ("stead, intraop-threads: 1", &[&one], &in_place),
        ("stead, elastic (no intraop-threads)", &[&elastic], &in_place),
        (
            "ONNX Runtime where results merge, intra-op threads = all cores",
            &[&elastic],
            &outside(cores),
        ),
        ("... 1", &[&elastic], &outside(1)),
    ];
    let (counts, rounds, seconds) =
        if context.quick { (&QUICK[..], 1, 2.0_f64) } else { (&CLIENTS[..], 3, 4.0) };
    let mut rows = Vec::new();
    for count in counts {
        println!("{count} clients");
        let seconds = seconds.max(*count as f64 * SECONDS_PER_CLIENT);
        let time = Time { seconds, warm_up: 4 };
        let loads = clients::rounds(context, &sides, *count, time, rounds);
        let [of_all, of_one, of_elastic, of_peer, ..] = &loads[..] else {
            return Err("no loads".to_owned());
        };
        for (side, of_side) in sides.iter().zip(&loads) {
            let over = clients::times(of_side, of_all);
            let wanted = match side.0 {
                "... 1" if counts.last() == Some(count) => {
                    let gain = clients::times(of_side, of_peer);
                    let is_it = goal(gain.is_some_and(|gain| gain >= ONE_OVER_ALL));
                    let gain = gain.map_or("-".to_owned(), |gain| format!("{gain:.2}"));
                    format!("{ONE_OVER_ALL} over all cores, as in the post: {is_it} ({gain})")
                }
                "stead, elastic (no intraop-threads)" => {
                    let others = [of_all, of_one].map(|other| clients::times(of_elastic, other));
                    let is_best =
                        others.iter().all(|over| over.is_some_and(|over| over >= 1.0 - NOISE));
                    format!("no worse than either {}", goal(is_best))
                }
                _ => "-".to_owned(),
            };
            rows.push(row(side.0, count.to_string(), clients::median(of_side), over, wanted));
        }
    }
    Ok(Table {
        title: "a cross encoder by clients and threads".to_owned(),
        note: format!(
            "`examples/cross-encoder` with a network of {}: 200 passages of 8 to 90 tokens, the ten nearest read with the question, padded to the \
             longest of them. ONNX Runtime gets the same ten from the store and runs in the clients' process, two questions at a time. \
             {cores} cores for all of them; {rounds} turns of {seconds} s, longer with many clients, medians; ratios are the medians of the turns' ratios.",
            size(context)
        ),
        header: vec![
            "what",
            "clients",
            "QPS",
            "mean ms",
            "p95 ms",
            "over stead with all cores",
            "goal",
        ],
        rows,
    })
}

/// Lengths, padded and not.
pub fn tokens(context: &Context) -> Result<Table, String> {
    let most = TOKENS.last().copied().unwrap_or_default();
    let (free, fixed) =
        (passages::network(context, None)?, passages::network(context, Some(most))?);
    let questions = Questions::new()?;
    let (rounds, seconds) = if context.quick { (1, 1.0) } else { (3, 3.0) };
    let mut rows = Vec::new();
    for tokens in TOKENS {
        println!("{tokens} tokens");
        let lengths = Lengths { shortest: tokens, longest: tokens, room: most };
        let unpadded = passages::store(context, "tokens-free", &free, Some(1), lengths)?;
        let padded = passages::store(context, "tokens-fixed", &fixed, Some(1), lengths)?;
        let in_place = questions.in_place();
        let sides: [(&str, &[&Store], &Work); 4] = [
            ("stead, unpadded", &[&unpadded], &in_place),
            ("stead, padded by a network of a fixed length", &[&padded], &in_place),
            (
                "ONNX Runtime, padded to the longest of ten",
                &[&unpadded],
                &questions.outside(&free, 1, None),
            ),
            ("ONNX Runtime, padded", &[&unpadded], &questions.outside(&free, 1, Some(most))),
        ];
        let loads = clients::rounds(context, &sides, 1, Time { seconds, warm_up: 2 }, rounds);
        let [first, ..] = &loads[..] else { return Err("no loads".to_owned()) };
        for (side, of_side) in sides.iter().zip(&loads) {
            let slower = middle(
                first
                    .iter()
                    .zip(of_side)
                    .filter_map(|(a, b)| Some((*b)?.mean_ms / (*a)?.mean_ms))
                    .collect(),
            );
            rows.push(row(
                side.0,
                tokens.to_string(),
                clients::median(of_side),
                slower,
                String::new(),
            ));
        }
    }
    rows.iter_mut().for_each(|row| row.truncate(6));
    Ok(Table {
        title: format!("a cross encoder with texts of {} to {most} tokens", TOKENS[0]),
        note: format!(
            "As `cross-encoder` with one client, one thread for a run and a network of {}: questions and passages that have together so many tokens, \
             up to 8 fewer for shorter questions; padded is to {most}. {rounds} turns of {seconds} s, medians.",
            size(context)
        ),
        header: vec!["what", "tokens", "QPS", "mean ms", "p95 ms", "ms over stead unpadded"],
        rows,
    })
}

fn size(context: &Context) -> &'static str {
    if context.quick { "2 layers of 128" } else { "6 layers of 384 (the size of MiniLM)" }
}

fn row(
    name: &str,
    of: String,
    load: Option<Load>,
    ratio: Option<f64>,
    wanted: String,
) -> Vec<String> {
    let Some(load) = load else {
        return [name, &of, "not measured: no answers", "-", "-", "-", "-"]
            .map(str::to_owned)
            .to_vec();
    };
    vec![
        name.to_owned(),
        of,
        format!("{:.1}", load.qps),
        format!("{:.1}", load.mean_ms),
        format!("{:.1}", load.p95_ms),
        ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
        wanted,
    ]
}
