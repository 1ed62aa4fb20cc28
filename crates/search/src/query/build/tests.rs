//! Texts with the trees that they are for a schema, and what is refused.

use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_store::DocumentType;
use stead_text::{Pattern, Phrases};

use super::{QueryTree, Searches, Test, Tree, build};
use crate::query::{OrderKey, SearchError, Sum, TextTest, Tokens, sort_order};
use crate::yql::{Statement, parse};

mod json;
mod refused;

const SCHEMA: &str = "schema d {
  document d {
    struct person { field name type string {} field age type int {} }
    field n type int { indexing: attribute }
    field l type long { indexing: attribute }
    field x type double { indexing: attribute }
    field b type bool { indexing: attribute }
    field t type string {
      indexing: attribute
      alias: other
    }
    field c type string {
      indexing: attribute
      match { cased
 substring }
    }
    field body type string { indexing: index | summary }
    field title type string {
      indexing: index | attribute
      stemming: none
    }
    field id type string {
      indexing: index
      match: exact
    }
    field bits type array<string> {
      indexing: index
      match { gram
 gram-size: 3 }
    }
    field ends type string {
      indexing: index
      match: suffix
      stemming: none
    }
    field note type string { indexing: summary }
    field tags type array<string> { indexing: attribute }
    field w type weightedset<int> { indexing: attribute }
    field p type position { indexing: attribute }
    field v type tensor<float>(x[2]) { indexing: attribute }
    field m type tensor(k{}) { indexing: attribute }
    field people type array<person> {
      indexing: summary
      struct-field name { indexing: attribute }
      struct-field age { indexing: attribute }
    }
    field prices type map<string, int> {
      indexing: summary
      struct-field key { indexing: attribute }
      struct-field value { indexing: attribute }
    }
  }
  fieldset texts { fields: t, c }
  fieldset mixed { fields: t, n }
  fieldset words { fields: body, title }
  fieldset beside { fields: body, t, n }
  fieldset default { fields: body, title }
}";

fn with<T>(run: impl FnOnce(Searches<'_>) -> T) -> T {
    let files = PackageFiles::from_texts([("schemas/d.sd", SCHEMA)]).unwrap();
    let (application, _) = Application::read(&files, ServicesOptions::default());
    let schema = application.schema("d").unwrap();
    let documents = DocumentType::new(schema);
    run(Searches::new(schema, &documents))
}

fn built(filter: &str) -> Result<QueryTree, SearchError> {
    let statement = parse(&format!("select * from d where {filter}")).map_err(SearchError::yql)?;
    built_of(&statement)
}

fn built_of(statement: &Statement) -> Result<QueryTree, SearchError> {
    built_with(statement, &|_| None)
}

/// With other parameters than the usual ones.
fn built_with(
    statement: &Statement,
    others: &dyn Fn(&str) -> Option<String>,
) -> Result<QueryTree, SearchError> {
    let parameters = |name: &str| {
        others(name).or_else(|| match name {
            "numbers" => Some("3, 1,2".to_owned()),
            "texts" => Some("a, 'b c' ,\"D\"".to_owned()),
            "weights" => Some("{'a': 1, b: 2}".to_owned()),
            "seven" => Some("7".to_owned()),
            "typed" | "model.queryString" => Some("big +title:Cats -\"the sea\" n:>5".to_owned()),
            "empty" => Some(String::new()),
            _ => None,
        })
    };
    with(|searches| build(statement, searches, &parameters))
}

fn show(tree: &Tree, of: &QueryTree) -> String {
    let list = |list: &[Tree]| list.iter().map(|t| show(t, of)).collect::<Vec<_>>().join(" ");
    match tree {
        Tree::All => "all".to_owned(),
        Tree::None => "none".to_owned(),
        Tree::And(parts) => format!("(and {})", list(parts)),
        Tree::Or(parts) => format!("(or {})", list(parts)),
        Tree::Not(inner) => format!("(not {})", show(inner, of)),
        Tree::Rank(first, rest) => format!("(rank {} {})", show(first, of), list(rest)),
        Tree::Neighbor(at) => {
            let n = &of.neighbors[*at];
            format!(
                "near({} {} {} {:?} {:?})",
                n.attribute, n.input, n.target_hits, n.distance_threshold, n.label
            )
        }
        Tree::WeakAnd(at) => {
            let weak = &of.weak_ands[*at];
            format!("(weak {} {})", weak.target_hits, list(&weak.parts))
        }
        Tree::SameElement(same) => {
            format!("same({} {:?} {})", same.field, same.elements, show(&same.tree, of))
        }
        Tree::Term(at) => {
            let term = &of.terms[*at];
            let test = match &term.test {
                Test::Range(range) => {
                    let (low, high) = range.whole(i64::MIN, i64::MAX).unwrap_or((1, 0));
                    format!("{low}..{high}")
                        .replace(&(i64::MIN + 1).to_string(), "")
                        .replace(&i64::MAX.to_string(), "")
                }
                Test::Numbers(numbers) => format!("{numbers:?}"),
                Test::Text { test: TextTest::Regex(regex), .. } => format!("/{regex}/"),
                Test::Text { test: TextTest::Fuzzy(_), .. } => "fuzzy".to_owned(),
                Test::Text { test, .. } => format!("{test:?}"),
                Test::Texts { any, .. } => {
                    let mut any: Vec<&String> = any.keys().collect();
                    any.sort();
                    format!("{any:?}")
                }
                Test::Weighted(weighted) => {
                    let mut tokens: Vec<String> = match &weighted.tokens {
                        Tokens::Texts { weights, .. } => {
                            weights.iter().map(|(t, w)| format!("{t}:{w}")).collect()
                        }
                        Tokens::Numbers(weights) => {
                            weights.iter().map(|(t, w)| format!("{t}:{w}")).collect()
                        }
                    };
                    tokens.sort();
                    let sum = match weighted.sum {
                        Sum::Any => "any".to_owned(),
                        Sum::Product => "sum".to_owned(),
                        Sum::Above(limit) => format!("sum>{limit}"),
                    };
                    format!("{sum}[{}]", tokens.join(" "))
                }
                Test::Indexed(of) => {
                    let words = |of: &Phrases| {
                        let phrases: Vec<_> = of.phrases().iter().map(|w| w.join("_")).collect();
                        phrases.join("/")
                    };
                    let all = |parts: &[Phrases]| parts.iter().map(words).collect::<Vec<_>>();
                    match &of.pattern {
                        Pattern::Phrases(of) => format!("phrase[{}]", words(of)),
                        Pattern::NearPart(near, part) => {
                            format!("part[{}]", words(&near.parts[*part]))
                        }
                        Pattern::Near(near) => {
                            let (name, parts) =
                                (if near.is_ordered { "onear" } else { "near" }, all(&near.parts));
                            let mut text = format!("{name}{}[{}]", near.distance, parts.join(" "));
                            if !near.excluded.is_empty() {
                                let excluded = all(&near.excluded).join(" ");
                                text += &format!("-{}[{excluded}]", near.exclusion_distance);
                            }
                            text
                        }
                        other => format!("{other:?}"),
                    }
                }
                Test::Circle(_) => "circle".to_owned(),
                Test::Box(_) => "box".to_owned(),
                Test::Predicate(query) => format!("predicate({})", query.count()),
            };
            format!("{}:{test}", term.attribute)
        }
    }
}

#[test]
fn queries_are_trees() {
    for (filter, expected) in [
        ("true", "all"),
        ("false or !(true)", "(or none (not all))"),
        ("n = 5", "n:5..5"),
        ("5 < n", "n:6.."),
        ("n <= -5", "n:..-5"),
        ("n > 2.5", "n:3.."),
        ("n = @seven", "n:7..7"),
        ("n < -@seven", "n:..-8"),
        ("range(n, 1, 3)", "n:1..3"),
        ("{bounds: 'open'}range(n, 1, 3)", "n:2..2"),
        ("{bounds: 'leftOpen'}range(n, -Infinity, 3)", "n:..3"),
        ("range(n, @seven, Infinity)", "n:7.."),
        ("b = true", "b:1..1"),
        ("b contains 'false'", "b:0..0"),
        ("n contains '<5'", "n:..4"),
        ("n in (3, 1, 3L)", "n:[1, 3]"),
        ("l in (9, @numbers)", "l:[1, 2, 3, 9]"),
        ("t in ('B', @texts)", "t:[\"a\", \"b\", \"b c\", \"d\"]"),
        ("c in ('B')", "c:[\"B\"]"),
        ("t contains 'Ab'", "t:Equal(\"ab\")"),
        ("other contains 'Ab'", "t:Equal(\"ab\")"),
        ("c contains 'Ab'", "c:Equal(\"Ab\")"),
        ("t contains ({prefix: true}'Ab')", "t:Prefix(\"ab\")"),
        ("c contains ({substring: true}'Ab')", "c:Substring(\"Ab\")"),
        ("t matches '^a'", "t:/^a/"),
        ("t contains ({maxEditDistance: 1}fuzzy('ab'))", "t:fuzzy"),
        ("t contains equiv('a', 'b')", "(or t:Equal(\"a\") t:Equal(\"b\"))"),
        ("texts contains 'Ab'", "(or t:Equal(\"ab\") c:Equal(\"Ab\"))"),
        ("mixed contains 'ab'", "t:Equal(\"ab\")"),
        ("mixed contains '7'", "(or t:Equal(\"7\") n:7..7)"),
        ("weightedSet(t, {'A': 1, b: 2})", "t:any[a:1 b:2]"),
        ("weightedSet(t, @weights)", "t:any[a:1 b:2]"),
        ("dotProduct(w, [[1, 2], [3L, -4]])", "w:sum[1:2 3:-4]"),
        ("{scoreThreshold: 5}wand(w, {'1': 2})", "(weak 100 w:sum>5[1:2])"),
        ("{targetHits: 3}wand(w, {'1': 2})", "(weak 3 w:sum>0[1:2])"),
        ("!(wand(w, {'1': 2}))", "(not w:sum>0[1:2])"),
        ("weakAnd(n = 1, wand(w, {'1': 2}))", "(weak 100 n:1..1 w:sum>0[1:2])"),
        ("{targetHits: 3, label: 'q'}nearestNeighbor(v, q)", "near(v q 3 None Some(\"q\"))"),
        (
            "{targetHits: 3, distanceThreshold: 0.5}(nearestNeighbor(v, q) and n = 1)",
            "(and near(v q 3 Some(0.5) None) n:1..1)",
        ),
        ("rank(n = 1, t contains 'a')", "(rank n:1..1 t:Equal(\"a\"))"),
        ("nonEmpty(t contains 'a')", "t:Equal(\"a\")"),
        ("geoLocation(p, 63.4, -10.4, '5 km')", "p:circle"),
        ("geoLocation(p, 'E10.4', 'N63.4', '5 km')", "p:circle"),
        ("geoBoundingBox(p, -63.4, -10.4, 63.5, 10.5)", "p:box"),
        ("tags contains 'a'", "tags:Equal(\"a\")"),
        (
            "people contains sameElement(name contains 'a', age > 3)",
            "same(people [] (and people.name:Equal(\"a\") people.age:4..))",
        ),
        (
            "people contains ({elementFilter: [2, 0, 2]}sameElement(name contains 'a'))",
            "same(people [0, 2] people.name:Equal(\"a\"))",
        ),
        (
            "tags contains sameElement('a' or !'b')",
            "same(tags [] (or tags:Equal(\"a\") (not tags:Equal(\"b\"))))",
        ),
        ("tags[1] = 'a'", "same(tags [1] tags:Equal(\"a\"))"),
        ("people.age[1] = 4", "same(people [1] people.age:4..4)"),
        ("prices{'a'} = -4", "same(prices [] (and prices.key:Equal(\"a\") prices.value:-4..-4))"),
        (
            "prices{7} contains '5'",
            "same(prices [] (and prices.key:Equal(\"7\") prices.value:5..5))",
        ),
        ("people.age > 3", "people.age:4.."),
        ("body contains 'Jumping'", "body:Term(\"jump\")"),
        ("body contains ({stem: false}'Jumping')", "body:Term(\"jumping\")"),
        ("{stem: false}(body contains 'Caf\u{e9}s')", "body:Term(\"cafes\")"),
        ("body contains ({language: 'de'}'H\u{e4}usern')", "body:Term(\"haus\")"),
        ("body contains ({language: 'un'}'Jumping')", "body:Term(\"jump\")"),
        ("{language: 'xx'}(body contains 'Jumping')", "body:Term(\"jumping\")"),
        (
            "body contains near({language: 'de'}'H\u{e4}usern', 'Jumping')",
            "(rank body:near2[haus jump] body:part[haus] body:part[jump])",
        ),
        ("body contains ({accentDrop: false}'caf\u{e9}')", "body:Term(\"caf\u{e9}\")"),
        ("body contains ({normalizeCase: false, stem: false}'Cafe')", "body:Term(\"Cafe\")"),
        ("body contains 'the cats'", "body:phrase[the_cat]"),
        ("body contains '...'", "none"),
        ("body contains ({prefix: true}'Jumping')", "body:Part(Prefix, \"jumping\")"),
        ("body contains phrase('big cats', 'ran')", "body:phrase[big_cat_ran]"),
        ("body contains phrase({stem: false}'cats')", "body:phrase[cats]"),
        ("body contains phrase('a', '.')", "none"),
        ("body contains near('a', 'b')", "(rank body:near2[a b] body:part[a] body:part[b])"),
        (
            "body contains ({distance: 7}onear('a', 'b'))",
            "(rank body:onear7[a b] body:part[a] body:part[b])",
        ),
        ("body contains near('a', !'Cats', !'.')", "(rank body:near2[a]-1[cat] body:part[a])"),
        (
            "body contains ({distance: 7, exclusionDistance: 9}onear('a', 'b', !({stem: false}'cats')))",
            "(rank body:onear7[a b]-9[cats] body:part[a] body:part[b])",
        ),
        (
            "body contains ({distance: 7}onear('a', 'b', !'c', !'d'))",
            "(rank body:onear7[a b]-4[c d] body:part[a] body:part[b])",
        ),
        (
            "body contains near('Big cats', phrase('the', 'dogs'), !'x y', !phrase('z'))",
            "(rank body:near2[big_cat the_dogs]-1[x_y z] body:part[big_cat] body:part[the_dogs])",
        ),
        (
            "body contains near(equiv('cats', 'big dogs', phrase('a', 'b')), alternatives({'Cats': 1, 'dog': 0.7}))",
            "(rank body:near2[cat/big_dogs/a_b cats/dog] body:part[cat/big_dogs/a_b] body:part[cats/dog])",
        ),
        ("body contains near('a', '.')", "none"),
        ("body contains ({implicitTransforms: false}'Cats')", "body:Term(\"cats\")"),
        ("body contains ({implicitTransforms: true}'Cats')", "body:Term(\"cat\")"),
        ("body contains ({implicitTransforms: false}'Caf\u{e9}s')", "body:Term(\"cafes\")"),
        (
            "body contains ({implicitTransforms: false, normalizeCase: false, accentDrop: false}'Caf\u{e9}s')",
            "body:Term(\"Caf\u{e9}s\")",
        ),
        ("body contains ({implicitTransforms: false}'big Cats')", "body:Term(\"big cats\")"),
        ("body contains ({implicitTransforms: false}'')", "none"),
        (
            "body contains phrase('seas', {implicitTransforms: false}'big Cats')",
            "body:phrase[sea_big cats]",
        ),
        (
            "body contains ({implicitTransforms: false}near('seas', {implicitTransforms: true}'cats'))",
            "(rank body:near2[seas cat] body:part[seas] body:part[cat])",
        ),
        (
            "bits contains ({implicitTransforms: false}'Cats')",
            "(and bits:Term(\"cat\") bits:Term(\"ats\"))",
        ),
        (
            "{defaultIndex: 'body', implicitTransforms: false}userInput('big-Cats')",
            "body:phrase[big_cat]",
        ),
        (
            "{defaultIndex: 'body', implicitTransforms: false, grammar: 'raw'}userInput('big Cats')",
            "body:Term(\"big cats\")",
        ),
        // An attribute among indexes has no places of words.
        ("beside contains phrase('a', 'cats')", "body:phrase[a_cat]"),
        ("beside contains phrase('Cats')", "(or body:phrase[cat] t:Equal(\"cats\"))"),
        ("beside contains phrase('7')", "(or body:phrase[7] t:Equal(\"7\") n:7..7)"),
        ("beside contains phrase('big cats')", "body:phrase[big_cat]"),
        (
            "beside contains near('Cats', 'sea', !'a')",
            "(or (rank body:near2[cat sea]-1[a] body:part[cat] body:part[sea]) (and t:Equal(\"cats\") t:Equal(\"sea\") (not t:Equal(\"a\"))))",
        ),
        (
            "beside contains near('a', equiv('b', 'c d'), phrase('e'))",
            "(or (rank body:near2[a b/c_d e] body:part[a] body:part[b/c_d] body:part[e]) (and t:Equal(\"a\") t:Equal(\"b\") t:Equal(\"e\")))",
        ),
        (
            "beside contains near('a', alternatives({'B': 1, 'c': 0.7}))",
            "(or (rank body:near2[a b/c] body:part[a] body:part[b/c]) (and t:Equal(\"a\") (or t:Equal(\"b\") t:Equal(\"c\"))))",
        ),
        (
            "beside contains near('a', phrase('b', 'c'))",
            "(rank body:near2[a b_c] body:part[a] body:part[b_c])",
        ),
        ("beside contains onear('a', 'b')", "(rank body:onear2[a b] body:part[a] body:part[b])"),
        ("body contains equiv('cats', 'a b')", "body:phrase[cat/a_b]"),
        ("body contains equiv('cats', phrase('big', 'sea dogs'))", "body:phrase[cat/big_sea_dogs]"),
        ("body contains equiv('.', 'cats')", "body:Term(\"cat\")"),
        ("body contains equiv('.', '!')", "none"),
        ("body contains equiv({stem: false}'cats', 'seas')", "body:phrase[cats/sea]"),
        ("words contains equiv('cats', 'a')", "(or body:phrase[cat/a] title:phrase[cats/a])"),
        (
            "bits contains equiv('cat', 'dogs')",
            "(or bits:Term(\"cat\") (and bits:Term(\"dog\") bits:Term(\"ogs\")))",
        ),
        ("body contains alternatives({'cats': 1.0, 'Cat': 0.7})", "body:phrase[cats/cat]"),
        ("body contains alternatives({'cats': 1.0})", "body:Term(\"cats\")"),
        ("t contains alternatives({'A': 1, 'b': 0.7})", "(or t:Equal(\"a\") t:Equal(\"b\"))"),
        ("words contains 'cats'", "(or body:Term(\"cat\") title:Term(\"cats\"))"),
        ("id contains 'A b-C'", "id:Term(\"a b-c\")"),
        ("bits contains 'Cats'", "(and bits:Term(\"cat\") bits:Term(\"ats\"))"),
        ("bits contains 'ca'", "bits:Term(\"ca\")"),
        ("bits contains '..'", "none"),
        ("title matches 'x'", "title:/x/"),
        ("title in ('Cats')", "title:[\"cats\"]"),
        ("body in ('Cats', 'b')", "(or body:Term(\"cats\") body:Term(\"b\"))"),
        ("weakAnd(body contains 'a', n = 1)", "(weak 100 body:Term(\"a\") n:1..1)"),
        ("({targetHits: 7}weakAnd(body contains 'a'))", "(weak 7 body:Term(\"a\"))"),
        (
            "userInput('cats sea')",
            "(weak 100 (or body:Term(\"cat\") title:Term(\"cats\")) (or body:Term(\"sea\") title:Term(\"sea\")))",
        ),
        (
            "({defaultIndex: 'body', targetHits: 5}userInput('a b'))",
            "(weak 5 body:Term(\"a\") body:Term(\"b\"))",
        ),
        ("({defaultIndex: 'body'}userInput('cats'))", "body:Term(\"cat\")"),
        (
            "{defaultIndex: 'body'}userInput(@typed)",
            "(and (rank title:Term(\"cats\") body:Term(\"big\") n:6..) (not body:phrase[the_sea]))",
        ),
        (
            "{defaultIndex: 'body', grammar: 'all'}userInput(@typed)",
            "(and (and title:Term(\"cats\") body:Term(\"big\") n:6..) (not body:phrase[the_sea]))",
        ),
        (
            "userQuery()",
            "(and (rank title:Term(\"cats\") (or body:Term(\"big\") title:Term(\"big\")) n:6..) (not (or body:phrase[the_sea] title:phrase[the_sea])))",
        ),
        (
            "{defaultIndex: 'body', grammar: 'any'}userInput('a do*')",
            "(or body:Term(\"a\") body:Part(Prefix, \"do\"))",
        ),
        (
            "{defaultIndex: 'body', grammar: 'web'}userInput('a OR b c')",
            "(and (or body:Term(\"a\") body:Term(\"b\")) body:Term(\"c\"))",
        ),
        ("{defaultIndex: 'body', grammar: 'phrase'}userInput('a -b')", "body:phrase[a_b]"),
        (
            "{defaultIndex: 'body', grammar: 'near'}userInput('Cats +big -a')",
            "(and (rank body:near2[cat big] body:part[cat] body:part[big]) (not body:Term(\"a\")))",
        ),
        (
            "{defaultIndex: 'body', grammar: 'onear', distance: 5}userInput('a \"b c\"')",
            "(rank body:onear5[a b_c] body:part[a] body:part[b_c])",
        ),
        ("{defaultIndex: 'body', grammar: 'near'}userInput('a')", "body:Term(\"a\")"),
        (
            "{defaultIndex: 'body', grammar: 'near'}userInput('-a')",
            "(and none (not body:Term(\"a\")))",
        ),
        (
            "{defaultIndex: 'beside', grammar: 'near'}userInput('a b')",
            "(rank body:near2[a b] body:part[a] body:part[b])",
        ),
        (
            "{defaultIndex: 'body', grammar.composite: 'or'}userInput('a b')",
            "(or body:Term(\"a\") body:Term(\"b\"))",
        ),
        (
            "{defaultIndex: 'body', grammar: 'web', grammar.composite: 'weakAnd', targetHits: 4}userInput('a b')",
            "(weak 4 body:Term(\"a\") body:Term(\"b\"))",
        ),
        (
            "{defaultIndex: 'body', grammar.syntax: 'none', grammar.tokenization: 'linguistics', grammar.composite: 'and'}userInput('+a/b')",
            "(and body:Term(\"a\") body:Term(\"b\"))",
        ),
        (
            "body contains ({grammar.composite: 'oNear'}text('a-b'))",
            "(rank body:onear2[a b] body:part[a] body:part[b])",
        ),
        ("{defaultIndex: 'body', grammar: 'raw'}userInput('cats')", "body:Term(\"cat\")"),
        (
            "{grammar: 'all', defaultIndex: 'body'}userInput('(a b) c')",
            "(and (or body:Term(\"a\") body:Term(\"b\")) body:Term(\"c\"))",
        ),
        ("userInput(@empty)", "none"),
        ("({allowEmpty: true}userInput(@empty))", "all"),
        ("userInput('-a')", "(and none (not (or body:Term(\"a\") title:Term(\"a\"))))"),
        ("body contains text('a -b')", "(weak 100 body:Term(\"a\") body:Term(\"b\"))"),
        (
            "body contains text('my mother-in-law')",
            "(weak 100 body:Term(\"my\") body:Term(\"mother\") body:Term(\"in\") body:Term(\"law\"))",
        ),
        ("body contains text(\"it's\")", "(weak 100 body:Term(\"it\") body:Term(\"s\"))"),
        ("body contains text('sea...')", "body:Term(\"sea\")"),
        ("body contains text('...')", "none"),
        (
            "body contains ({grammar: 'tokenize'}text(\"it's my.cats\"))",
            "(weak 100 body:phrase[it_s] body:Term(\"my\") body:Term(\"cat\"))",
        ),
        (
            "{grammar: 'linguistics', targetHits: 3}userInput('+a/b')",
            "(weak 3 (or body:Term(\"a\") title:Term(\"a\")) (or body:Term(\"b\") title:Term(\"b\")))",
        ),
        ("t contains text('a-B')", "(weak 100 t:Equal(\"a\") t:Equal(\"b\"))"),
        (
            "id contains ({grammar: 'tokenize'}text('a-b C@@ d@@'))",
            "(weak 100 id:Term(\"a-b c\") id:Term(\"d\"))",
        ),
        ("id contains ({grammar: 'phrase'}text('a \"b\"@@'))", "id:Term(\"a \\\"b\\\"\")"),
        (
            "{grammar: 'all', defaultIndex: 'body'}userInput('a -id:B & (O)@@ b')",
            "(and (and body:Term(\"a\") body:Term(\"b\")) (not id:Term(\"b & (o)\")))",
        ),
        (
            "{defaultIndex: 'id', grammar: 'all'}userInput('a b@@ C@@*')",
            "(and id:Term(\"a b\") id:Part(Prefix, \"c\"))",
        ),
        ("{defaultIndex: 'id', grammar: 'any'}userInput('title:a')", "id:Term(\"title:a\")"),
        (
            "{defaultIndex: 't', grammar: 'all'}userInput('*Og do* *o*')",
            "(and t:Suffix(\"og\") t:Prefix(\"do\") t:Substring(\"o\"))",
        ),
        (
            "{defaultIndex: 'c', grammar: 'all'}userInput('*Og tags:*x')",
            "(and c:Suffix(\"Og\") tags:Suffix(\"x\"))",
        ),
        // An index that the schema does not want matched by parts has words, and only one word has parts.
        (
            "{defaultIndex: 'body', grammar: 'all'}userInput('*Cats *big-cats big-cats*')",
            "(and body:Term(\"cat\") body:phrase[big_cat] body:phrase[big_cat])",
        ),
        (
            "{defaultIndex: 'body', grammar: 'all'}userInput('ends:*Og ends:*og*')",
            "(and ends:Part(Suffix, \"og\") ends:Term(\"og\"))",
        ),
        (
            "{defaultIndex: 'beside', grammar: 'all'}userInput('do* *g')",
            "(and (or body:Part(Prefix, \"do\") t:Prefix(\"do\")) (or body:Term(\"g\") t:Suffix(\"g\")))",
        ),
        ("id contains text('a-b')", "(weak 100 id:Term(\"a\") id:Term(\"b\"))"),
        (
            "{targetHits: 7}weakAnd(({defaultIndex: 'body'}userInput('a b')), tags contains 'x')",
            "(weak 7 (or body:Term(\"a\") body:Term(\"b\")) tags:Equal(\"x\"))",
        ),
        ("weakAnd(n = 1, weakAnd(n = 2, weakAnd(n = 3)))", "(weak 100 n:1..1 (or n:2..2 n:3..3))"),
        ("weakAnd(n = 1 and weakAnd(n = 2, n = 3))", "(weak 100 (and n:1..1 (or n:2..2 n:3..3)))"),
        ("body contains ({grammar: 'all'}text('a b'))", "(and body:Term(\"a\") body:Term(\"b\"))"),
        ("weightedSet(body, {'Cats': 2})", "body:Term(\"cats\")"),
    ] {
        let tree = built(filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
        assert_eq!(show(&tree.root, &tree), expected, "{filter}");
        assert!(tree.warnings.is_empty(), "{filter}: {:?}", tree.warnings);
    }
}

#[test]
fn annotations_reach_all_that_they_stand_before() {
    let tree = built(
        "({ranked: false}(n = 1 and t contains ({ranked: true, weight: 7}'a'))) or ({label: 'x'}(n = 2))",
    );
    let tree = tree.unwrap();
    let styles: Vec<_> = tree
        .terms
        .iter()
        .map(|t| (t.style.is_ranked, t.style.weight, t.style.label.as_deref()))
        .collect();
    assert_eq!(styles, [(false, 100, None), (true, 7, None), (true, 100, Some("x"))]);
    let tree = built("userQuery('a')").unwrap();
    assert_eq!(
        tree.warnings,
        ["userQuery takes no arguments: what it asks is the parameter query"]
    );
    let tree = built("{targetHit: 7, stem: false}(n = 1)").unwrap();
    assert_eq!(tree.warnings, ["annotation targetHit is not known and has no effect"]);
}

#[test]
fn hits_are_ordered_by_attributes() {
    let order = |text: &str, sorting: Option<&str>, locale: Option<&str>| {
        let statement = parse(&format!("select * from d where true {text}")).unwrap();
        with(|searches| sort_order(&statement.order, sorting, locale, searches)).map(|order| {
            let shown = order.iter().map(|o| {
                let sign = if o.descending { "-" } else { "+" };
                let key = match &o.key {
                    OrderKey::Attribute(name) => name.clone(),
                    other => format!("{other:?}"),
                };
                format!("{sign}{key}:{:?}:{:?}", o.function, o.missing)
            });
            shown.collect::<Vec<_>>().join(" ").replace("Lowercase", "lower").replace(":Usual", "")
        })
    };
    for (text, sorting, expected) in [
        ("", None, Ok("")),
        ("order by n desc, {function: 'raw'}t", None, Ok("-n:lower +t:Raw")),
        ("order by \"[rank]\"", Some("+n"), Ok("+Score:Raw")),
        ("", Some("-n +raw(t) x [relevance]"), Ok("-n:lower +t:Raw +x:lower -Score:Raw")),
        ("", Some("-[docid] +[source]"), Ok("-Document:Raw +Source:Raw")),
        ("order by tags desc", None, Ok("-tags:lower")),
        ("", Some("uca(t)"), Ok("+t:lower")),
        ("", Some("uca(t,nb_NO)"), Ok("+t:Uca(nb-NO primary)")),
        (
            "order by {function: 'uca', locale: 'en_US', strength: 'IDENTICAL'}t desc",
            None,
            Ok("-t:Uca(en-US identical)"),
        ),
        (
            "",
            Some("missing(n,last) -missing(lowercase(t),as,\"A b\") missing(x,as,2)"),
            Ok("+n:lower:Last -t:lower:As(Text(\"a b\")) +x:lower:As(Number(2.0))"),
        ),
        ("order by z", None, Err("order by z: there is no such attribute")),
        ("order by v", None, Err("order by v: a tensor<float>(x[2]) has no order")),
        (
            "order by {down: 'x'}n",
            None,
            Err(
                "Could not create query from YQL: order by n has no annotation down but function, locale, strength",
            ),
        ),
        ("order by {locale: 'e'}t", None, Err("order by t: 'e' is no locale such as en-US")),
        ("", Some("upper(t)"), Err("Unknown sort function 'upper'")),
        ("order by {function: 'upper'}t", None, Err("Unknown sort function 'upper'")),
        ("", Some("missing(n,as,x)"), Err("order by n: 'x' is none of its values")),
        (
            "",
            Some("[id]"),
            Err(
                "order by [id] is not supported; write [relevance], [docid], [source] or an attribute",
            ),
        ),
    ] {
        let found = order(text, sorting, None).map_err(|error| error.message);
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{text} {sorting:?}");
    }
    // Texts are in the order of the language of the request, where nothing else is said.
    let found = order("order by t, {function: 'lowercase'}t", None, Some("sv"));
    assert_eq!(found.unwrap(), "+t:Uca(sv primary) +t:lower");
    assert_eq!(order("order by t", None, Some("no language")).unwrap(), "+t:lower");
}

#[test]
fn requests_say_how_texts_are_read() {
    let (weak, near) = (
        "(weak 100 body:Term(\"a\") body:Term(\"b\"))",
        "(rank body:near2[a b] body:part[a] body:part[b])",
    );
    for (parameters, filter, expected) in [
        (&[][..], "userQuery()", weak),
        (&[("", "near")], "userQuery()", near),
        (&[("", "raw")], "userQuery()", "body:phrase[a_b]"),
        (&[(".composite", "near")], "userQuery()", near),
        (
            &[("", "any"), (".composite", "and")],
            "userQuery()",
            "(and body:Term(\"a\") body:Term(\"b\"))",
        ),
        (&[(".syntax", "none"), (".tokenization", "linguistics")], "userQuery()", weak),
        (&[("", "near")], "userInput('a b')", weak),
        (&[("", "near"), (".isYqlDefault", "true")], "userInput('a b')", near),
        (&[("", "raw"), (".isYqlDefault", "true")], "userInput('a b')", "body:phrase[a_b]"),
        (&[("", "near"), (".isYqlDefault", "true")], "{grammar: 'weakAnd'}userInput('a b')", weak),
    ] {
        let statement = parse(&format!("select * from d where {filter}")).unwrap();
        let of = |name: &str| match name {
            "model.queryString" => Some("a b".to_owned()),
            "model.defaultIndex" => Some("body".to_owned()),
            _ => {
                let part = name.strip_prefix("model.type")?;
                let found = parameters.iter().find(|(known, _)| *known == part);
                found.map(|(_, value)| (*value).to_owned())
            }
        };
        let built = built_with(&statement, &of).unwrap();
        assert_eq!(show(&built.root, &built), expected, "{parameters:?} {filter}");
    }
}
