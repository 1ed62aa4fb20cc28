//! Texts: made up, and those of manual pages. All are words of letters and digits with blanks between, so that every tokenizer sees the same.

/// Words that may occur in texts that are made up.
const VOCABULARY: f64 = 300_000.0;

/// The fewest and the most words of a text. tantivy keeps lengths up to 40 as they are and rounds others down: so scores have to be
/// equal.
const LENGTHS: (usize, usize) = (8, 40);

/// tantivy's tokenizer `default` leaves out words of 40 bytes and more.
const LONGEST: usize = 30;

/// Numbers of `SplitMix64`, the same on every machine.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1, without 1.
    pub fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number of a range, the more likely the smaller it is: its logarithm is uniform.
    pub fn rank(&mut self, (least, limit): (f64, f64)) -> usize {
        (least * (limit / least).powf(self.part())) as usize
    }
}

/// So many texts whose words have the frequencies of Zipf's law: that of the n-th is as 1 to n.
pub fn zipf(documents: usize) -> Vec<String> {
    let mut random = Random(1);
    let text = |_| {
        let length = LENGTHS.0 + random.next() as usize % (LENGTHS.1 - LENGTHS.0 + 1);
        let words = (0..length).map(|_| word(random.rank((1.0, VOCABULARY))));
        words.collect::<Vec<String>>().join(" ")
    };
    (0..documents).map(text).collect()
}

/// A word of letters for each number, short ones first.
pub fn word(mut number: usize) -> String {
    let mut word = String::new();
    loop {
        word.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return word;
        }
    }
}

/// The passages of pages in roff, each of a paragraph or a part of one: the lines between macros of paragraphs, without requests and escapes.
pub fn pages(roff: &str) -> Vec<String> {
    const BREAKS: [&str; 8] = ["TH", "SH", "SS", "PP", "P", "LP", "TP", "IP"];
    let (mut texts, mut words) = (Vec::new(), Vec::new());
    for line in roff.lines().chain([".PP"]) {
        match line.strip_prefix(['.', '\'']) {
            Some(request) if BREAKS.contains(&request.split(' ').next().unwrap_or_default()) => {
                let of_passage = words.chunks(LENGTHS.1).filter(|words| words.len() >= LENGTHS.0);
                texts.extend(of_passage.map(|words: &[String]| words.join(" ")));
                words.clear();
            }
            Some(_) => {}
            None => {
                let plain = plain(line);
                let found = plain.split(|c| !is_of_word(c));
                let kept = found.filter(|word| !word.is_empty() && word.len() <= LONGEST);
                words.extend(kept.map(str::to_owned));
            }
        }
    }
    texts
}

/// Letters and digits that are normalised as they are: stead, and not tantivy, makes an `a` of a feminine ordinal.
fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || (c.is_alphabetic() && ('\u{c0}'..='\u{ff}').contains(&c))
}

/// A line without escapes of roff: `\fB` and `\f(CW` of fonts, `\-` and the like.
fn plain(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once('\\') {
        text += before;
        let dropped = match after.as_bytes() {
            [b'f', b'(', ..] => 4,
            [b'f', b'[', ..] => after.find(']').map_or(2, |at| at + 1),
            [b'f' | b's', ..] => 2,
            [b'(' | b'*', ..] => 3,
            [b'"', ..] => after.len(),
            [b'-', ..] => 0,
            _ => 1,
        };
        rest = after.get(dropped..).unwrap_or_default();
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::{pages, zipf};

    #[test]
    fn passages_have_the_words_of_paragraphs() {
        let long = "word ".repeat(50);
        for (label, roff, expected) in [
            (
                "requests and escapes are left out",
                ".SH NAME\none \\fBtwo\\fR three\\-four\n.br\nfive six \\f(CWseven\\f[] eight nine \\\" note\n",
                vec!["one two three four five six seven eight nine".to_owned()],
            ),
            (
                "what is normalised to other letters is",
                ".PP\na\u{aa} b c\u{b2} d e f g\u{fc} h\n",
                vec!["a b c d e f g\u{fc} h".to_owned()],
            ),
            ("short ones are", ".PP\ntoo short\n.PP\n", vec![]),
            ("long ones are cut", &long, vec![["word"; 40].join(" "), ["word"; 10].join(" ")]),
            (
                "a page has several",
                "a b c d e f g h\n.TP 4\ni j k l m n o p\n",
                vec!["a b c d e f g h".to_owned(), "i j k l m n o p".to_owned()],
            ),
        ] {
            assert_eq!(pages(roff), expected, "{label}");
        }
    }

    #[test]
    fn made_up_texts_are_the_same_again() {
        let texts = zipf(100);
        assert_eq!(texts, zipf(100));
        assert!(texts.iter().all(|text| (8..=40).contains(&text.split(' ').count())));
    }
}
