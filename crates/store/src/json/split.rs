//! A stream of JSON objects, one a line or in an array, as their bytes with the lines on which they begin.

use std::io::BufRead;

use crate::error::FeedError;

/// The longest document in bytes.
pub(crate) const MAX_DOCUMENT: usize = 64 << 20;

/// The objects of a stream.
#[derive(Debug)]
pub struct Objects<R> {
    reader: R,
    line: usize,
    /// Whether they stand in an array, and whether that has ended.
    in_array: bool,
    is_behind: bool,
    /// How many bytes were read.
    pub(crate) bytes: u64,
    object: Vec<u8>,
}

impl<R: BufRead> Objects<R> {
    /// Those of a reader.
    pub fn new(reader: R) -> Objects<R> {
        let (in_array, is_behind, object) = (false, false, Vec::new());
        Objects { reader, line: 1, in_array, is_behind, bytes: 0, object }
    }

    /// The next object with its line; nothing at the end.
    ///
    /// # Errors
    /// When the stream cannot be read, and where something else than an object stands, or one that does not end or is too long.
    #[allow(clippy::should_implement_trait)] // What it gives lies in the stream.
    pub fn next(&mut self) -> Result<Option<(usize, &[u8])>, FeedError> {
        let (mut begin, mut depth, mut in_text, mut escaped) = (0, 0_usize, false, false);
        self.object.clear();
        loop {
            let fault = |e: std::io::Error| FeedError::new(self.line, e.to_string());
            let buffer = self.reader.fill_buf().map_err(fault)?;
            if buffer.is_empty() {
                return match (depth, self.in_array && !self.is_behind) {
                    (0, false) => Ok(None),
                    (0, true) => {
                        Err(FeedError::new(self.line, "expected ] at the end of the array"))
                    }
                    _ => Err(FeedError::new(begin, "the document does not end")),
                };
            }
            let mut used = 0;
            let mut ends = false;
            for byte in buffer {
                used += 1;
                self.line += usize::from(*byte == b'\n');
                if depth == 0 {
                    match byte {
                        b' ' | b'\t' | b'\r' | b'\n' => {}
                        b',' if self.in_array && !self.is_behind => {}
                        b'[' if !self.in_array => self.in_array = true,
                        b']' if self.in_array && !self.is_behind => self.is_behind = true,
                        b'{' if !self.is_behind => {
                            (begin, depth) = (self.line, 1);
                        }
                        other => {
                            let shown = char::from(*other).escape_default();
                            let text = format!("expected a document, found {shown}");
                            return Err(FeedError::new(self.line, text));
                        }
                    }
                    continue;
                }
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if in_text => escaped = true,
                    b'"' => in_text = !in_text,
                    b'{' | b'[' if !in_text => depth += 1,
                    b'}' | b']' if !in_text => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    ends = true;
                    break;
                }
            }
            if begin > 0 {
                // What stands before the object in this piece is blank, or a comma of the array.
                let from = match self.object.is_empty() {
                    true => buffer[..used].iter().position(|b| *b == b'{').unwrap_or(0),
                    false => 0,
                };
                self.object.extend_from_slice(&buffer[from..used]);
            }
            self.reader.consume(used);
            self.bytes += used as u64;
            if self.object.len() > MAX_DOCUMENT {
                let text = format!("a document of more than {MAX_DOCUMENT} bytes");
                return Err(FeedError::new(begin, text));
            }
            if ends {
                return Ok(Some((begin, &self.object)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::Objects;

    fn objects(text: &str, piece: usize) -> Result<Vec<(usize, String)>, String> {
        let mut objects = Objects::new(BufReader::with_capacity(piece, text.as_bytes()));
        let mut found = Vec::new();
        while let Some((line, object)) = objects.next().map_err(|e| e.to_string())? {
            found.push((line, String::from_utf8(object.to_vec()).unwrap()));
        }
        Ok(found)
    }

    #[test]
    fn lines_arrays_and_objects_over_lines_are_split() {
        for (text, expected) in [
            ("", vec![]),
            ("\n\n", vec![]),
            ("[]", vec![]),
            ("{}\n{\"a\":[1]}\n", vec![(1, "{}"), (2, "{\"a\":[1]}")]),
            (" [ {},\n\n{\"}\":\"\\\"{\"} ]\n", vec![(1, "{}"), (3, "{\"}\":\"\\\"{\"}")]),
            ("{\n \"a\": {}\n}{}", vec![(1, "{\n \"a\": {}\n}"), (3, "{}")]),
        ] {
            for piece in [1, 2, 3, 1000] {
                let found = objects(text, piece).unwrap();
                let found: Vec<(usize, &str)> =
                    found.iter().map(|(l, o)| (*l, o.as_str())).collect();
                assert_eq!(found, expected, "{text:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn what_is_no_document_is_refused() {
        for (text, expected) in [
            ("{}\nx", "line 2: expected a document, found x"),
            ("{}\n]", "line 2: expected a document, found ]"),
            ("[{}", "line 1: expected ] at the end of the array"),
            ("\n{\"a\":\n", "line 2: the document does not end"),
            ("[] {}", "line 1: expected a document, found {"),
            ("{},{}", "line 1: expected a document, found ,"),
        ] {
            assert_eq!(objects(text, 2).unwrap_err(), expected, "{text:?}");
        }
    }
}
