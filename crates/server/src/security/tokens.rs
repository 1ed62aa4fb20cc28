//! The file of tokens: what clients show, as it was made or as its SHA-256, and what they may do with it.

use super::role::{Grants, Role};
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use toml::value::Datetime;

/// Shorter tokens could be guessed.
const SHORTEST: usize = 16;

/// The tokens of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens(Vec<Token>);

/// One of them; the token itself is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Who shows it.
    pub name: String,
    /// What it is good for.
    pub grants: Grants,
    sha256: [u8; 32],
    /// Seconds of Unix time at which it ends.
    expires: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    tokens: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    token: Option<String>,
    sha256: Option<String>,
    roles: Vec<String>,
    expires: Option<Datetime>,
}

impl Tokens {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong, in words that never hold a token.
    pub fn read(text: &str) -> Result<Tokens, String> {
        // The message of the error alone: the whole of it shows the line.
        let file: File = toml::from_str(text).map_err(|e| e.message().to_owned())?;
        let mut tokens: Vec<Token> = Vec::new();
        for entry in file.tokens {
            let name = entry.name.clone();
            let token = entry.read().map_err(|text| format!("token `{name}`: {text}"))?;
            if let Some(other) = tokens.iter().find(|t| t.name == name || t.sha256 == token.sha256)
            {
                return Err(format!(
                    "token `{name}`: it has the name or value of `{}`",
                    other.name
                ));
            }
            tokens.push(token);
        }
        Ok(Tokens(tokens))
    }

    /// The token that a client shows. Takes the same time whichever it is and however much of one is right.
    pub fn find(&self, shown: &str, now: i64) -> Option<&Token> {
        let hash = digest(&SHA256, shown.as_bytes());
        let (mut found, mut at) = (Choice::from(0), 0_u64);
        for (i, token) in self.0.iter().enumerate() {
            let is_this = token.sha256.ct_eq(hash.as_ref());
            at = u64::conditional_select(&at, &(i as u64), is_this);
            found |= is_this;
        }
        let token = self.0.get(usize::try_from(at).ok()?).filter(|_| bool::from(found))?;
        token.expires.is_none_or(|end| now < end).then_some(token)
    }
}

impl Entry {
    fn read(self) -> Result<Token, String> {
        let sha256 = match (self.token, self.sha256) {
            (Some(text), None) if text.len() < SHORTEST => {
                return Err(format!(
                    "it is shorter than {SHORTEST} characters (`openssl rand -hex 32` makes one)"
                ));
            }
            (Some(text), None) => digest(&SHA256, text.as_bytes()).as_ref().try_into().ok(),
            (None, Some(hex)) => from_hex(&hex),
            _ => return Err("it needs either `token` or `sha256`".to_owned()),
        };
        let sha256 = sha256.ok_or(
            "sha256 is not 64 hexadecimal digits (`printf %s TOKEN | sha256sum` makes them)",
        )?;
        let mut grants = Vec::new();
        for text in &self.roles {
            let expected = || format!("role `{text}` is none of {} or APPLICATION:ROLE", names());
            grants.push(Grants::grant(text).ok_or_else(expected)?);
        }
        if grants.is_empty() {
            return Err(format!("it has no roles: give some of {}", names()));
        }
        let expires = self.expires.as_ref().map(|time| {
            unix(time)
                .ok_or("expires needs a date, a time and a zone, such as 2027-01-31T00:00:00Z")
        });
        let (name, grants) = (self.name, grants.into_iter().collect());
        Ok(Token { name, grants, sha256, expires: expires.transpose()? })
    }
}

fn names() -> String {
    Role::OF_TOKENS.map(Role::name).join(", ")
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte = u8::try_from(digit(*pair.first()?)? * 16 + digit(*pair.get(1)?)?).ok()?;
    }
    Some(bytes)
}

/// Seconds of Unix time.
fn unix(time: &Datetime) -> Option<i64> {
    let (date, of_day) = (time.date?, time.time?);
    let minutes = match time.offset? {
        toml::value::Offset::Z => 0,
        toml::value::Offset::Custom { minutes } => i64::from(minutes),
    };
    // Days since 1970 of a year that begins in March, so that a leap day is its last.
    let (year, month) = (i64::from(date.year), i64::from(date.month));
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100
        + year / 400
        + (153 * month + 2) / 5
        + i64::from(date.day)
        - 1
        - 719_468;
    let seconds = i64::from(of_day.hour) * 3600
        + i64::from(of_day.minute) * 60
        + i64::from(of_day.second.unwrap_or(0));
    Some(days * 86_400 + seconds - minutes * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123";

    fn hash(text: &str) -> String {
        digest(&SHA256, text.as_bytes()).as_ref().iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn tokens_are_found_by_what_is_shown() {
        let text = format!(
            "[[tokens]]\nname = \"a\"\nsha256 = \"{}\"\nroles = [\"read\", \"shop:write\"]\n\
             [[tokens]]\nname = \"b\"\ntoken = \"{SECRET}\"\nroles = [\"admin\"]\nexpires = 2027-01-31T01:00:00+01:00\n",
            hash("first-token-of-all"),
        );
        let tokens = Tokens::read(&text).unwrap();
        // `date -d 2027-01-31T00:00:00Z +%s`
        let end = 1_801_353_600;
        for (shown, now, expected) in [
            ("first-token-of-all", i64::MAX, Some("a")),
            (SECRET, 0, Some("b")),
            (SECRET, end - 1, Some("b")),
            (SECRET, end, None),
            ("", 0, None),
            ("first-token-of-al", 0, None),
            (&hash(SECRET), 0, None),
        ] {
            assert_eq!(tokens.find(shown, now).map(|t| &*t.name), expected, "{shown} {now}");
        }
        assert!(!format!("{tokens:?}").contains(SECRET));
        assert_eq!(tokens.find(SECRET, 0).unwrap().grants.role("any"), Role::Admin);
        assert!(Tokens::default().find("", 0).is_none());
    }

    #[test]
    fn files_that_are_wrong_are_told_without_their_tokens() {
        let entry = |more: &str| format!("[[tokens]]\nname = \"a\"\n{more}\n");
        let good = format!("token = \"{SECRET}\"\nroles = [\"read\"]");
        let cases = [
            (entry("roles = [\"read\"]"), "needs either"),
            (entry(&format!("{good}\nsha256 = \"\"")), "needs either"),
            (entry("sha256 = \"12\"\nroles = [\"read\"]"), "64 hexadecimal digits"),
            (entry("token = \"short\"\nroles = [\"read\"]"), "shorter than 16"),
            (entry(&format!("token = \"{SECRET}\"\nroles = []")), "no roles"),
            (
                entry(&format!("token = \"{SECRET}\"\nroles = [\"root\"]")),
                "`root` is none of read, write, admin",
            ),
            (entry(&format!("{good}\nexpires = 2027-01-31")), "expires needs"),
            (entry(&format!("{good}\nuntil = 3")), "unknown field `until`"),
            (entry(&good) + &entry(&good), "name or value"),
            (SECRET.to_owned(), "expected"),
        ];
        for (text, expected) in cases {
            let error = Tokens::read(&text).unwrap_err();
            assert!(error.contains(expected) && !error.contains(SECRET), "{text}: {error}");
        }
    }
}
