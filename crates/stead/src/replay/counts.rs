//! Numbers of clients, as the command line has them.

use std::str::FromStr;

/// The most clients: as many connections are what one address can hold.
pub const MOST: usize = 50_000;

/// Some numbers of clients, ascending and each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts(Vec<usize>);

impl Counts {
    /// The numbers; at least one.
    pub fn all(&self) -> &[usize] {
        &self.0
    }

    /// The number, if there is only one.
    pub fn one(&self) -> Option<usize> {
        match self.0[..] {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl FromStr for Counts {
    type Err = String;

    /// Numbers and ranges with commas in between: `8`, `1,2,4`, `1..200` (doubled from 1 on, and 200), `10..50:10` (in steps of 10).
    fn from_str(text: &str) -> Result<Counts, String> {
        let mut all = Vec::new();
        for part in text.split(',') {
            let range = range(part.trim()).ok_or_else(|| {
                format!(
                    "`{part}`: expected a number, or a range such as 1..64 (doubled) or 10..50:10 (in steps), from 1 to {MOST}"
                )
            })?;
            all.extend(range);
        }
        all.sort_unstable();
        all.dedup();
        Ok(Counts(all))
    }
}

/// The numbers of a part between commas; `None` if it is none.
fn range(text: &str) -> Option<Vec<usize>> {
    let number = |text: &str| text.parse().ok().filter(|n| (1..=MOST).contains(n));
    let Some((from, rest)) = text.split_once("..") else { return Some(vec![number(text)?]) };
    let (to, step) = match rest.split_once(':') {
        Some((to, step)) => (to, Some(number(step)?)),
        None => (rest, None),
    };
    let (from, to) = (number(from)?, number(to).filter(|to| *to >= number(from).unwrap_or(MOST))?);
    let next = |n: &usize| match step {
        Some(step) => Some(n + step),
        None => Some(n * 2),
    };
    let below = std::iter::successors(Some(from), next).take_while(|n| *n < to);
    Some(below.chain([to]).collect())
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn numbers_lists_and_ranges() {
        let cases: [(&str, Option<&[usize]>); 14] = [
            ("1", Some(&[1])),
            ("8,2, 4,2", Some(&[2, 4, 8])),
            ("1..200", Some(&[1, 2, 4, 8, 16, 32, 64, 128, 200])),
            ("1,2,4..64", Some(&[1, 2, 4, 8, 16, 32, 64])),
            ("10..50:10", Some(&[10, 20, 30, 40, 50])),
            ("1..6:4", Some(&[1, 5, 6])),
            ("3..3", Some(&[3])),
            ("0", None),
            ("", None),
            ("1,", None),
            ("4..1", None),
            ("1..0", None),
            ("1..5:0", None),
            ("50001", None),
        ];
        for (text, expected) in cases {
            let found = text.parse::<Counts>();
            assert_eq!(found.as_ref().ok().map(Counts::all), expected, "{text}");
        }
        assert_eq!("7".parse::<Counts>().unwrap().one(), Some(7));
        assert_eq!("7,8".parse::<Counts>().unwrap().one(), None);
    }
}
