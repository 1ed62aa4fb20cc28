//! Lists of CPUs as Linux writes them: `0,2-3`.

/// CPUs have numbers below this; a list from outside must not fill the memory.
const LIMIT: usize = 8192;

/// Why a text is no list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// A part that is neither a number nor a range.
    #[error("`{0}` is not a CPU or a range of them, as in 0,2-3")]
    Part(String),
    /// A range that ends before it begins.
    #[error("the range `{0}` ends before it begins")]
    Range(String),
    /// A number too large.
    #[error("there is no CPU {0}")]
    TooLarge(String),
}

/// Reads a list; CPUs come out ascending and each once.
///
/// # Errors
/// [`ListError`] with the part that is wrong.
pub fn read_list(text: &str) -> Result<Vec<usize>, ListError> {
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| -> Result<usize, ListError> {
            if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
                return Err(ListError::Part(part.to_owned()));
            }
            let number = text.parse().ok().filter(|n| *n < LIMIT);
            number.ok_or_else(|| ListError::TooLarge(text.to_owned()))
        };
        let (from, to) = (number(from)?, number(to)?);
        if from > to {
            return Err(ListError::Range(part.to_owned()));
        }
        cpus.extend(from..=to);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// Writes a list, neighbours as ranges.
pub fn write_list(cpus: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, to)) if *to + 1 == cpu => *to = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let part = |(from, to): &(usize, usize)| match from == to {
        true => from.to_string(),
        false => format!("{from}-{to}"),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let part = |text: &str| Err(ListError::Part(text.to_owned()));
        let cases: [(&str, Result<Vec<usize>, ListError>, &str); 11] = [
            ("0", Ok(vec![0]), "0"),
            ("0,2-3", Ok(vec![0, 2, 3]), "0,2-3"),
            ("3,1-2, 2", Ok(vec![1, 2, 3]), "1-3"),
            ("7-7", Ok(vec![7]), "7"),
            ("", part(""), ""),
            ("0,", part(""), ""),
            ("a", part("a"), ""),
            ("1-", part("1-"), ""),
            ("+1", part("+1"), ""),
            ("3-1", Err(ListError::Range("3-1".to_owned())), ""),
            (
                "0-99999999999999999999",
                Err(ListError::TooLarge("99999999999999999999".to_owned())),
                "",
            ),
        ];
        for (text, expected, written) in cases {
            let read = read_list(text);
            assert_eq!(read, expected, "{text}");
            assert_eq!(write_list(&read.unwrap_or_default()), written, "{text}");
        }
    }
}
