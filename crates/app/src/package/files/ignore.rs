//! `.vespaignore`: patterns of files that stay out of a package.

/// The most patterns that are kept.
const MAX_PATTERNS: usize = 1000;

/// Patterns, one on each line: `*` and `?` stand for anything but `/`; a slash at the end means folders only; a
/// pattern without another slash is one of a name, in whatever folder.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    patterns: Vec<String>,
}

impl Ignored {
    pub(super) fn parse(text: &str) -> Ignored {
        let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
        Ignored { patterns: lines.take(MAX_PATTERNS).map(str::to_owned).collect() }
    }

    /// Whether a file or folder is ignored.
    pub(super) fn has(&self, path: &str, is_folder: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.patterns.iter().any(|pattern| {
            let stem = pattern.trim_end_matches('/');
            let is_possible = is_folder || stem.len() == pattern.len();
            let stem = stem.trim_start_matches('/');
            let subject = if pattern.trim_end_matches('/').contains('/') { path } else { name };
            is_possible && matches(stem.as_bytes(), subject.as_bytes())
        })
    }
}

/// Whether a pattern matches a text as a whole. It goes back to the last `*` only, so it takes at most the product of
/// both lengths.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(b'?') if text[t] != b'/' => (p, t) = (p + 1, t + 1),
            Some(c) if *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, from)) if text[from] != b'/' => {
                    star = Some((at, from + 1));
                    (p, t) = (at + 1, from + 1);
                }
                _ => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::Ignored;

    #[test]
    fn patterns_match_names_and_paths() {
        for (pattern, path, is_folder, expected) in [
            ("*.bak", "schemas/a.sd.bak", false, true),
            ("*.bak", "schemas/a.sd", false, false),
            ("ext/", "ext", true, true),
            ("ext/", "ext", false, false),
            ("ext", "a/ext", true, true),
            ("schemas/*.old", "schemas/a.old", false, true),
            ("schemas/*.old", "schemas/b/a.old", false, false),
            ("/target", "target", true, true),
            ("a?c", "abc", false, true),
            ("a*b*c", "aXbYbZc", false, true),
            ("a*b*d", "aXbYbZc", false, false),
            ("*", "anything", false, true),
        ] {
            let ignored = Ignored::parse(pattern);
            assert_eq!(ignored.has(path, is_folder), expected, "{pattern} {path}");
        }
    }
}
