//! Questions about documents, answered one document after the other from their JSON, and the same questions in YQL.

use serde_json::Value as Json;

/// A question.
#[derive(Debug, Clone)]
pub enum Ask {
    All,
    Nothing,
    And(Vec<Ask>),
    Or(Vec<Ask>),
    Not(Box<Ask>),
    Rank(Box<Ask>, Box<Ask>),
    /// A field of numbers between two ends, each with whether it is within.
    Between(&'static str, Option<(f64, bool)>, Option<(f64, bool)>),
    /// A comparison by its sign, and whether the number stands first.
    Compare(&'static str, &'static str, i64, bool),
    Flag(bool),
    OneOfNumbers(&'static str, Vec<i64>),
    OneOfTexts(&'static str, Vec<String>),
    /// How (`is`, `prefix`, `substring`, `regex`, `fuzzy`), and the text.
    Text(&'static str, &'static str, String),
    /// How (`is`, `prefix`, `all` of several one behind the other), and what of a field's words.
    Word(&'static str, &'static str, String),
    /// How (`phrase`, `near`, `onear`), the words, how far they may stand apart, and what must not stand how near them.
    Words(&'static str, &'static str, Vec<String>, usize, (Vec<String>, usize)),
    Set(&'static str, Vec<String>),
    /// A sum of products above a number.
    Wand(Vec<(String, i64)>, i64),
    /// A name and an age of the same person, of one of some persons.
    Person(String, i64, Option<usize>),
    /// As many of the nearest.
    Nearest(usize),
    Near(f64, f64, f64),
    /// South, west, north, east.
    Box([i64; 4]),
    /// How (`equiv`, `alternatives`), and any of some words or texts.
    Any(&'static str, &'static str, Vec<String>),
    NonEmpty(Box<Ask>),
    /// Any of some tokens with weights that may be anything.
    Product(&'static str, Vec<String>),
    /// The same of numbers, by `weightedSet` or `dotProduct`.
    Numbers(&'static str, &'static str, Vec<i64>),
    /// One of these, of more documents than there are.
    Weak(Vec<Ask>),
    /// A text, how many edits, how many letters that are the same, and whether the text may go on.
    Fuzzy(&'static str, String, usize, usize, bool),
    /// Letters, `.` for any, `*` behind what may stand often or not at all, `^` and `$` for the ends.
    Regex(&'static str, String),
    /// What one of some persons is.
    Somebody(Part),
    /// What one of some texts has, and what it has not: words of `notes` each.
    Element(Vec<Ask>, Vec<Ask>),
    /// The value that stands with a key, and whether it is asked for as a text.
    Entry(String, i64, bool),
    /// What people type of `body` in a grammar: words with a sign, several one behind the other in quotes.
    Typed(&'static str, Vec<(&'static str, Vec<String>)>),
    /// What people type of a field with `*` before or behind it: how (`prefix`, `suffix`, `substring`), and the text.
    Part(&'static str, &'static str, String),
    /// The same with a label, by an annotation or with a score by `labeled`.
    Labeled(Box<Ask>, bool),
    /// Words of addresses one behind the other; of host names those at the end, or anywhere.
    Address(&'static str, String, bool),
}

/// What one person is.
#[derive(Debug, Clone)]
pub enum Part {
    Name(String),
    Age(&'static str, i64),
    And(Vec<Part>),
    Or(Vec<Part>),
    Not(Box<Part>),
}

impl Part {
    fn yql(&self) -> String {
        let list = |list: &[Part], word: &str| {
            let parts: Vec<String> = list.iter().map(|part| format!("({})", part.yql())).collect();
            parts.join(&format!(" {word} "))
        };
        match self {
            Part::Name(name) => format!("name contains '{name}'"),
            Part::Age(sign, number) => format!("age {sign} {number}"),
            Part::And(parts) => list(parts, "and"),
            Part::Or(parts) => list(parts, "or"),
            Part::Not(part) => format!("!({})", part.yql()),
        }
    }

    fn holds(&self, person: &Json) -> bool {
        match self {
            Part::Name(name) => {
                person["name"].as_str().unwrap_or("").to_lowercase() == name.to_lowercase()
            }
            Part::Age(sign, number) => {
                person["age"].as_i64().is_some_and(|age| compare(sign, age as f64, *number as f64))
            }
            Part::And(parts) => parts.iter().all(|part| part.holds(person)),
            Part::Or(parts) => parts.iter().any(|part| part.holds(person)),
            Part::Not(part) => !part.holds(person),
        }
    }
}

fn compare(sign: &str, a: f64, b: f64) -> bool {
    match sign {
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        ">=" => a >= b,
        _ => a == b,
    }
}

impl Ask {
    /// The question in YQL.
    pub fn yql(&self) -> String {
        let list = |list: &[Ask], word: &str| {
            let parts: Vec<String> = list.iter().map(|ask| format!("({})", ask.yql())).collect();
            parts.join(&format!(" {word} "))
        };
        let quoted = |texts: &[String]| {
            texts.iter().map(|t| format!("'{t}'")).collect::<Vec<_>>().join(", ")
        };
        match self {
            Ask::All => "true".to_owned(),
            Ask::Nothing => "false".to_owned(),
            Ask::And(parts) => list(parts, "and"),
            Ask::Or(parts) => list(parts, "or"),
            Ask::Not(inner) => format!("!({})", inner.yql()),
            Ask::Rank(first, second) => format!("rank({}, {})", first.yql(), second.yql()),
            Ask::Between(field, low, high) => {
                let is_closed = |end: &Option<(f64, bool)>| end.is_none_or(|(_, closed)| closed);
                let bounds = match (is_closed(low), is_closed(high)) {
                    (true, true) => String::new(),
                    (false, true) => "{bounds: 'leftOpen'}".to_owned(),
                    (true, false) => "{bounds: 'rightOpen'}".to_owned(),
                    (false, false) => "{bounds: 'open'}".to_owned(),
                };
                let end = |end: &Option<(f64, bool)>, sign: &str| {
                    end.map_or_else(|| format!("{sign}Infinity"), |(n, _)| format!("{n:?}"))
                };
                format!("({bounds}range({field}, {}, {}))", end(low, "-"), end(high, ""))
            }
            Ask::Compare(field, sign, number, true) => format!("{number} {sign} {field}"),
            Ask::Compare(field, sign, number, false) => format!("{field} {sign} {number}"),
            Ask::Flag(value) => format!("b = {value}"),
            Ask::OneOfNumbers(field, numbers) => {
                let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
                format!("{field} in ({})", numbers.join(", "))
            }
            Ask::OneOfTexts(field, texts) => format!("{field} in ({})", quoted(texts)),
            Ask::Text(field, "is", text) => format!("{field} contains '{text}'"),
            Ask::Text(field, "regex", text) => format!("{field} matches '{text}'"),
            Ask::Text(field, "fuzzy", text) => {
                format!("{field} contains ({{maxEditDistance: 1}}fuzzy('{text}'))")
            }
            Ask::Text(field, how, text) => format!("{field} contains ({{{how}: true}}'{text}')"),
            Ask::Word(field, "prefix", word) => {
                format!("{field} contains ({{prefix: true}}'{word}')")
            }
            Ask::Word(field, _, text) => format!("{field} contains '{text}'"),
            Ask::Words(field, how, words, distance, (without, far)) => {
                let excluded: String = without.iter().map(|word| format!(", !'{word}'")).collect();
                let far = match *far == distance.div_ceil(2) {
                    true => String::new(),
                    false => format!(", exclusionDistance: {far}"),
                };
                let words = quoted(words);
                format!("{field} contains ({{distance: {distance}{far}}}{how}({words}{excluded}))")
            }
            Ask::Set(field, tokens) => {
                let tokens: Vec<String> = tokens.iter().map(|t| format!("'{t}': 1")).collect();
                format!("weightedSet({field}, {{{}}})", tokens.join(", "))
            }
            Ask::Wand(tokens, above) => {
                let tokens: Vec<String> =
                    tokens.iter().map(|(t, w)| format!("'{t}': {w}")).collect();
                format!(
                    "({{scoreThreshold: {above}, targetHits: 1000}}wand(w, {{{}}}))",
                    tokens.join(", ")
                )
            }
            Ask::Person(name, age, place) => {
                let place = place.map(|p| format!("{{elementFilter: {p}}}")).unwrap_or_default();
                format!(
                    "people contains ({place}sameElement(name contains '{name}', age >= {age}))"
                )
            }
            Ask::Nearest(count) => format!("({{targetHits: {count}}}nearestNeighbor(v, q))"),
            Ask::Near(north, east, degrees) => {
                format!("geoLocation(p, {north:?}, {east:?}, '{degrees} deg')")
            }
            Ask::Box([south, west, north, east]) => {
                format!("geoBoundingBox(p, {south}, {west}, {north}, {east})")
            }
            Ask::Any(field, "alternatives", words) => {
                let words: Vec<String> =
                    words.iter().map(|word| format!("'{word}': 0.5")).collect();
                format!("{field} contains alternatives({{{}}})", words.join(", "))
            }
            Ask::Any(field, how, words) => format!("{field} contains {how}({})", quoted(words)),
            Ask::NonEmpty(inner) => format!("nonEmpty({})", inner.yql()),
            Ask::Product(field, tokens) => {
                let tokens: Vec<String> = tokens.iter().map(|t| format!("'{t}': -3")).collect();
                format!("dotProduct({field}, {{{}}})", tokens.join(", "))
            }
            Ask::Numbers(how, field, numbers) => {
                let pairs: Vec<String> = numbers.iter().map(|n| format!("[{n}, 2]")).collect();
                format!("{how}({field}, [{}])", pairs.join(", "))
            }
            Ask::Weak(parts) => {
                let parts: Vec<String> = parts.iter().map(Ask::yql).collect();
                format!("({{targetHits: 1000}}weakAnd({}))", parts.join(", "))
            }
            Ask::Fuzzy(field, text, edits, same, is_prefix) => format!(
                "{field} contains ({{maxEditDistance: {edits}, prefixLength: {same}, prefix: {is_prefix}}}fuzzy('{text}'))"
            ),
            Ask::Regex(field, pattern) => format!("{field} matches '{pattern}'"),
            Ask::Entry(key, number, false) => format!("prices{{'{key}'}} = {number}"),
            Ask::Entry(key, number, true) => format!("prices{{'{key}'}} contains '{number}'"),
            Ask::Typed(grammar, items) => {
                let item = |(sign, words): &(&str, Vec<String>)| match words.as_slice() {
                    [word] => format!("{sign}{word}"),
                    words => format!("{sign}\"{}\"", words.join(" ")),
                };
                let items: Vec<String> = items.iter().map(item).collect();
                let text = items.join(" ");
                format!(
                    "({{grammar: '{grammar}', defaultIndex: 'body', targetHits: 1000}}userInput('{text}'))"
                )
            }
            Ask::Part(field, how, text) => {
                let text = match *how {
                    "prefix" => format!("{text}*"),
                    "suffix" => format!("*{text}"),
                    _ => format!("*{text}*"),
                };
                format!("({{grammar: 'all', defaultIndex: '{field}'}}userInput('{text}'))")
            }
            Ask::Labeled(inner, true) => format!("labeled({}, 'mark', 2.5)", inner.yql()),
            Ask::Labeled(inner, false) => format!("({{label: 'mark'}}({}))", inner.yql()),
            Ask::Address(field, text, true) => format!("{field} contains uri('{text}')"),
            Ask::Address(field, text, false) => {
                format!("{field} contains ({{endAnchor: false}}uri('{text}'))")
            }
            Ask::Somebody(part) => format!("people contains sameElement({})", part.yql()),
            Ask::Element(with, without) => {
                let with = with.iter().map(Ask::words_alone);
                let without = without.iter().map(|ask| format!("!({})", ask.words_alone()));
                let parts: Vec<String> = with.chain(without).collect();
                format!("notes contains sameElement({})", parts.join(", "))
            }
        }
    }

    /// What is asked of words, without the name of the field.
    fn words_alone(&self) -> String {
        let yql = self.yql();
        let (_, words) = yql.split_once(" contains ").unwrap();
        words.to_owned()
    }

    /// Whether a document is an answer. `nearest` are the documents nearest to a vector.
    pub fn holds(&self, document: &Json, number: usize, nearest: &[usize]) -> bool {
        let holds = |ask: &Ask| ask.holds(document, number, nearest);
        let numbers = |field: &str| -> Vec<f64> {
            match &document[field] {
                Json::Array(list) => list.iter().filter_map(Json::as_f64).collect(),
                one => one.as_f64().into_iter().collect(),
            }
        };
        match self {
            Ask::All => true,
            Ask::Nothing => false,
            Ask::And(parts) => parts.iter().all(holds),
            Ask::Or(parts) => parts.iter().any(holds),
            Ask::Not(inner) => !holds(inner),
            Ask::Rank(first, _) => holds(first),
            Ask::Between(field, low, high) => numbers(field).into_iter().any(|n| {
                let above = low.is_none_or(|(low, closed)| n > low || (closed && n == low));
                above && high.is_none_or(|(high, closed)| n < high || (closed && n == high))
            }),
            Ask::Compare(field, sign, number, first) => numbers(field).into_iter().any(|n| {
                let (a, b) = (n, *number as f64);
                let (a, b) = if *first { (b, a) } else { (a, b) };
                compare(sign, a, b)
            }),
            Ask::Flag(value) => document["b"].as_bool().unwrap_or(false) == *value,
            Ask::OneOfNumbers(field, list) => {
                numbers(field).into_iter().any(|n| list.iter().any(|m| *m as f64 == n))
            }
            Ask::OneOfTexts(field, list) => texts(document, field)
                .iter()
                .any(|t| list.iter().any(|u| shape(field, t) == shape(field, u))),
            Ask::Set(field, list) => texts(document, field)
                .iter()
                .any(|t| list.iter().any(|u| shape(field, t) == shape(field, u))),
            Ask::Text(field, how, wanted) => {
                let wanted = shape(field, wanted);
                texts(document, field).iter().map(|t| shape(field, t)).any(|text| match *how {
                    "is" => text == wanted,
                    "prefix" => text.starts_with(&wanted),
                    "substring" => text.contains(&wanted),
                    // The generator asks for a first letter and any letters behind it only.
                    "regex" => text.contains(&wanted.replace(['^', '.', '*'], "")),
                    _ => edits(&text, &wanted) <= 1,
                })
            }
            Ask::Word(field, how, text) => words(document, field).iter().any(|element| {
                let wanted = split(text);
                match *how {
                    "prefix" => element.iter().any(|word| word.starts_with(&wanted[0])),
                    _ if wanted.is_empty() => false,
                    _ => element.windows(wanted.len()).any(|part| part == wanted),
                }
            }),
            Ask::Words(field, how, wanted, distance, (without, far)) => {
                let without: Vec<String> = without.iter().flat_map(|word| split(word)).collect();
                let wanted: Vec<String> = wanted.iter().flat_map(|word| split(word)).collect();
                words(document, field).iter().any(|element| {
                    let places = |word: &String| {
                        (0..element.len()).filter(|at| element[*at] == *word).collect::<Vec<_>>()
                    };
                    let places: Vec<Vec<usize>> = wanted.iter().map(places).collect();
                    ways(&places).iter().any(|way| {
                        let (least, greatest) = (way.iter().min(), way.iter().max());
                        let (least, greatest) = (*least.unwrap(), *greatest.unwrap());
                        let zone = least.saturating_sub(*far)..=greatest + far;
                        let is_close = greatest - least <= *distance
                            && !zone.into_iter().any(|at| {
                                element.get(at).is_some_and(|word| without.contains(word))
                            });
                        match *how {
                            "phrase" => way.windows(2).all(|pair| pair[0] + 1 == pair[1]),
                            "onear" => is_close && way.is_sorted_by(|a, b| a < b),
                            _ => is_close,
                        }
                    })
                })
            }
            Ask::Wand(tokens, above) => product(document, tokens).is_some_and(|sum| sum > *above),
            Ask::Person(name, age, place) => {
                let people = document["people"].as_array().cloned().unwrap_or_default();
                people.iter().enumerate().any(|(at, person)| {
                    place.is_none_or(|place| place == at)
                        && person["name"].as_str().unwrap_or("").to_lowercase()
                            == name.to_lowercase()
                        && person["age"].as_i64().is_some_and(|found| found >= *age)
                })
            }
            Ask::Nearest(..) => nearest.contains(&number),
            Ask::Box([south, west, north, east]) => {
                let p = &document["p"];
                let (Some(lat), Some(lng)) = (p["lat"].as_f64(), p["lng"].as_f64()) else {
                    return false;
                };
                let within = |low: i64, n: f64, high: i64| low as f64 <= n && n <= high as f64;
                within(*south, lat, *north) && within(*west, lng, *east)
            }
            Ask::Any(field, _, any) if ["body", "notes"].contains(field) => {
                let wanted: Vec<String> = any.iter().flat_map(|word| split(word)).collect();
                words(document, field).iter().flatten().any(|word| wanted.contains(word))
            }
            Ask::Any(field, _, list) | Ask::Product(field, list) => texts(document, field)
                .iter()
                .any(|t| list.iter().any(|u| shape(field, t) == shape(field, u))),
            Ask::NonEmpty(inner) => holds(inner),
            Ask::Numbers(_, field, list) => {
                numbers(field).into_iter().any(|n| list.iter().any(|m| *m as f64 == n))
            }
            Ask::Weak(parts) => parts.iter().any(holds),
            Ask::Fuzzy(field, wanted, most, same, is_prefix) => {
                let wanted = shape(field, wanted);
                let (begin, end): (String, String) =
                    (wanted.chars().take(*same).collect(), wanted.chars().skip(*same).collect());
                texts(document, field).iter().map(|text| shape(field, text)).any(|text| {
                    let Some(rest) = text.strip_prefix(&begin) else { return false };
                    let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
                    let mut prefixes = ends.map(|end| &rest[..end]);
                    match is_prefix {
                        true => prefixes.any(|prefix| edits(prefix, &end) <= *most),
                        false => edits(rest, &end) <= *most,
                    }
                })
            }
            Ask::Regex(field, pattern) => {
                let pattern: Vec<char> = shape(field, pattern).chars().collect();
                texts(document, field).iter().any(|text| {
                    let text: Vec<char> = shape(field, text).chars().collect();
                    match pattern.first() {
                        Some('^') => begins(&pattern[1..], &text),
                        _ => (0..=text.len()).any(|at| begins(&pattern, &text[at..])),
                    }
                })
            }
            Ask::Entry(key, number, _) => {
                let prices = document["prices"].as_object().into_iter().flatten();
                let key = key.to_lowercase();
                prices.into_iter().any(|(k, v)| k.to_lowercase() == key && *v == *number)
            }
            Ask::Part(field, how, wanted) => {
                let wanted = shape(field, wanted);
                texts(document, field).iter().map(|t| shape(field, t)).any(|text| match *how {
                    "prefix" => text.starts_with(&wanted),
                    "suffix" => text.ends_with(&wanted),
                    _ => text.contains(&wanted),
                })
            }
            Ask::Labeled(inner, _) => holds(inner),
            Ask::Address(field, text, ends) => {
                let wanted = address(text);
                let found = address(document["u"].as_str().unwrap_or(""));
                let found = match *field {
                    "u" => found,
                    // The words of a host stand between the scheme and the path.
                    _ => found.into_iter().skip(1).take(2).collect(),
                };
                match *field == "u.hostname" && *ends {
                    true => found.ends_with(&wanted),
                    false => found.windows(wanted.len()).any(|part| part == wanted),
                }
            }
            Ask::Typed("near" | "onear", items) => {
                let Ask::Typed(grammar, _) = self else { return false };
                let (without, with): (Vec<_>, Vec<_>) =
                    items.iter().partition(|(sign, _)| *sign == "-");
                let element = words(document, "body").concat();
                let places = |(_, phrase): &&(&str, Vec<String>)| {
                    let wanted = split(&phrase.join(" "));
                    let starts = 0..(element.len() + 1).saturating_sub(wanted.len());
                    starts.filter(|at| element[*at..].starts_with(&wanted)).collect::<Vec<_>>()
                };
                let found: Vec<Vec<usize>> = with.iter().map(places).collect();
                let is_near = ways(&found).iter().any(|way| {
                    let span = way.iter().max().unwrap() - way.iter().min().unwrap();
                    span <= 2 && (*grammar == "near" || way.is_sorted_by(|a, b| a < b))
                });
                is_near && without.iter().all(|item| places(item).is_empty())
            }
            Ask::Typed("phrase", items) => {
                let all: Vec<String> = items.iter().flat_map(|(_, words)| words.clone()).collect();
                let wanted = split(&all.join(" "));
                let words = words(document, "body");
                words.iter().any(|element| element.windows(wanted.len()).any(|part| part == wanted))
            }
            Ask::Typed("tokenize" | "linguistics", items) => {
                let any: Vec<String> =
                    items.iter().flat_map(|(_, words)| split(&words.join(" "))).collect();
                words(document, "body").iter().flatten().any(|word| any.contains(word))
            }
            Ask::Typed(grammar, items) => {
                let has = |words: &Vec<String>| {
                    let wanted = split(&words.join(" "));
                    crate::brute::words(document, "body")
                        .iter()
                        .any(|element| element.windows(wanted.len()).any(|part| part == wanted))
                };
                let of = |sign: &str| {
                    items
                        .iter()
                        .filter(|item| item.0 == sign)
                        .map(|item| has(&item.1))
                        .collect::<Vec<bool>>()
                };
                let (must, not, plain) = (of("+"), of("-"), of(""));
                let is_there = match (*grammar, must.is_empty()) {
                    // Words without a sign are for ranking where others must be there.
                    ("any" | "weakAnd", true) => plain.contains(&true),
                    ("any" | "weakAnd", false) => !must.contains(&false),
                    _ => !must.contains(&false) && !plain.contains(&false),
                };
                is_there && !not.contains(&true)
            }
            Ask::Somebody(part) => {
                let people = document["people"].as_array().cloned().unwrap_or_default();
                people.iter().any(|person| part.holds(person))
            }
            Ask::Element(with, without) => texts(document, "notes").into_iter().any(|text| {
                let alone = serde_json::json!({ "notes": [text] });
                let has = |ask: &Ask| ask.holds(&alone, number, nearest);
                with.iter().all(has) && !without.iter().any(has)
            }),
            Ask::Near(north, east, degrees) => {
                let p = &document["p"];
                let (Some(lat), Some(lng)) = (p["lat"].as_f64(), p["lng"].as_f64()) else {
                    return false;
                };
                let across = (lng - east) * north.to_radians().cos();
                ((lat - north).powi(2) + across.powi(2)).sqrt() <= *degrees
            }
        }
    }
}

/// What the weights of tokens that a document has add up to, times those of the query.
pub fn product(document: &Json, tokens: &[(String, i64)]) -> Option<i64> {
    let Json::Object(set) = &document["w"] else { return None };
    let of = |t: &String| set.iter().find(|(k, _)| k.to_lowercase() == t.to_lowercase());
    let products = tokens.iter().filter_map(|(t, weight)| Some(of(t)?.1.as_i64()? * weight));
    products.reduce(|a, b| a + b)
}

/// The texts of a field: several of arrays and the keys of sets; a text that is missing is empty.
fn texts(document: &Json, field: &str) -> Vec<String> {
    match &document[field] {
        Json::Array(list) => list.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        Json::Object(set) => set.keys().cloned().collect(),
        Json::String(text) => vec![text.clone()],
        _ if ["t", "c", "pt"].contains(&field) => vec![String::new()],
        _ => Vec::new(),
    }
}

/// The words of each element of a field.
fn words(document: &Json, field: &str) -> Vec<Vec<String>> {
    texts(document, field).iter().map(|text| split(text)).collect()
}

fn split(text: &str) -> Vec<String> {
    let words = text.split([' ', ',']).filter(|word| !word.is_empty());
    words.map(|word| word.to_lowercase().replace('\u{e9}', "e")).collect()
}

/// The words of an address.
fn address(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// A place of each of some lists, in every way.
fn ways(lists: &[Vec<usize>]) -> Vec<Vec<usize>> {
    lists.iter().fold(vec![Vec::new()], |ways, list| {
        let longer = |way: &Vec<usize>| {
            let way = way.clone();
            list.iter().map(move |at| [way.clone(), vec![*at]].concat()).collect::<Vec<_>>()
        };
        ways.iter().flat_map(longer).collect()
    })
}

fn shape(field: &str, text: &str) -> String {
    if field == "c" { text.to_owned() } else { text.to_lowercase() }
}

/// Whether a text begins with what a pattern says.
fn begins(pattern: &[char], text: &[char]) -> bool {
    let is_it = |letter: char| text.first().is_some_and(|c| letter == '.' || letter == *c);
    match pattern {
        [] => true,
        ['$'] => text.is_empty(),
        [letter, '*', rest @ ..] => {
            begins(rest, text) || (is_it(*letter) && begins(pattern, &text[1..]))
        }
        [letter, rest @ ..] => is_it(*letter) && begins(rest, &text[1..]),
    }
}

/// How many letters must be changed, added or taken away.
fn edits(a: &str, b: &str) -> usize {
    match (a.chars().next(), b.chars().next()) {
        (None, _) => b.chars().count(),
        (_, None) => a.chars().count(),
        (Some(first), Some(second)) => {
            let (rest, other) = (&a[first.len_utf8()..], &b[second.len_utf8()..]);
            let changed = edits(rest, other) + usize::from(first != second);
            changed.min(1 + edits(rest, b)).min(1 + edits(a, other))
        }
    }
}
