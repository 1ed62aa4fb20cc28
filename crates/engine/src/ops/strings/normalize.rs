//! StringNormalizer.

use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use stead_tensor::Shape;

/// StringNormalizer.
pub const OPS: &[OpDef] = &[OpDef::new(
    "StringNormalizer",
    &[Param::required(1, types::STRING)],
    &[Out::Like(0)],
    string_normalizer,
)
.since(10)];

/// Languages whose letters change case otherwise than Unicode says for all.
const SPECIAL: [&str; 3] = ["az", "lt", "tr"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Lower,
    Upper,
    Keep,
}

impl Case {
    fn apply(self, text: &[u8]) -> Result<Cow<'_, [u8]>, RunError> {
        if self == Case::Keep {
            return Ok(text.into());
        }
        let text = std::str::from_utf8(text)
            .map_err(|e| RunError::value(format!("a string that is no UTF-8: {e}")))?;
        let changed = if self == Case::Lower { text.to_lowercase() } else { text.to_uppercase() };
        Ok(changed.into_bytes().into())
    }
}

/// What is left out.
struct Stopwords {
    words: HashSet<Vec<u8>>,
    /// How texts are compared with them.
    as_case: Case,
}

impl Stopwords {
    fn kept<'a>(&self, texts: &'a [Vec<u8>]) -> Result<Vec<&'a [u8]>, RunError> {
        let mut kept = Vec::with_capacity(texts.len());
        for text in texts {
            if self.words.is_empty() || !self.words.contains(&*self.as_case.apply(text)?) {
                kept.push(text.as_slice());
            }
        }
        Ok(kept)
    }
}

fn string_normalizer(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let case = match attributes.string_or("case_change_action", "NONE")? {
        "LOWER" => Case::Lower,
        "UPPER" => Case::Upper,
        "NONE" => Case::Keep,
        other => {
            return Err(BuildError::unsupported(format!(
                "case_change_action is \"{other}\"; supported: LOWER UPPER NONE"
            )));
        }
    };
    let locale = attributes.string_or("locale", "en_US")?;
    let language = locale.split(['_', '-', '.', '@']).next().unwrap_or_default();
    if SPECIAL.iter().any(|special| language.eq_ignore_ascii_case(special)) {
        return Err(BuildError::unsupported(format!(
            "locale is \"{locale}\"; supported: those of languages other than {}",
            SPECIAL.join(" ")
        )));
    }
    let as_case =
        if attributes.bool_or("is_case_sensitive", false)? { Case::Keep } else { Case::Lower };
    let words = attributes.strings("stopwords")?.unwrap_or_default();
    let words = words.iter().map(|word| {
        let word =
            as_case.apply(word.as_ref()).map_err(|e| BuildError::unsupported(e.to_string()))?;
        Ok(word.into_owned())
    });
    let stopwords =
        Arc::new(Stopwords { words: words.collect::<Result<_, BuildError>>()?, as_case });
    plan_fn(move |cx| {
        let (shape, stopwords) = (cx.shape(0)?, stopwords.clone());
        if !matches!(shape.dims(), [_] | [1, _]) {
            return Err(PlanError::shape(format!("shape [C] or [1, C] is expected, got {shape}")));
        }
        let x = cx.input(0)?;
        let Some(kept) = cx.measured() else {
            return Err(cx.measure("count_kept", 1, &[x], move |a| {
                let kept = stopwords.kept(a.strings(0)?)?.len();
                a.write::<i64>()?.fill(kept as i64);
                Ok(())
            }));
        };
        // One empty string stands for none.
        let count = kept.as_slice::<i64>()?.first().copied().unwrap_or(0).max(1) as usize;
        let mut dims = shape.to_vec();
        if let Some(last) = dims.last_mut() {
            *last = count;
        }
        let slot = cx.output(0, Shape::new(&dims)?)?;
        cx.step("string_normalize", &[x], &[slot], move |a| {
            let kept = stopwords.kept(a.strings(0)?)?;
            let changed = kept.into_iter().map(|text| Ok(case.apply(text)?.into_owned()));
            let mut strings = changed.collect::<Result<Vec<_>, RunError>>()?;
            strings.resize(count, Vec::new());
            a.write_strings(0, strings)
        });
        Ok(())
    })
}
