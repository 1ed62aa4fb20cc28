use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::{Mark, Piece, SnippetSettings, marked, snippet};

/// The marks of a text: its words among some, each a term.
fn marks(text: &str, terms: &[&str]) -> Vec<Mark> {
    let words = stead_text::Analysis { is_stemmed: false, ..stead_text::Analysis::default() };
    let words = words.terms(text, stead_text::Language::english());
    let mark = |word: stead_text::Term<'_>| {
        let term = terms.iter().position(|term| *term == word.text)?;
        Some(Mark { bytes: word.bytes, term })
    };
    words.filter_map(mark).collect()
}

fn show(text: &str, pieces: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(bytes) => text[bytes.clone()].to_owned(),
        Piece::Mark(bytes) => format!("[{}]", &text[bytes.clone()]),
        Piece::Cut => "|".to_owned(),
    };
    pieces.iter().map(piece).collect()
}

#[test]
fn all_of_a_text_is_marked() {
    for (text, terms, expected) in [
        ("", &["a"][..], ""),
        ("nothing here", &["a"], "nothing here"),
        ("The sea, the sky.", &["sea", "sky"], "The [sea], the [sky]."),
        ("sea", &["sea"], "[sea]"),
        ("caf\u{e9} \u{e9}t\u{e9}", &["ete"], "caf\u{e9} [\u{e9}t\u{e9}]"),
    ] {
        assert_eq!(show(text, &marked(text, &marks(text, terms))), expected, "{text}");
    }
    let grams = [0..2, 1..3, 3..4, 6..8].map(|bytes| Mark { bytes, term: 0 });
    assert_eq!(show("abcdefgh", &marked("abcdefgh", &grams)), "[abcd]ef[gh]");
}

#[test]
fn the_best_parts_of_a_text_are_shown() {
    let settings = SnippetSettings {
        length: 60,
        max_matches: 2,
        min_length: 20,
        surround_max: 15,
        window: 30,
        has_beginning: true,
    };
    let filler = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor ";
    let text = |parts: &[&str]| parts.join(filler);
    for (label, text, terms, expected) in [
        ("short", "The sea is blue.".to_owned(), &["sea"][..], "The [sea] is blue."),
        (
            "in the middle",
            text(&["", "the blue sea there ", ""]),
            &["sea"],
            "|tempor the blue [sea] there lorem ipsum|",
        ),
        ("at the beginning", text(&["sea ", "", ""]), &["sea"], "[sea] lorem ipsum dolor|"),
        ("at the end", text(&["", "", "a sea."]), &["sea"], "|eiusmod tempor a [sea]."),
        (
            "together before alone",
            text(&["sea ", "more ", "the sea is blue ", ""]),
            &["sea", "blue"],
            "[sea] lorem ipsum dolor|eiusmod tempor the [sea] is [blue] lorem ipsum dolor|",
        ),
        (
            "nothing found",
            text(&["", ""]),
            &["sea"],
            "lorem ipsum dolor sit amet consectetur adipiscing elit sed|",
        ),
    ] {
        let found = snippet(&text, &marks(&text, terms), &settings);
        assert_eq!(show(&text, &found), expected, "{label}");
    }
    let long = "x".repeat(200);
    assert_eq!(snippet(&long, &[], &settings), [Piece::Text(0..60), Piece::Cut]);
}

#[test]
fn words_by_chance_lie_in_what_is_shown() {
    let filler = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor ";
    let text = format!("{}sea sky sea {}", filler.repeat(6), filler.repeat(6));
    let found = snippet(&text, &marks(&text, &["sea", "sky"]), &SnippetSettings::default());
    let shown = show(&text, &found);
    assert!(shown.contains("[sea] [sky] [sea]"), "{shown}");
    assert!(shown.starts_with('|') && shown.ends_with('|') && shown.len() < 330, "{shown}");
}

proptest! {
    /// What is shown stands in the text in that order, with nothing marked that is not, and is about as long as it should be.
    #[test]
    fn any_text_is_shown_in_order(
        text in "([a-d\u{e9}\u{4e2d}]{1,4}[ ,.]{0,2}){0,120}",
        length in 1_usize..300,
        surround_max in 1_usize..100,
        terms in 1_usize..4,
    ) {
        let terms = &["a", "b", "ab"][..terms];
        let marks = marks(&text, terms);
        let settings = SnippetSettings { length, surround_max, ..SnippetSettings::default() };
        let pieces = snippet(&text, &marks, &settings);
        let (mut at, mut size, mut cut) = (0, 0, false);
        for piece in &pieces {
            match piece {
                Piece::Cut => cut = true,
                Piece::Text(bytes) | Piece::Mark(bytes) => {
                    prop_assert!(if cut { bytes.start >= at } else { bytes.start == at }, "{pieces:?}");
                    prop_assert!(text.get(bytes.clone()).is_some_and(|part| !part.is_empty()));
                    (at, cut) = (bytes.end, false);
                    size += bytes.len();
                }
            }
        }
        prop_assert_eq!(cut, at < text.len(), "{:?}", pieces);
        let has_mark = pieces.iter().any(|piece| matches!(piece, Piece::Mark(_)));
        prop_assert_eq!(has_mark, !marks.is_empty());
        // Each of the words that are shown may have the least around it, and words are whole.
        let most = length.max(9 * (2 * super::SURROUND_MIN + 8)) + 2 * 9 * super::LONGEST_WORD;
        prop_assert!(size <= most.max(length + super::SLACK), "{size} {pieces:?}");
    }
}
