//! Tokens of several texts joined to the inputs of a model; training data is made by the same functions.

use stead_embed::{CLS, SEP, attention_mask, input_ids, token_type_ids};
use stead_expr::{Cells, Labels, TensorType, Value};

use super::{Argument, Call, DocumentContext, Feature, Run};
use crate::columns::{Computed, value};

/// Writes a row.
type Row = Box<dyn Fn(&[&[f32]], &mut [f32]) + Send + Sync>;

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let id = |at: usize| -> Result<f32, String> {
        let text = call.argument(at);
        text.parse().map_err(|_| format!("expected a token id, found {text}"))
    };
    let (texts, row): (usize, Row) = match call.name.name {
        "tokenInputIds" => {
            (1, Box::new(|texts, row| input_ids(texts, f32::from(CLS), f32::from(SEP), row)))
        }
        "customTokenInputIds" => {
            let (start, end) = (id(0)?, id(1)?);
            (3, Box::new(move |texts, row| input_ids(texts, start, end, row)))
        }
        "tokenTypeIds" => (1, Box::new(token_type_ids)),
        _ => (1, Box::new(attention_mask)),
    };
    let arguments: Vec<String> =
        call.name.arguments.iter().skip(texts).map(|a| (*a).to_owned()).collect();
    let kind = call.kind.clone();
    let run = Run::Documents(Box::new(move |cx| joined(cx, &kind, &row)));
    Ok(Feature { arguments, run, note: None })
}

fn joined(cx: &DocumentContext<'_>, kind: &TensorType, write: &Row) -> Result<Computed, String> {
    let mut computed = Computed::new(kind);
    let of_query = |argument: &Argument<'_>| match argument {
        Argument::Query(value) => Some(value.cells().floats().into_owned()),
        Argument::Documents(..) => None,
    };
    let fixed: Vec<Option<Vec<f32>>> = cx.arguments.iter().map(of_query).collect();
    let mut row = vec![0.0; kind.block_size()];
    for at in 0..cx.rows.len() {
        let mut of_document: Vec<Vec<f32>> = Vec::new();
        for argument in cx.arguments {
            of_document.push(match argument {
                Argument::Query(_) => Vec::new(),
                Argument::Documents(attribute, kind) => {
                    let found = value(attribute, kind, at);
                    found.map(|v| v.cells().floats().into_owned()).unwrap_or_default()
                }
            });
        }
        let texts: Vec<&[f32]> = fixed
            .iter()
            .zip(&of_document)
            .map(|(fixed, own)| fixed.as_deref().unwrap_or(own))
            .collect();
        write(&texts, &mut row);
        let cells = Cells::from_numbers(
            kind.cell(),
            &row.iter().map(|c| f64::from(*c)).collect::<Vec<_>>(),
        );
        let value =
            Value::new(kind.clone(), Labels::default(), cells).map_err(|e| e.to_string())?;
        if !computed.push(&value) {
            return Err(format!("more blocks than a column of {kind} holds"));
        }
    }
    Ok(computed)
}
