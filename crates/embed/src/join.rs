//! Token ids of several texts joined to one row.
//!
//! A text is the cells of a dense tensor of one dimension, as attributes and query inputs have them:
//! its ids, then zeros. A row is `start text end text end ... 0 0 0`, cut at its length wherever that falls:
//! a row that is too short ends without an `end`. Facts from Vespa's `TokenTransformer`, which writes
//! these features as tensor expressions.

/// The id before the first text, BERT's `[CLS]`: that of `tokenInputIds`.
pub const CLS: u16 = 101;
/// The id behind each text, BERT's `[SEP]`: that of `tokenInputIds`.
pub const SEP: u16 = 102;

/// How many tokens the cells of a text hold: the number of cells above zero.
///
/// The tokens are that many *first* cells. An id of zero between others thus does not end the text, but
/// takes the place of the last one, as it does in Vespa.
#[must_use]
pub fn token_count<T: Copy + Default + PartialOrd>(cells: &[T]) -> usize {
    cells.iter().filter(|cell| **cell > T::default()).count()
}

/// Writes the row of ids: `start`, the tokens of each text with `end` behind, zeros.
///
/// `tokenInputIds` has `start` [`CLS`] and `end` [`SEP`], `customTokenInputIds` any two.
pub fn input_ids<T: Copy + Default + PartialOrd>(texts: &[&[T]], start: T, end: T, row: &mut [T]) {
    let mut rest = put(row, &[start]);
    for text in texts {
        rest = put(rest, &text[..token_count(text)]);
        rest = put(rest, &[end]);
    }
    rest.fill(T::default());
}

/// Writes the row of types: 0 for the first text, 1 for the others, each with the id behind it, then 0.
pub fn token_type_ids<T, O>(texts: &[&[T]], row: &mut [O])
where
    T: Copy + Default + PartialOrd,
    O: Copy + From<bool>,
{
    let others = texts.get(1..).unwrap_or_default();
    let first = joined(&texts[..texts.len().min(1)]).min(row.len());
    let (first, rest) = row.split_at_mut(first);
    first.fill(O::from(false));
    mark(rest, others.iter().map(|text| token_count(text) + 1).sum());
}

/// Writes the row of the attention mask: 1 for all texts and the ids around them, then 0.
pub fn attention_mask<T, O>(texts: &[&[T]], row: &mut [O])
where
    T: Copy + Default + PartialOrd,
    O: Copy + From<bool>,
{
    mark(row, joined(texts));
}

/// The length of texts when they are joined.
fn joined<T: Copy + Default + PartialOrd>(texts: &[&[T]]) -> usize {
    1 + texts.iter().map(|text| token_count(text) + 1).sum::<usize>()
}

/// Ones, then zeros.
fn mark<O: Copy + From<bool>>(row: &mut [O], ones: usize) {
    let (ones, zeros) = row.split_at_mut(ones.min(row.len()));
    ones.fill(O::from(true));
    zeros.fill(O::from(false));
}

/// Writes what there is room for; what is left of the row.
fn put<'a, T: Copy>(row: &'a mut [T], ids: &[T]) -> &'a mut [T] {
    let (written, rest) = row.split_at_mut(ids.len().min(row.len()));
    written.copy_from_slice(&ids[..written.len()]);
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each row must be, by label: texts, start and end, ids, types, mask.
    struct Case {
        label: &'static str,
        texts: &'static [&'static [f32]],
        around: (f32, f32),
        ids: &'static [f32],
        types: &'static [f32],
        mask: &'static [f32],
    }

    const BERT: (f32, f32) = (CLS as f32, SEP as f32);

    /// The first four are those of Vespa's `RankingExpressionWithTransformerTokensTestCase`
    /// (values it does not give are by its formulas).
    const CASES: [Case; 12] = [
        Case {
            label: "tokenInputIds(12, a, b, c)",
            texts: &[&[1., 2.], &[3., 4., 5.], &[6., 7.]],
            around: BERT,
            ids: &[101., 1., 2., 102., 3., 4., 5., 102., 6., 7., 102., 0.],
            types: &[0., 0., 0., 0., 1., 1., 1., 1., 1., 1., 1., 0.],
            mask: &[1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 0.],
        },
        Case {
            label: "customTokenInputIds(1, 2, 13, a, b, c)",
            texts: &[&[11., 12.], &[13., 14., 15.], &[16., 17.]],
            around: (1., 2.),
            ids: &[1., 11., 12., 2., 13., 14., 15., 2., 16., 17., 2., 0., 0.],
            types: &[0., 0., 0., 0., 1., 1., 1., 1., 1., 1., 1., 0., 0.],
            mask: &[1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 0., 0.],
        },
        Case {
            label: "tokenTypeIds(10, a, b)",
            texts: &[&[1., 2.], &[3., 4., 5.]],
            around: BERT,
            ids: &[101., 1., 2., 102., 3., 4., 5., 102., 0., 0.],
            types: &[0., 0., 0., 0., 1., 1., 1., 1., 0., 0.],
            mask: &[1., 1., 1., 1., 1., 1., 1., 1., 0., 0.],
        },
        Case {
            label: "the same, padded",
            texts: &[&[1., 2., 0., 0., 0.], &[3., 4., 5., 0.]],
            around: BERT,
            ids: &[101., 1., 2., 102., 3., 4., 5., 102., 0., 0.],
            types: &[0., 0., 0., 0., 1., 1., 1., 1., 0., 0.],
            mask: &[1., 1., 1., 1., 1., 1., 1., 1., 0., 0.],
        },
        Case {
            label: "one text has type 0",
            texts: &[&[1., 2.]],
            around: BERT,
            ids: &[101., 1., 2., 102., 0.],
            types: &[0., 0., 0., 0., 0.],
            mask: &[1., 1., 1., 1., 0.],
        },
        Case {
            label: "an empty first text",
            texts: &[&[0., 0.], &[3.]],
            around: BERT,
            ids: &[101., 102., 3., 102., 0.],
            types: &[0., 0., 1., 1., 0.],
            mask: &[1., 1., 1., 1., 0.],
        },
        Case {
            label: "an empty second text",
            texts: &[&[3.], &[]],
            around: BERT,
            ids: &[101., 3., 102., 102., 0.],
            types: &[0., 0., 0., 1., 0.],
            mask: &[1., 1., 1., 1., 0.],
        },
        Case {
            label: "cut within the second text: no end",
            texts: &[&[1., 2.], &[3., 4., 5.]],
            around: BERT,
            ids: &[101., 1., 2., 102., 3., 4.],
            types: &[0., 0., 0., 0., 1., 1.],
            mask: &[1., 1., 1., 1., 1., 1.],
        },
        Case {
            label: "cut within the first text",
            texts: &[&[1., 2., 3.], &[4.]],
            around: BERT,
            ids: &[101., 1.],
            types: &[0., 0.],
            mask: &[1., 1.],
        },
        Case {
            label: "a zero between ids takes the place of the last",
            texts: &[&[1., 0., 2.], &[3.]],
            around: BERT,
            ids: &[101., 1., 0., 102., 3., 102., 0.],
            types: &[0., 0., 0., 0., 1., 1., 0.],
            mask: &[1., 1., 1., 1., 1., 1., 0.],
        },
        Case {
            label: "negative and not a number are no tokens",
            texts: &[&[1., -1., f32::NAN], &[3.]],
            around: BERT,
            ids: &[101., 1., 102., 3., 102., 0.],
            types: &[0., 0., 0., 1., 1., 0.],
            mask: &[1., 1., 1., 1., 1., 0.],
        },
        Case {
            label: "no cell at all",
            texts: &[&[1.]],
            around: BERT,
            ids: &[],
            types: &[],
            mask: &[],
        },
    ];

    #[test]
    fn rows_are_those_of_the_rank_features() {
        for case in &CASES {
            let length = case.ids.len();
            // What was in the row before does not matter.
            let (mut ids, mut types, mut mask) =
                (vec![9.0; length], vec![9.0; length], vec![9.0; length]);
            input_ids(case.texts, case.around.0, case.around.1, &mut ids);
            token_type_ids(case.texts, &mut types);
            attention_mask(case.texts, &mut mask);
            assert_eq!(ids, case.ids, "ids: {}", case.label);
            assert_eq!(types, case.types, "types: {}", case.label);
            assert_eq!(mask, case.mask, "mask: {}", case.label);
        }
    }

    #[test]
    fn rows_may_be_integers() {
        let texts: [&[i64]; 2] = [&[7, 0], &[8]];
        let (mut ids, mut types, mut mask) = ([0; 6], [0_i64; 6], [0_i64; 6]);
        input_ids(&texts, i64::from(CLS), i64::from(SEP), &mut ids);
        token_type_ids(&texts, &mut types);
        attention_mask(&texts, &mut mask);
        assert_eq!(ids, [101, 7, 102, 8, 102, 0]);
        assert_eq!(types, [0, 0, 0, 1, 1, 0]);
        assert_eq!(mask, [1, 1, 1, 1, 1, 0]);
    }
}
