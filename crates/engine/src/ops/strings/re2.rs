//! Patterns of RE2 as patterns of the crate `regex`. Both have the same syntax, after Perl; what differs is written
//! out here: Perl's classes and word borders are those of ASCII in RE2, sets have no operations, and quotes are known.

/// The pattern for `regex`.
///
/// # Errors
/// What RE2 does not know but `regex` would take, in words.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let behind = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = match c {
            '\\' => escape(behind, &mut out, false)?,
            '[' => set(behind, &mut out)?,
            '(' => {
                check_flags(behind)?;
                out.push('(');
                behind
            }
            c => {
                out.push(c);
                behind
            }
        };
    }
    Ok(out)
}

/// What follows a backslash; gives what is behind it.
fn escape<'p>(rest: &'p str, out: &mut String, in_set: bool) -> Result<&'p str, String> {
    let Some(c) = rest.chars().next() else {
        return Err("it ends with a backslash".to_owned());
    };
    let behind = rest.get(c.len_utf8()..).unwrap_or_default();
    match c {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str("[\\t\\n\\f\\r ]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'b' if !in_set => out.push_str("(?-u:\\b)"),
        'B' if !in_set => out.push_str("(?-u:\\B)"),
        'Q' if !in_set => {
            let (quoted, behind) = behind.split_once("\\E").unwrap_or((behind, ""));
            out.push_str(&regex::escape(quoted));
            return Ok(behind);
        }
        // RE2 takes every mark of ASCII behind a backslash for itself; `regex` has other uses for some.
        c if c.is_ascii_punctuation() => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        'u' | 'U' | 'E' | 'Z' => return Err(format!("\\{c} is not known")),
        c => {
            out.push('\\');
            out.push(c);
        }
    }
    Ok(behind)
}

/// A set behind its bracket; gives what is behind it.
fn set<'p>(rest: &'p str, out: &mut String) -> Result<&'p str, String> {
    out.push('[');
    let mut rest = rest;
    if let Some(behind) = rest.strip_prefix('^') {
        out.push('^');
        rest = behind;
    }
    // A closing bracket in front stands for itself.
    if let Some(behind) = rest.strip_prefix(']') {
        out.push_str("\\]");
        rest = behind;
    }
    while let Some(c) = rest.chars().next() {
        let behind = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = match c {
            ']' => {
                out.push(']');
                return Ok(behind);
            }
            '\\' => escape(behind, out, true)?,
            '[' if behind.starts_with(':') => {
                let end = behind.find(":]").ok_or("a class of characters does not end")?;
                let (name, behind) = behind.split_at(end + 2);
                out.push('[');
                out.push_str(name);
                behind
            }
            '-' if behind.starts_with('-') => {
                return Err("a set with -- is not supported".to_owned());
            }
            '[' | '&' | '~' => {
                out.push('\\');
                out.push(c);
                behind
            }
            c => {
                out.push(c);
                behind
            }
        };
    }
    Err("a set does not end".to_owned())
}

/// Flags behind `(?` must be those of RE2.
fn check_flags(rest: &str) -> Result<(), String> {
    let Some(flags) = rest.strip_prefix('?') else { return Ok(()) };
    if flags.starts_with("P<") || flags.starts_with('<') {
        return Ok(());
    }
    let other =
        flags.chars().take_while(|c| !matches!(c, ')' | ':')).find(|c| !"imsU-".contains(*c));
    other.map_or(Ok(()), |c| Err(format!("the flag {c} is not known")))
}
