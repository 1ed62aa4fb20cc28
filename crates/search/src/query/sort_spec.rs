//! What `ranking.sorting` says: `+uca(name,nb_NO,tertiary) -missing(year,as,1900) -[relevance]`.

/// The most characters of a name, locale or value that an error shows.
const SHOWN: usize = 40;

/// One of several things that hits are to be ordered by, as it is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// The attribute, or what stands in brackets.
    pub name: String,
    /// Whether the greatest is first.
    pub descending: Option<bool>,
    pub function: Option<String>,
    pub locale: Option<String>,
    pub strength: Option<String>,
    pub missing: Option<SaidMissing>,
}

/// Where documents without a value are to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SaidMissing {
    First,
    Last,
    As(String),
}

/// Reads all of it.
///
/// # Errors
/// When it is not in the language, with the place and what was expected.
pub(super) fn read(text: &str) -> Result<Vec<Said>, String> {
    let mut reader = Reader { text, at: 0 };
    let mut found = Vec::new();
    loop {
        reader.skip();
        if reader.rest().is_empty() {
            return Ok(found);
        }
        let descending = match (reader.take('-'), reader.take('+')) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let said = reader.object(true)?;
        if !matches!(reader.peek(), None | Some(' ')) {
            return Err(reader.expected("a space"));
        }
        found.push(Said { descending, ..said });
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(sign);
        self.at += if is_next { sign.len_utf8() } else { 0 };
        is_next
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        self.skip();
        match self.take(sign) {
            true => Ok(()),
            false => Err(self.expected(&sign.to_string())),
        }
    }

    fn expected(&self, what: &str) -> String {
        let found: String = match self.rest() {
            "" => "the end".to_owned(),
            rest => format!("'{}'", rest.chars().take(SHOWN).collect::<String>()),
        };
        format!(
            "Could not set 'ranking.sorting': 1:{}: expected {what}, found {found}",
            self.at + 1
        )
    }

    /// What ends at a space, a comma, a parenthesis or a quote.
    fn token(&mut self, what: &str) -> Result<String, String> {
        self.skip();
        let is_end = |c: char| " ,()\"\\".contains(c);
        let rest = self.rest();
        let token = rest.get(..rest.find(is_end).unwrap_or(rest.len())).unwrap_or_default();
        if token.is_empty() {
            return Err(self.expected(what));
        }
        let token = token.to_owned();
        self.at += token.len();
        Ok(token)
    }

    /// A token, or a text in quotes with `\` before those that belong to it.
    fn value(&mut self) -> Result<String, String> {
        self.skip();
        if !self.take('"') {
            return self.token("a value");
        }
        let mut value = String::new();
        loop {
            let Some(mut next) = self.peek() else { return Err(self.expected("\"")) };
            self.at += next.len_utf8();
            match next {
                '"' => return Ok(value),
                '\\' => {
                    let Some(behind) = self.peek() else { return Err(self.expected("\"")) };
                    self.at += behind.len_utf8();
                    next = behind;
                }
                _ => {}
            }
            value.push(next);
        }
    }

    /// An attribute, a function of one, or what `missing` says of either.
    fn object(&mut self, may_be_missing: bool) -> Result<Said, String> {
        let word = self.token("the name of an attribute")?;
        if !self.take('(') {
            return Ok(Said { name: word, ..Said::default() });
        }
        let mut said;
        match word.to_ascii_lowercase().as_str() {
            "missing" if may_be_missing => {
                said = self.object(false)?;
                self.expect(',')?;
                let policy = self.token("first, last or as")?;
                said.missing = Some(match policy.to_ascii_lowercase().as_str() {
                    "first" => SaidMissing::First,
                    "last" => SaidMissing::Last,
                    "as" => {
                        self.expect(',')?;
                        SaidMissing::As(self.value()?)
                    }
                    _ => return Err(format!("Unknown missing policy '{policy:.SHOWN$}'")),
                });
            }
            function @ ("lowercase" | "raw" | "uca") => {
                let name = self.token("the name of an attribute")?;
                said = Said { name, function: Some(function.to_owned()), ..Said::default() };
                self.skip();
                if function == "uca" && self.take(',') {
                    said.locale = Some(self.token("a locale")?);
                    self.skip();
                    if self.take(',') {
                        said.strength = Some(self.token("a strength")?);
                    }
                }
            }
            _ => return Err(format!("Unknown sort function '{word:.SHOWN$}'")),
        }
        self.expect(')')?;
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn what_hits_are_ordered_by_is_read() {
        for (text, expected) in [
            ("", ""),
            (" +a  -b.c [rank]", "+a - - - -; -b.c - - - -; ?[rank] - - - -"),
            ("-RAW(a)", "-a raw - - -"),
            ("uca(a)", "?a uca - - -"),
            ("+uca( a , nb_NO )", "+a uca nb_NO - -"),
            ("+uca(a,nb_NO,TERTIARY) b", "+a uca nb_NO TERTIARY -; ?b - - - -"),
            ("-missing(a,first)", "-a - - - First"),
            ("missing(m.key,LAST)", "?m.key - - - Last"),
            ("+missing(a,as,-42)", "+a - - - As(\"-42\")"),
            (
                r#"+missing(lowercase(a),as,"nothing \"here\"") b"#,
                r#"+a lowercase - - As("nothing \"here\""); ?b - - - -"#,
            ),
        ] {
            let shown: Vec<String> = read(text)
                .unwrap()
                .into_iter()
                .map(|said| {
                    let sign = said.descending.map_or("?", |down| if down { "-" } else { "+" });
                    let or = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
                    let missing = said.missing.map(|m| format!("{m:?}"));
                    let (function, locale) = (or(said.function), or(said.locale));
                    let (strength, missing) = (or(said.strength), or(missing));
                    format!("{sign}{} {function} {locale} {strength} {missing}", said.name)
                })
                .collect();
            assert_eq!(shown.join("; "), expected, "{text}");
        }
    }

    #[test]
    fn what_is_in_no_language_is_refused_with_its_place() {
        let expected = |text| format!("Could not set 'ranking.sorting': {text}");
        for (text, error) in [
            ("+", expected("1:2: expected the name of an attribute, found the end")),
            ("raw(a", expected("1:6: expected ), found the end")),
            ("raw(a,en)", expected("1:6: expected ), found ',en)'")),
            ("a,b", expected("1:2: expected a space, found ',b'")),
            ("missing(a,as,\"x", expected("1:16: expected \", found the end")),
            ("missing(a,soon)", "Unknown missing policy 'soon'".to_owned()),
            ("missing(missing(a,first),last)", "Unknown sort function 'missing'".to_owned()),
            ("upper(t)", "Unknown sort function 'upper'".to_owned()),
        ] {
            assert_eq!(read(text).unwrap_err(), error, "{text}");
        }
    }
}
