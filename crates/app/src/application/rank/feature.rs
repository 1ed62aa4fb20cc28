//! Rank features: values of a document, a query or both that expressions know by name.

use std::fmt;

/// A rank feature, or a family of them.
#[derive(Debug, PartialEq, Eq)]
pub struct RankFeature {
    /// The name before the parentheses.
    pub name: &'static str,
    /// What stands in the parentheses.
    pub parameters: &'static [Parameter],
    /// Its values by the names behind the dot; the empty name is the feature itself.
    pub outputs: &'static [&'static str],
    /// What it is where there is nothing to compute it from.
    pub default: &'static str,
    /// What it is.
    pub about: &'static str,
}

/// A parameter.
#[derive(Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in the documentation.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// How often it may stand: once, perhaps once, or any number of times.
    pub count: Count,
}

/// How often a parameter may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Once.
    One,
    /// Once or not at all.
    Maybe,
    /// Any number of times.
    Many,
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A field.
    Field,
    /// A field that is an attribute.
    Attribute,
    /// A name of any kind: of a query term, a label, a dimension.
    Name,
    /// A number.
    Number,
    /// A feature.
    Feature,
}

/// The name of a feature as it stands in an expression, in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureName<'n> {
    /// The name before the parentheses.
    pub name: &'n str,
    /// What stands between the commas.
    pub arguments: Vec<&'n str>,
    /// What stands behind the dot.
    pub output: &'n str,
}

impl fmt::Display for FeatureName<'_> {
    /// As results name it: without spaces between the arguments (Vespa, `Arguments.java`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if !self.arguments.is_empty() {
            write!(f, "({})", self.arguments.join(","))?;
        }
        if self.output.is_empty() { Ok(()) } else { write!(f, ".{}", self.output) }
    }
}

impl<'n> FeatureName<'n> {
    /// The parts of `name(a,b).output`.
    #[must_use]
    pub fn parse(text: &'n str) -> Option<FeatureName<'n>> {
        let Some(open) = text.find('(') else {
            let (name, output) = text.split_once('.').unwrap_or((text, ""));
            return Some(FeatureName { name, arguments: Vec::new(), output });
        };
        let (mut arguments, mut from, mut depth, mut quote) =
            (Vec::new(), open + 1, 0_usize, false);
        let bytes = text.as_bytes();
        let mut at = open + 1;
        loop {
            match bytes.get(at)? {
                b'\\' if quote => at += 1,
                b'"' => quote = !quote,
                _ if quote => {}
                b'(' | b'{' | b'[' => depth += 1,
                b')' if depth == 0 => break,
                b')' | b'}' | b']' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    arguments.push(text.get(from..at)?.trim());
                    from = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        let last = text.get(from..at)?.trim();
        if !(last.is_empty() && arguments.is_empty()) {
            arguments.push(last);
        }
        let output = match text.get(at + 1..)? {
            "" => "",
            rest => rest.strip_prefix('.')?,
        };
        Some(FeatureName { name: &text[..open], arguments, output })
    }

    /// An argument without the name before it, as in `field: title`, and without the quotes around it.
    #[must_use]
    pub fn argument(&self, at: usize) -> Option<&'n str> {
        let text = *self.arguments.get(at)?;
        let text = match text.split_once(':') {
            Some(("field" | "label", rest)) => rest.trim(),
            _ => text,
        };
        Some(text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text))
    }
}

impl RankFeature {
    /// The feature as documentation writes it: `bm25(field)`.
    #[must_use]
    pub fn signature(&self) -> String {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|p| match p.count {
                Count::One => p.name.to_owned(),
                Count::Maybe => format!("[{}]", p.name),
                Count::Many => format!("{}...", p.name),
            })
            .collect();
        if parameters.is_empty() {
            self.name.to_owned()
        } else {
            format!("{}({})", self.name, parameters.join(", "))
        }
    }

    /// Whether it takes so many arguments.
    #[must_use]
    pub fn takes(&self, count: usize) -> bool {
        let least = self.parameters.iter().filter(|p| p.count == Count::One).count();
        let is_open = self.parameters.iter().any(|p| p.count == Count::Many);
        count >= least && (is_open || count <= self.parameters.len())
    }

    /// The parameter that an argument is for.
    #[must_use]
    pub fn parameter(&self, at: usize) -> Option<&Parameter> {
        self.parameters
            .get(at)
            .or_else(|| self.parameters.last().filter(|p| p.count == Count::Many))
    }
}

#[cfg(test)]
mod tests {
    use super::FeatureName;

    #[test]
    fn names_fall_into_their_parts() {
        for (text, name, arguments, output) in [
            ("nativeRank", "nativeRank", vec![], ""),
            ("random.match", "random", vec![], "match"),
            ("bm25(title)", "bm25", vec!["title"], ""),
            ("f(a,b).c.d", "f", vec!["a", "b"], "c.d"),
            ("f(g(a,b),\"x,)\")", "f", vec!["g(a,b)", "\"x,)\""], ""),
            ("now()", "now", vec![], ""),
        ] {
            let parsed = FeatureName::parse(text).unwrap();
            assert_eq!((parsed.name, parsed.arguments, parsed.output), (name, arguments, output));
        }
        let named = FeatureName::parse("bm25(field: \"title\", label:a)").unwrap();
        assert_eq!((named.argument(0), named.argument(1)), (Some("title"), Some("a")));
        for (text, expected) in
            [("f( a ,b ).c", "f(a,b).c"), ("now", "now"), ("f(\" \", g(a, b))", "f(\" \",g(a, b))")]
        {
            assert_eq!(FeatureName::parse(text).unwrap().to_string(), expected);
        }
        for text in ["f(", "f(a", "f(a)b"] {
            assert_eq!(FeatureName::parse(text), None, "{text}");
        }
    }
}
