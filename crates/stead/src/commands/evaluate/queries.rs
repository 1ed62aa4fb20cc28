//! What is asked: queries of BEIR (`queries.jsonl`), of MS MARCO (`queries.tsv`) and topics of TREC.

use std::path::Path;

use serde_json::{Map, Value as Json};

use super::files;
use crate::failure::Failure;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Query {
    pub(super) id: String,
    pub(super) text: String,
    /// Other parameters of the request.
    pub(super) more: Vec<(String, String)>,
}

/// The queries of a file: objects with `_id` or `id` and `text` or `query`, one on each line, the two with a tab between, or topics.
pub(super) fn queries(path: &Path) -> Result<Vec<Query>, Failure> {
    let mut reader = files::open(path)?;
    if files::first(path, &mut reader)? == Some(b'<') {
        let fail = |e: String| Failure::failed(format!("{}: {e}", path.display()));
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(|e| fail(e.to_string()))?;
        // Topics are older than UTF-8.
        return topics(&String::from_utf8_lossy(&bytes)).map_err(fail);
    }
    let mut found = Vec::new();
    files::lines(path, reader, |_, line| {
        found.push(query(line)?);
        Ok(())
    })?;
    Ok(found)
}

fn query(line: &str) -> Result<Query, String> {
    if !line.starts_with('{') {
        let (id, text) = line
            .split_once('\t')
            .ok_or("expected an object, or an id and a text with a tab between")?;
        return Ok(Query {
            id: id.trim().to_owned(),
            text: text.trim().to_owned(),
            more: Vec::new(),
        });
    }
    let mut object: Map<String, Json> = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let mut take = |names: [&str; 2]| {
        let found = names.iter().find_map(|name| object.remove(*name));
        found.map(|value| text(&value)).ok_or_else(|| format!("expected {:?}", names[0]))
    };
    let (id, text_of) = (take(["_id", "id"])?, take(["text", "query"])?);
    // What BEIR keeps beside the text is not for the request.
    object.remove("metadata");
    let more = object.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    Ok(Query { id, text: text_of, more })
}

/// A value as the text of an id or a parameter.
pub(super) fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Topics of TREC: the title is what is asked, the description another parameter.
fn topics(text: &str) -> Result<Vec<Query>, String> {
    // Of the same length, so that places are the same.
    let lower = text.to_ascii_lowercase();
    let begins: Vec<usize> = lower.match_indices("<top>").map(|(at, _)| at).collect();
    if begins.is_empty() {
        return Err("expected topics of TREC, <top> with <num> and <title>".to_owned());
    }
    let ends = begins.iter().skip(1).copied().chain([text.len()]);
    let topic = |(number, (begin, end)): (usize, (usize, usize))| {
        let part = |name, label| element(&text[begin..end], &lower[begin..end], name, label);
        let expected = |what: &str| format!("topic {}: expected {what}", number + 1);
        let id = part("<num>", "Number:").ok_or_else(|| expected("<num>"))?;
        let (title, description) = (part("<title>", "Topic:"), part("<desc>", "Description:"));
        let more = description.iter().map(|text| ("desc".to_owned(), text.clone())).collect();
        let asked = title.or(description).ok_or_else(|| expected("<title> or <desc>"))?;
        Ok(Query { id, text: asked, more })
    };
    begins.iter().copied().zip(ends).enumerate().map(topic).collect()
}

/// What stands behind a tag up to the next one, without the label that TREC writes before it; nothing if that is empty. The ends of
/// elements are left out as often as not.
fn element(text: &str, lower: &str, tag: &str, label: &str) -> Option<String> {
    let begin = lower.find(tag)? + tag.len();
    let inside = text.get(begin..)?;
    let is_tag = |at: &usize| {
        let next = inside.as_bytes().get(at + 1);
        next.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'/')
    };
    let end = inside.match_indices('<').map(|(at, _)| at).find(is_tag).unwrap_or(inside.len());
    let inside = inside.get(..end)?.trim_start();
    let words = inside.strip_prefix(label).unwrap_or(inside).split_whitespace();
    let found = words.collect::<Vec<_>>().join(" ");
    Some(found).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Query, query, topics};

    fn shown(query: &Query) -> (&str, &str, String) {
        let more: Vec<String> = query.more.iter().map(|(n, v)| format!("{n}={v}")).collect();
        (&query.id, &query.text, more.join(" "))
    }

    #[test]
    fn queries_are_objects_or_have_a_tab() {
        for (line, id, text, more) in [
            ("{\"_id\": \"1\", \"text\": \"a b\", \"metadata\": {}}", "1", "a b", ""),
            ("{\"id\": 7, \"query\": \"c\", \"hits\": 3}", "7", "c", "hits=3"),
            ("9\twhat is it", "9", "what is it", ""),
        ] {
            assert_eq!(shown(&query(line).unwrap()), (id, text, more.to_owned()), "{line}");
        }
        assert!(query("nothing").unwrap_err().contains("a tab"));
        assert_eq!(query("{\"_id\": \"1\"}").unwrap_err(), "expected \"text\"");
    }

    #[test]
    fn topics_of_all_years_are_read() {
        for (label, text, expected) in [
            (
                "without ends",
                "<top>\n\n<num> Number: 301 \n<title> International Organized\nCrime \n\n<desc> Description: \nIdentify a < b.\n\n<narr> Narrative: \nx\n</top>\n",
                vec![("301", "International Organized Crime", "desc=Identify a < b.")],
            ),
            (
                "with ends",
                "<top><num>1</num><title>a</title></top><top><num>2</num><title>b c</title></top>",
                vec![("1", "a", ""), ("2", "b c", "")],
            ),
            (
                "of the first years",
                "<TOP>\n<head> Tipster\n<num> Number: 051\n<dom> x\n<title> Topic: Airbus\n<desc> Description:\n</TOP>",
                vec![("051", "Airbus", "")],
            ),
            (
                "without a title",
                "<top> <num> 5 <title> <desc> Description: what \u{e9} </top>",
                vec![("5", "what \u{e9}", "desc=what \u{e9}")],
            ),
        ] {
            let found = topics(text).unwrap();
            let found: Vec<_> = found.iter().map(shown).collect();
            let expected: Vec<_> =
                expected.into_iter().map(|(id, text, more)| (id, text, more.to_owned())).collect();
            assert_eq!(found, expected, "{label}");
        }
        for (text, told) in [
            ("<topics/>", "expected topics of TREC, <top> with <num> and <title>"),
            ("<top><num>1<title>a<top><title>b", "topic 2: expected <num>"),
            ("<top><num> Number: 1 <title>", "topic 1: expected <title> or <desc>"),
        ] {
            assert_eq!(topics(text).unwrap_err(), told);
        }
    }
}
