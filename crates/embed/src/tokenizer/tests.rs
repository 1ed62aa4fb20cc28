//! Tokenizers by their settings, and files that are none.

use super::{Cut, Settings, Specials, Tokenizer};

/// Says of itself that texts are cut at 8 tokens and padded to 16.
const FILE: &[u8] = include_bytes!("../../tests/data/tokenizer.json");
const VOCABULARY: &str = include_str!("../../tests/data/vocab.txt");

const TEXT: &str = "how does a ranking model score the first second document query search engine";

#[test]
fn texts_are_cut_and_wrapped_as_settings_say() {
    let around = Specials::Around(7, 9);
    for (label, specials, cut, start, length, end) in [
        ("as they are", Specials::None, Cut::Never, 220, 13, 241),
        ("cut", Specials::None, Cut::At(3), 220, 3, 211),
        ("cut where the file says", Specials::None, Cut::OfFileOr(512), 220, 8, 259),
        ("cut below what the file says", Specials::None, Cut::OfFileOr(2), 220, 2, 223),
        ("with CLS and SEP", Specials::OfFile, Cut::Never, 101, 15, 102),
        ("with both, cut", Specials::OfFile, Cut::At(4), 101, 4, 102),
        ("with two ids", around, Cut::Never, 7, 15, 9),
        ("with two ids, cut", around, Cut::At(4), 7, 4, 9),
    ] {
        let tokenizer = Tokenizer::from_json(FILE, Settings { specials, cut }).unwrap();
        let ids = tokenizer.encode(TEXT).unwrap();
        assert_eq!(ids.len(), length, "{label}: {ids:?}");
        assert_eq!((ids[0], ids[length - 1]), (start, end), "{label}");
    }
}

#[test]
fn no_text_has_no_tokens() {
    for (specials, ids) in [(Specials::None, vec![]), (Specials::OfFile, vec![101, 102])] {
        let settings = Settings { specials, cut: Cut::At(10) };
        let tokenizer = Tokenizer::from_json(FILE, settings).unwrap();
        for text in ["", " \t\n", "\u{0}"] {
            assert_eq!(tokenizer.encode(text).unwrap(), ids, "{text:?}");
        }
    }
}

#[test]
fn the_largest_id_counts_all_there_are() {
    let words = u32::try_from(VOCABULARY.lines().count()).unwrap();
    let none = Tokenizer::from_vocabulary(VOCABULARY, Settings::default()).unwrap();
    assert_eq!(none.largest_id(), words - 1);
    let settings = Settings { specials: Specials::Around(1, 70_000), cut: Cut::Never };
    assert_eq!(Tokenizer::from_vocabulary(VOCABULARY, settings).unwrap().largest_id(), 70_000);
    // A post-processor may have ids of its own.
    let file =
        String::from_utf8(FILE.to_vec()).unwrap().replace("[\"[SEP]\",102]", "[\"[SEP]\",900]");
    let settings = Settings { specials: Specials::OfFile, cut: Cut::Never };
    assert_eq!(Tokenizer::from_json(file.as_bytes(), settings).unwrap().largest_id(), 900);
}

#[test]
fn what_is_no_tokenizer_is_refused() {
    let deep = "[".repeat(10_000);
    let none = Settings::default();
    for (label, file, message) in [
        (
            "no JSON",
            "vocab",
            "not a tokenizer.json of Hugging Face: expected value at line 1 column 1",
        ),
        ("no model", "{}", "not a tokenizer.json of Hugging Face: "),
        ("a model of no kind", r#"{"model": {"type": "Magic"}}"#, "not a tokenizer.json"),
        ("deep", deep.as_str(), "not a tokenizer.json of Hugging Face: "),
        (
            "a part that is none",
            r#"{"decoder":typel}"#,
            "not a tokenizer.json of Hugging Face: expected",
        ),
    ] {
        let error = Tokenizer::from_json(file.as_bytes(), none).unwrap_err().to_string();
        assert!(error.starts_with(message), "{label}: {error}");
    }
    let error = Tokenizer::from_vocabulary("a\nb\n", none).unwrap_err().to_string();
    assert_eq!(error, "not a vocabulary with a word on each line: it has no [UNK]");
    let settings = Settings { specials: Specials::OfFile, cut: Cut::At(2) };
    let error = Tokenizer::from_json(FILE, settings).unwrap_err().to_string();
    assert_eq!(error, "at most 2 tokens leave no room for the 2 ids around each text");
}

#[test]
fn no_more_is_read_of_a_long_text_than_it_takes() {
    let settings = Settings { specials: Specials::OfFile, cut: Cut::At(16) };
    let tokenizer = Tokenizer::from_json(FILE, settings).unwrap();
    let words = TEXT.split(' ').cycle();
    let long: String = words.take(2_000_000).collect::<Vec<_>>().join(" ");
    assert!(long.len() > 10_000_000);
    let short = format!("{TEXT} {TEXT}");
    assert_eq!(tokenizer.encode(&long).unwrap(), tokenizer.encode(&short).unwrap());
    // Where the beginning has too few tokens, all is read.
    let spaces = " ".repeat(100_000);
    let apart = format!("score {spaces} ranking {spaces} score");
    assert_eq!(tokenizer.encode(&apart).unwrap(), tokenizer.encode("score ranking score").unwrap());
    let single = "a".repeat(200_000);
    let free = Tokenizer::from_json(FILE, Settings::default()).unwrap();
    let found = tokenizer.encode(&single).unwrap();
    assert_eq!(found[1..found.len() - 1], free.encode(&single).unwrap());
}
