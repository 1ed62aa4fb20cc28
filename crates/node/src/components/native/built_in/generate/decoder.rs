//! A model that gives the next token, with the keys and values of the tokens before handed from step to step.

use stead_app::components::Parameters;
use stead_search::models::converted;
use stead_tensor::{DType, Shape, Tensor};

use super::Choosing;
use super::beams::{Beam, choose, rated};
use crate::components::native::{Call, Models, NativeError};
use crate::evaluation::{Datum, Port};

/// What names of inputs say of keys and values, and what those of the outputs say that become them.
const WORDS: [(&str, &str); 2] = [("past_key_values", "present"), ("past", "present")];

/// A decoder, alone or behind an encoder.
pub(super) struct Decoder {
    models: Models,
    model: String,
    encoder: Option<Encoder>,
    ids: String,
    mask: Option<String>,
    positions: Option<String>,
    pasts: Vec<Past>,
    logits: String,
    choosing: Choosing,
}

struct Encoder {
    model: String,
    /// Its own mask of tokens, if it has one.
    tokens: Option<String>,
    /// The output, and the decoder's inputs for it and for its mask.
    output: String,
    states: String,
    mask: Option<String>,
    /// The token that the decoder begins with.
    start: i64,
}

/// Keys or values of a layer.
struct Past {
    input: String,
    output: String,
    /// The sizes before the first step: nothing along the axis that grows.
    empty: Vec<usize>,
}

/// What one step gave.
struct Step {
    /// Of the last token of each row.
    logits: Vec<f32>,
    pasts: Vec<Tensor>,
}

impl Decoder {
    pub(super) fn new(
        given: &Parameters,
        models: &Models,
        choosing: Choosing,
    ) -> Result<Decoder, String> {
        let text = |name: &str| given.text(name).unwrap_or_default().to_owned();
        let model = text("model");
        let (takes, gives) = models.ports(&model)?;
        let has = |ports: &[Port], name: &str| ports.iter().any(|port| port.name == name);
        let named = |parameter: &str| Some(text(parameter)).filter(|name| has(&takes, name));
        let ids = named("input-ids").ok_or_else(|| {
            format!("model {model} has no input {}: input-ids", text("input-ids"))
        })?;
        let mask = named("attention-mask");
        let positions = named("position-ids");
        let logits = text("logits");
        if !has(&gives, &logits) {
            return Err(format!("model {model} has no output {logits}: logits"));
        }
        let mut pasts = Vec::new();
        for port in &takes {
            let next = WORDS.iter().find(|(past, _)| port.name.contains(past));
            let Some((word, next)) = next else { continue };
            let output = port.name.replacen(word, next, 1);
            if !has(&gives, &output) {
                return Err(format!(
                    "model {model} has no output {output} for its input {}",
                    port.name
                ));
            }
            let sizes = port.shape.iter().enumerate();
            // One row, and no tokens yet.
            let size = |(at, size): (usize, &i64)| {
                usize::try_from(*size).unwrap_or(if at == 0 { 1 } else { 0 })
            };
            pasts.push(Past { input: port.name.clone(), output, empty: sizes.map(size).collect() });
        }
        let encoder = given.text("encoder").map(|encoder| {
            let (reads, makes) = models.ports(encoder)?;
            let states = named("encoder-states").ok_or_else(|| {
                format!("model {model} has no input {}: encoder-states", text("encoder-states"))
            })?;
            if !has(&reads, &text("input-ids")) {
                return Err(format!("model {encoder} has no input {}", text("input-ids")));
            }
            let output = makes.first().map(|port| port.name.clone()).unwrap_or_default();
            let start = i64::try_from(given.count("start-token")).unwrap_or(i64::MAX);
            let tokens = Some(text("attention-mask")).filter(|name| has(&reads, name));
            let (model, mask) = (encoder.to_owned(), named("encoder-mask"));
            Ok(Encoder { model, tokens, output, states, mask, start })
        });
        let encoder = encoder.transpose()?;
        let mut known: Vec<&String> = vec![&ids];
        known.extend(mask.iter().chain(&positions).chain(pasts.iter().map(|past| &past.input)));
        known.extend(encoder.iter().flat_map(|e| e.mask.iter().chain([&e.states])));
        if let Some(lacking) = takes.iter().find(|port| !known.contains(&&port.name)) {
            let text = "which nothing is given to";
            return Err(format!("model {model} has the input {}, {text}", lacking.name));
        }
        let models = models.clone();
        Ok(Decoder { models, model, encoder, ids, mask, positions, pasts, logits, choosing })
    }

    /// The tokens that are written for a prompt, without that which ends them.
    pub(super) fn write(&self, prompt: &[i64], call: &Call) -> Result<Vec<i64>, NativeError> {
        let encoded = self.encoded(prompt, call)?;
        let first = self.encoder.as_ref().map_or_else(|| prompt.to_vec(), |e| vec![e.start]);
        if first.is_empty() {
            return Ok(Vec::new());
        }
        let Choosing { beams: count, most, end, length_penalty } = self.choosing;
        let mut pasts = Vec::with_capacity(self.pasts.len());
        for past in &self.pasts {
            let shape = Shape::new(&past.empty).map_err(failed)?;
            pasts.push(Tensor::zeros(DType::F32, shape).map_err(failed)?);
        }
        let (mut ids, mut all) = (first.clone(), first.clone());
        let mut beams = vec![Beam { tokens: Vec::new(), score: 0.0 }];
        let mut ended: Vec<Beam> = Vec::new();
        let mut seen = 0;
        for _ in 0..most {
            if call.is_over() {
                return Err(NativeError::Late);
            }
            let width = ids.len() / beams.len().max(1);
            let step = self.step(&ids, &all, (beams.len(), width, seen), &pasts, &encoded, call)?;
            seen += width;
            let chosen = choose(&beams, &step.logits, count, end);
            ended.extend(chosen.ended);
            let best = |beams: &[Beam]| {
                let ratings = beams.iter().map(|beam| rated(beam, length_penalty));
                ratings.fold(f64::NEG_INFINITY, f64::max)
            };
            // Others may still become better; where only one goes on, it has ended.
            let is_best = count == 1 || best(&ended) >= best(&chosen.beams);
            if (!ended.is_empty() && is_best) || chosen.beams.is_empty() {
                break;
            }
            pasts =
                step.pasts.iter().map(|past| rows(past, &chosen.rows)).collect::<Result<_, _>>()?;
            beams = chosen.beams;
            (ids, all) = match self.pasts.is_empty() {
                // Without memory everything is read again.
                true => {
                    let whole = |beam: &Beam| [first.as_slice(), &beam.tokens].concat();
                    let all: Vec<i64> = beams.iter().flat_map(whole).collect();
                    seen = 0;
                    (all.clone(), all)
                }
                false => {
                    let last = |beam: &Beam| beam.tokens.last().copied();
                    let whole = |beam: &Beam| [first.as_slice(), &beam.tokens].concat();
                    (
                        beams.iter().filter_map(last).collect(),
                        beams.iter().flat_map(whole).collect(),
                    )
                }
            };
        }
        // What has not ended counts where nothing has, or as what it is so far.
        if ended.is_empty() {
            ended = beams;
        }
        let rating = |beam: &Beam| rated(beam, length_penalty);
        let best = ended.into_iter().max_by(|a, b| rating(a).total_cmp(&rating(b)));
        Ok(best.map(|beam| beam.tokens).unwrap_or_default())
    }

    /// What the encoder makes of a prompt: one row, and how many tokens it has.
    fn encoded(&self, prompt: &[i64], call: &Call) -> Result<Option<(Tensor, usize)>, NativeError> {
        let Some(encoder) = &self.encoder else { return Ok(None) };
        let row = |cells: &[i64]| Tensor::from_slice(cells, &[1, cells.len()]).map_err(failed);
        let mut inputs = vec![(self.ids.clone(), Datum::Array(row(prompt)?))];
        if let Some(name) = &encoder.tokens {
            inputs.push((name.clone(), Datum::Array(row(&vec![1; prompt.len()])?)));
        }
        let wanted = [encoder.output.clone()];
        let mut found = self.models.evaluate(&encoder.model, inputs, &wanted, call)?;
        match found.pop() {
            Some((_, Datum::Array(states))) => Ok(Some((floats(&states)?, prompt.len()))),
            _ => Err(NativeError::Failed(format!("model {} gave no array", encoder.model))),
        }
    }

    /// One step of `rows` rows of `width` tokens, behind `seen` others.
    fn step(
        &self,
        ids: &[i64],
        all: &[i64],
        (count, width, seen): (usize, usize, usize),
        pasts: &[Tensor],
        encoded: &Option<(Tensor, usize)>,
        call: &Call,
    ) -> Result<Step, NativeError> {
        let array = |cells: &[i64], width: usize| {
            Tensor::from_slice(cells, &[count, width]).map(Datum::Array).map_err(failed)
        };
        let mut inputs = vec![(self.ids.clone(), array(ids, width)?)];
        if let Some(name) = &self.mask {
            inputs.push((name.clone(), array(&vec![1; all.len()], all.len() / count.max(1))?));
        }
        if let Some(name) = &self.positions {
            let row = (seen..seen + width).map(|at| at as i64);
            let cells: Vec<i64> = (0..count).flat_map(|_| row.clone()).collect();
            inputs.push((name.clone(), array(&cells, width)?));
        }
        for (past, tensor) in self.pasts.iter().zip(pasts) {
            inputs.push((past.input.clone(), Datum::Array(tensor.clone())));
        }
        if let (Some(encoder), Some((states, length))) = (&self.encoder, encoded) {
            let same = rows(states, &vec![0; count])?;
            inputs.push((encoder.states.clone(), Datum::Array(same)));
            if let Some(name) = &encoder.mask {
                inputs.push((name.clone(), array(&vec![1; count * length], *length)?));
            }
        }
        let mut wanted = vec![self.logits.clone()];
        wanted.extend(self.pasts.iter().map(|past| past.output.clone()));
        let found = self.models.evaluate(&self.model, inputs, &wanted, call)?;
        let of = |name: &str| {
            let found = found.iter().find_map(|(known, datum)| match datum {
                Datum::Array(tensor) if known == name => Some(tensor),
                _ => None,
            });
            let found = found.map(floats).transpose()?;
            found.ok_or_else(|| NativeError::Failed(format!("model {} gave no {name}", self.model)))
        };
        let logits = of(&self.logits)?;
        let words = logits.shape().dims().last().copied().unwrap_or(0);
        let numbers = logits.as_slice::<f32>().map_err(failed)?;
        if words == 0 || numbers.len() != count * width * words {
            let text = format!(
                "model {} gave logits of the sizes {:?} for {count} rows of {width} tokens",
                self.model,
                logits.shape().dims()
            );
            return Err(NativeError::Failed(text));
        }
        let last = numbers.chunks_exact(words).skip(width - 1).step_by(width).flatten();
        let pasts = self.pasts.iter().map(|past| of(&past.output)).collect::<Result<_, _>>()?;
        Ok(Step { logits: last.copied().collect(), pasts })
    }
}

fn floats(tensor: &Tensor) -> Result<Tensor, NativeError> {
    match tensor.dtype() {
        DType::F32 => Ok(tensor.clone()),
        _ => converted(tensor.view(), DType::F32).map_err(NativeError::Failed),
    }
}

/// Some rows of an array, in this order.
fn rows(tensor: &Tensor, wanted: &[usize]) -> Result<Tensor, NativeError> {
    let numbers = tensor.as_slice::<f32>().map_err(failed)?;
    let mut sizes = tensor.shape().dims().to_vec();
    let width = numbers.len() / sizes.first().copied().unwrap_or(1).max(1);
    let mut cells = Vec::with_capacity(width * wanted.len());
    for row in wanted {
        let part = numbers.get(row * width..(row + 1) * width);
        cells.extend_from_slice(part.ok_or_else(|| failed("a row that is not there"))?);
    }
    if let Some(first) = sizes.first_mut() {
        *first = wanted.len();
    }
    Tensor::from_slice(&cells, &sizes).map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> NativeError {
    NativeError::Failed(error.to_string())
}
