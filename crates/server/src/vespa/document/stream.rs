//! Visits whose documents are sent as they are come to, as lines of JSON or one object (Vespa, `StreamingJsonLinesResponse`).

use super::Call;
use super::answer::{CONTENT_TYPE, Failure};
use super::walk::{Found, Place};
use crate::http::{Reply, Stream};
use bytes::Bytes;
use http::HeaderValue;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Instant;
use stead_search::result::Item;
use stead_store::DocumentType;
use tokio::sync::mpsc::Sender;

const JSON_LINES: HeaderValue = HeaderValue::from_static("application/jsonl; charset=UTF-8");

/// Bytes that are sent at a time.
const PIECE: usize = 64 << 10;

/// The form of a streamed answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `{"pathId", "documents": [...], "documentCount", "continuation"?}`
    Object,
    /// `{"put", "fields"}`, `{"continuation": {"token"?, "percentFinished"}}`, `{"sessionStats": {"documentCount"}}`
    Lines,
}

/// What was made and not yet sent.
struct Output {
    form: Form,
    sender: Sender<Bytes>,
    bytes: Vec<u8>,
    count: usize,
    /// Whether the client is there.
    is_heard: bool,
}

impl Call {
    /// A visit of everything from the continuation on, or of as many documents as are wanted. Whatever is wrong with the request is
    /// told before anything is sent.
    pub(super) fn stream(self: Arc<Call>, accept: Option<&str>) -> Result<Reply, Failure> {
        let form = match accept.is_some_and(takes_lines) {
            true => Form::Lines,
            false => Form::Object,
        };
        // What the walk may refuse it refuses at its begin.
        let shown = |kind: &DocumentType| self.shown(kind);
        self.walk(&shown, &mut |_| false, &mut |_| Ok(()))?;
        for (kind, _) in self.deployed.kinds() {
            if self.path.kind.as_ref().is_none_or(|(_, wanted)| wanted == kind) {
                shown(self.view(kind)?.kind())?;
            }
        }
        let (sender, stream) = Stream::new();
        tokio::task::spawn_blocking(move || self.send(form, sender));
        let content_type = if form == Form::Lines { JSON_LINES } else { CONTENT_TYPE };
        Ok(Reply { content_type, stream: Some(stream), ..Reply::empty() })
    }

    fn send(&self, form: Form, sender: Sender<Bytes>) {
        let begin = Instant::now();
        let wanted = Cell::new(self.parameters.wanted.unwrap_or(usize::MAX));
        let output = Output { form, sender, bytes: Vec::new(), count: 0, is_heard: true };
        let output = RefCell::new(output);
        output.borrow_mut().open(&self.path_id);
        let mut goes_on = |place: Place| {
            let mut output = output.borrow_mut();
            output.flush_if_full(place);
            let is_late = self.parameters.has_timeout && begin.elapsed() > self.parameters.timeout;
            wanted.get() > 0 && output.is_heard && !is_late
        };
        let mut found = |found: Found<'_>| {
            output.borrow_mut().document(found.id, found.fields);
            wanted.set(wanted.get() - 1);
            Ok(())
        };
        let ended = self.walk(&|kind| self.shown(kind), &mut goes_on, &mut found);
        output.into_inner().close(ended);
    }
}

/// Whether a client prefers lines of JSON, or takes them as gladly as an object.
fn takes_lines(accept: &str) -> bool {
    let quality = |name: &str| {
        let parts = accept.split(',').map(|part| {
            let mut words = part.split(';').map(str::trim);
            let is_it = words.next().is_some_and(|n| n.eq_ignore_ascii_case(name));
            let q = words.find_map(|word| word.strip_prefix("q=")?.parse::<f32>().ok());
            (is_it, q.unwrap_or(1.0))
        });
        parts.filter(|(is_it, _)| *is_it).map(|(_, q)| q).fold(0.0, f32::max)
    };
    let lines = quality("application/jsonl");
    lines > 0.0 && lines >= quality("application/json")
}

impl Output {
    fn open(&mut self, path_id: &str) {
        if self.form == Form::Object {
            self.bytes.extend_from_slice(b"{\"pathId\":");
            self.bytes.extend(Item::text(path_id).json());
            self.bytes.extend_from_slice(b",\"documents\":[");
        }
    }

    fn document(&mut self, id: &str, fields: Option<Item>) {
        let name = if self.form == Form::Lines { "put" } else { "id" };
        if self.form == Form::Object && self.count > 0 {
            self.bytes.push(b',');
        }
        let mut members = vec![(name.to_owned(), Item::text(id))];
        members.extend(fields.map(|fields| ("fields".to_owned(), fields)));
        self.item(&Item::Map(members));
        self.count += 1;
    }

    /// An object, on a line of its own if there are lines.
    fn item(&mut self, item: &Item) {
        self.bytes.extend(item.json());
        if self.form == Form::Lines {
            self.bytes.push(b'\n');
        }
    }

    fn flush_if_full(&mut self, place: Place) {
        if self.bytes.len() >= PIECE {
            self.continuation(Some(place));
            self.flush();
        }
    }

    /// How to go on behind what stands before, in lines.
    fn continuation(&mut self, place: Option<Place>) {
        if self.form == Form::Lines {
            let percent = Item::Number(place.map_or(100.0, |place| place.percent()));
            let mut members: Vec<(String, Item)> = Vec::new();
            members.extend(place.map(|place| ("token".to_owned(), Item::text(place.to_string()))));
            members.push(("percentFinished".to_owned(), percent));
            self.item(&Item::map([("continuation", Item::Map(members))]));
        }
    }

    fn flush(&mut self) {
        let piece = Bytes::from(std::mem::take(&mut self.bytes));
        self.is_heard = self.is_heard && self.sender.blocking_send(piece).is_ok();
    }

    fn close(mut self, ended: Result<Option<Place>, Failure>) {
        let count = Item::count(self.count);
        match (self.form, ended) {
            (Form::Lines, Ok(place)) => {
                self.item(&Item::map([("sessionStats", Item::map([("documentCount", count)]))]));
                self.continuation(place);
            }
            (Form::Lines, Err(failure)) => {
                let text = Item::text(failure.message());
                let message = Item::map([("text", text), ("severity", Item::text("error"))]);
                self.item(&Item::map([("message", message)]));
            }
            (Form::Object, ended) => {
                let mut more = vec![("documentCount".to_owned(), count)];
                more.extend(match ended {
                    Ok(place) => {
                        place.map(|p| ("continuation".to_owned(), Item::text(p.to_string())))
                    }
                    Err(failure) => Some(("message".to_owned(), Item::text(failure.message()))),
                });
                let members = Item::Map(more).json();
                self.bytes.extend_from_slice(b"],");
                self.bytes.extend_from_slice(members.get(1..).unwrap_or_default());
            }
        }
        self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::takes_lines;

    #[test]
    fn lines_go_to_who_wants_them() {
        for (accept, expected) in [
            ("application/jsonl", true),
            ("application/json, application/jsonl", true),
            ("application/jsonl;q=0.5, application/json", false),
            ("application/jsonl; q=0", false),
            ("*/*", false),
            ("application/json", false),
        ] {
            assert_eq!(takes_lines(accept), expected, "{accept}");
        }
    }
}
