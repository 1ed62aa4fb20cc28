//! Groupings, as clients write and read them: the purchases and the sums of Vespa's documentation (`querying/grouping.html`).
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};
use stead_search::request::SearchRequest;
use stead_store::Documents;

use crate::asked::Asked;

const SCHEMA: &str = "schema purchase {
  document purchase {
    field date type long { indexing: summary | attribute }
    field price type double { indexing: summary | attribute }
    field whole type int { indexing: summary | attribute }
    field item type string { indexing: summary | attribute }
    field customer type string { indexing: summary | attribute }
    field paid type bool { indexing: attribute }
    field tags type weightedset<string> { indexing: attribute }
    field sizes type array<int> { indexing: attribute }
    field notes type map<string,int> {
      indexing: summary
      struct-field key { indexing: attribute }
      struct-field value { indexing: attribute }
    }
    field hidden type tensor(x[2]) { indexing: attribute }
    field word type string { indexing: attribute }
    field stops type array<position> { indexing: attribute }
  }
  document-summary short { summary item {} }
  rank-profile default { first-phase { expression: attribute(price) } }
  rank-profile shown inherits default { match-features: attribute(whole) }
}";

/// Day of September 2006, hour, price, item, customer.
const PURCHASES: [(i64, i64, i32, &str, &str); 20] = [
    (6, 9, 1000, "Intake valve", "Smith"),
    (7, 10, 1000, "Rocker arm", "Smith"),
    (7, 11, 2000, "Spring", "Smith"),
    (8, 12, 3000, "Valve cover", "Jones"),
    (8, 10, 5000, "Intake port", "Jones"),
    (8, 11, 8000, "Head", "Brown"),
    (9, 12, 1300, "Coolant", "Smith"),
    (9, 10, 2100, "Engine block", "Jones"),
    (9, 11, 3400, "Oil pan", "Brown"),
    (9, 12, 5500, "Oil sump", "Smith"),
    (10, 10, 8900, "Camshaft", "Jones"),
    (10, 11, 1440, "Exhaust valve", "Brown"),
    (10, 12, 2330, "Rocker arm", "Brown"),
    (10, 10, 3770, "Spring", "Brown"),
    (10, 11, 6100, "Spark plug", "Smith"),
    (11, 12, 9870, "Exhaust port", "Jones"),
    (11, 10, 1597, "Piston", "Brown"),
    (11, 11, 2584, "Connection rod", "Smith"),
    (11, 12, 4181, "Rod bearing", "Jones"),
    (11, 13, 6765, "Crankshaft", "Jones"),
];

/// Texts that languages order in different ways.
const WORDS: [&str; 4] = ["z", "\u{f6}", "a", "\u{d6}"];

struct Shop {
    asked: Asked,
    documents: Documents,
}

impl Shop {
    fn new() -> Shop {
        let asked = Asked::new(&[("purchase", false, SCHEMA)]);
        let list: Vec<Json> = PURCHASES
            .iter()
            .enumerate()
            .map(|(at, (day, hour, price, item, customer))| {
                // 2006-09-01 was the day 13,392 since 1970.
                let date = (13_392 + day - 1) * 86_400 + hour * 3600;
                json!({
                    "date": date, "price": price, "whole": price, "item": item, "customer": customer, "paid": at % 4 == 0,
                    "tags": {"all": 1, "even": at % 2 + 1}, "sizes": [at, at % 3],
                    "notes": {"a": at, "b": 1}, "word": WORDS[at % 4],
                    "stops": (0..if at < 19 { 1 + at % 2 } else { 0 })
                        .map(|more| json!({"lat": at + more, "lng": 0}))
                        .collect::<Vec<_>>(),
                })
            })
            .collect();
        let documents = asked.documents("purchase", &list);
        Shop { asked, documents }
    }

    /// The result of a grouping without hits.
    fn ask(&self, grouping: &str, more: &Json) -> (u16, Json) {
        let mut body =
            json!({"yql": format!("select * from purchase where true limit 0 | {grouping}")});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.asked.search(&[self.documents.view()], &body)
    }

    /// The groups of the first list.
    fn groups(&self, grouping: &str) -> Json {
        let (status, result) = self.ask(grouping, &json!({}));
        assert_eq!(status, 200, "{grouping}: {result}");
        let root = &result["root"]["children"][0];
        assert_eq!(root["id"], "group:root:0", "{grouping}: {result}");
        root["children"][0]["children"].clone()
    }

    /// Groups with their fields as texts: `value field field`, and those in them in parentheses.
    fn shown(&self, grouping: &str) -> String {
        shown(&self.groups(grouping))
    }
}

fn shown(groups: &Json) -> String {
    let of = |group: &Json| {
        let name = match (&group["value"], &group["limits"]) {
            (Json::String(value), _) => value.clone(),
            (_, Json::Object(ends)) => {
                format!("{}..{}", ends["from"].as_str().unwrap(), ends["to"].as_str().unwrap())
            }
            _ => group["id"].as_str().unwrap().to_owned(),
        };
        let fields = group["fields"].as_object().cloned().unwrap_or_default();
        let fields: String = fields.values().map(|field| format!(" {field}")).collect();
        let inner = group["children"].as_array().cloned().unwrap_or_default();
        let inner: String =
            inner.iter().map(|list| format!(" ({})", shown(&list["children"]))).collect();
        format!("{name}{fields}{inner}")
    };
    groups
        .as_array()
        .map_or(String::new(), |list| list.iter().map(of).collect::<Vec<_>>().join(", "))
}

#[test]
fn groups_have_what_vespa_documents() {
    let shop = Shop::new();
    for (grouping, expected) in [
        // The best score of a group tells its place: the prices are the scores.
        (
            "all(group(customer) each(output(sum(price))))",
            "Jones 39816.0, Brown 20537.0, Smith 19484.0",
        ),
        (
            "all(group(customer) order(sum(whole)) each(output(sum(whole))))",
            "Smith 19484, Brown 20537, Jones 39816",
        ),
        (
            "all(group(customer) max(2) order(-count(), max(whole)) each(output(count())))",
            "Smith 7, Jones 7",
        ),
        (
            "all(group(customer) max(2) precision(12) order(-count()) each(group(time.date(date)) order(max(date)) each(output(sum(whole)))))",
            "Jones (2006-9-8 8000, 2006-9-9 2100, 2006-9-10 8900, 2006-9-11 20816), \
             Smith (2006-9-6 1000, 2006-9-7 3000, 2006-9-9 6800, 2006-9-10 6100, 2006-9-11 2584)",
        ),
        (
            "all(group(fixedwidth(whole, 1000)) max(3) order(min(whole)) each(output(count())))",
            "1000..2000 5, 2000..3000 4, 3000..4000 3",
        ),
        (
            "all(group(predefined(price, bucket(0, 1000), bucket[1000, 2000>, bucket[5000, inf])) order(-count()) each(output(count())))",
            "group:null 8, 5000..9223372036854775807 7, 1000..2000 5",
        ),
        (
            "all(group(predefined(item, bucket('A', 'D'), bucket('E', 'Q'))) order(count()) each(output(count())))",
            "A..D 4, group:null 7, E..Q 9",
        ),
        (
            "all(group(time.dayofweek(date)) order(max(date)) each(output(count(), avg(whole))))",
            "3 1000.0 1, 4 1500.0 2, 5 5333.333333333333 3, 6 3075.0 4, 0 4508.0 5, 1 4999.4 5",
        ),
        (
            "all(group(customer) filter(regex(\"J.*|S.*\", customer) and not range(3000, 6000, whole)) each(output(count(), xor(whole))))",
            "Jones 4 5651, Smith 6 7944",
        ),
        ("all(group(paid) each(output(count())))", "false 15, true 5"),
        (
            "all(group(1) each(output(count(), quantiles([0.5, 1], whole))))",
            "1 20 [{\"quantile\":0.5,\"value\":3000.0},{\"quantile\":1.0,\"value\":9870.0}]",
        ),
        (
            "all(group(tags) order(-count()) each(output(count(), sum(whole))))",
            "all 20 79837, even 20 79837",
        ),
        (
            "all(group(sizes) filter(range(17, 30, sizes)) order(max(relevance())) each(output(count(), sum(sizes))))",
            "17 1 17, 18 1 18, 19 1 19",
        ),
        ("all(group(notes.key) each(output(sum(notes.value))))", "a 190, b 20"),
        ("all(group(notes{\"b\"}) each(output(sum(notes{\"a\"}))))", "1 190"),
        (
            "all(group(array.at(sizes, 1)) order(-count()) each(output(max(size(sizes)))))",
            "0 2, 1 2, 2 2",
        ),
        (
            "all(group(strcat(customer, \"!\", strlen(item))) max(1) each(output(min(docidnsspecific()))))",
            "Jones!12 \"15\"",
        ),
        (
            "all(group(whole % 1000 / 100) max(2) order(-max(relevance() * 2)) each(output(max(math.floor(price / 3)))))",
            "8 3290.0, 9 2966.0",
        ),
        // A degree to the north is 111.195 km.
        (
            "all(group(fixedwidth(geo_distance(stops, 0, 0).km, 500)) filter(range(0, 20000, geo_distance(stops, 0, 0).km))
             order(min(geo_distance(stops, 0, 0).miles)) each(output(count(), max(geo_distance(attribute(stops), 0, -90).km * 0))))",
            "0.0..500.0 5 0.0, 500.0..1000.0 4 0.0, 1000.0..1500.0 5 0.0, 1500.0..2000.0 4 0.0, 2000.0..2500.0 1 0.0",
        ),
        (
            "all(group(word) order(max(uca(word, \"sv\", \"PRIMARY\")), count(), max(word)) each(output(count())))",
            "a 5, z 5, \u{d6} 5, \u{f6} 5",
        ),
        (
            "all(group(word) order(max(uca(word, 'de'))) each(output(count())))",
            "a 5, \u{f6} 5, \u{d6} 5, z 5",
        ),
        (
            "all(group(md5(customer, 16)) order(count()) each(output(count())))",
            "7WM= 6, WYM= 7, 6V8= 7",
        ),
    ] {
        assert_eq!(shop.shown(grouping), expected, "{grouping}");
    }
}

#[test]
fn texts_that_a_language_does_not_tell_apart_are_one_group() {
    let shop = Shop::new();
    let grouping =
        "all(group(uca(word, 'en', 'primary')) order(max(word)) each(output(count(), min(word))))";
    let groups = shop.groups(grouping);
    let fields: Vec<&Json> =
        groups.as_array().unwrap().iter().map(|group| &group["fields"]).collect();
    let group = |count: u32, word: &str| json!({"count()": count, "min(word)": word});
    // By the greatest of their bytes.
    assert_eq!(fields, [&group(5, "a"), &group(5, "z"), &group(10, "\u{d6}")]);
}

#[test]
fn documents_are_waited_for_as_long_as_there_is_time() {
    let shop = Shop::new();
    let sums = "all(group(customer) each(output(sum(whole))))";
    for how in ["0.0001, true", "0.0001, false", "0, true"] {
        let slow = format!(
            "all(group(debugwait(customer, {how})) each(output(sum(debugwait(whole, {how})))))"
        );
        let fields = |grouping: &str| {
            let groups = shop.groups(grouping);
            let values = groups.as_array().unwrap().iter().map(|group| {
                let sum = group["fields"].as_object().unwrap().values().next().unwrap().clone();
                (group["value"].clone(), sum)
            });
            values.collect::<Vec<_>>()
        };
        assert_eq!(fields(&slow), fields(sums), "{how}");
    }
    let grouping = "all(group(debugwait(customer, 3600, false)) each(output(count())))";
    let (status, result) = shop.ask(grouping, &json!({"timeout": "300ms"}));
    let coverage = &result["root"]["coverage"];
    assert_eq!((status, &coverage["degraded"]["timeout"]), (200, &json!(true)), "{result}");
}

#[test]
fn results_have_vespas_form() {
    let shop = Shop::new();
    let (_, result) = shop.ask(
        "all(group(customer) max(1) output(count() as(customers)) each(output(count()) max(2) each(output(summary(short)))) as(people))",
        &json!({}),
    );
    let hit = |number: u32, relevance: f64, item: &str, id: &Json| json!({"id": id, "relevance": relevance, "source": "c", "fields": {"sddocname": "purchase", "item": item}, "number": number});
    let root = &result["root"]["children"][0];
    let list = &root["children"][0];
    let group = &list["children"][0];
    let hits = group["children"][0]["children"].as_array().unwrap();
    let mut expected = [
        hit(15, 9870.0, "Exhaust port", &hits[0]["id"]),
        hit(10, 8900.0, "Camshaft", &hits[1]["id"]),
    ];
    for hit in &mut expected {
        hit.as_object_mut().unwrap().remove("number");
    }
    assert_eq!(
        root,
        &json!({
            "id": "group:root:0", "relevance": 1.0, "continuation": {"this": ""}, "fields": {"customers": 3},
            "children": [{
                "id": "grouplist:people", "relevance": 1.0, "label": "people", "continuation": {"next": "BGAAABGBCBC"},
                "children": [{
                    "id": "group:string:Jones", "relevance": 9870.0, "value": "Jones", "fields": {"count()": 7},
                    "children": [{
                        "id": "hitlist:hits", "relevance": 1.0, "label": "hits",
                        "continuation": {"next": group["children"][0]["continuation"]["next"]},
                        "children": expected
                    }]
                }]
            }]
        }),
        "{result}"
    );
    assert_eq!(result["root"]["fields"]["totalCount"], 20);
}

#[test]
fn pages_are_turned_by_continuations() {
    let shop = Shop::new();
    let grouping = "all(group(item) max(7) order(max(item)) each(output(count())))";
    let whole: Vec<String> = shop
        .shown("all(group(item) max(100) order(max(item)) each(output(count())))")
        .split(", ")
        .map(str::to_owned)
        .collect();
    assert_eq!(whole.len(), 18);
    let (mut seen, mut continuations, mut back) = (Vec::new(), json!([]), Vec::new());
    for page in 0..3 {
        let (status, result) =
            shop.ask(&format!("{{continuations: {continuations}}}{grouping}"), &json!({}));
        assert_eq!(status, 200, "{result}");
        let root = &result["root"]["children"][0];
        let list = &root["children"][0];
        seen.extend(shown(&list["children"]).split(", ").map(str::to_owned));
        assert_eq!(list["continuation"]["prev"].is_string(), page > 0, "{result}");
        assert_eq!(list["continuation"]["next"].is_string(), page < 2, "{result}");
        // The page again, by what it says of itself.
        let this = &root["continuation"]["this"];
        let (_, again) = shop.ask(&format!("{{continuations: [{this}]}}{grouping}"), &json!({}));
        assert_eq!(again["root"]["children"], result["root"]["children"]);
        back.push(list["continuation"]["prev"].clone());
        continuations = json!([this, list["continuation"]["next"]]);
    }
    assert_eq!(seen, whole);
    let body = json!({"yql": "select * from purchase where true", "hits": 0, "select": grouping, "continue": back[2]});
    let (_, result) = shop.asked.search(&[shop.documents.view()], &body);
    let list = &result["root"]["children"][0]["children"][0];
    assert_eq!(shown(&list["children"]), whole[7..14].join(", "));
}

#[test]
fn requests_say_limits_and_zones() {
    let shop = Shop::new();
    let ask = |grouping: &str, more: Json| {
        let (status, result) = shop.ask(grouping, &more);
        let message = result["root"]["errors"][0]["message"].as_str().map(str::to_owned);
        let list = &result["root"]["children"][0]["children"][0]["children"];
        (status, message.unwrap_or_else(|| shown(list)))
    };
    let day = "all(group(time.dayofmonth(date)) order(-count(), -max(date)) max(2) each(output(count())))";
    assert_eq!(ask(day, json!({})), (200, "11 5, 10 5".to_owned()));
    assert_eq!(ask(day, json!({"timezone": "GMT+14:00"})).1, "12 5, 11 5");
    // Twelve hours ahead when it is 1970.
    assert_eq!(ask(day, json!({"timezone": "Pacific/Auckland"})).1, "10 6, 12 3");
    let items = "all(group(item) each(output(count())))";
    assert_eq!(ask(items, json!({})).1.split(", ").count(), 10);
    assert_eq!(ask(items, json!({"grouping.defaultMaxGroups": 3})).1.split(", ").count(), 3);
    let refused = |grouping: &str, more: Json, expected: &str| {
        let (status, message) = ask(grouping, more);
        assert_eq!(status, 400, "{grouping}: {message}");
        assert!(message.contains(expected), "{grouping}: {message}");
    };
    refused(
        items,
        json!({"grouping.defaultMaxGroups": -1}),
        "Cannot return unbounded number of groups when 'grouping.globalMaxGroups' is enabled.",
    );
    refused(
        "all(group(item) max(200) each(group(customer) max(100) each(output(count()))))",
        json!({}),
        "exceeds 'grouping.globalMaxGroups' ( 20200 > 10000 )",
    );
    for (name, value, expected) in [
        ("timezone", "Europe/Atlantis", "or a region such as Europe/Oslo"),
        ("grouping.defaultMaxHits", "1.5", "expected a whole number from 0, or -1"),
        ("Grouping.GlobalMaxGroups", "5", "must be specified in a query profile"),
        ("grouping.more", "5", "grouping.more is not supported"),
    ] {
        let pairs = [("yql", "select * from purchase where true"), (name, value)];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let profiles = &shop.asked.application.query_profiles;
        let message = SearchRequest::new(pairs, profiles).unwrap_err().message;
        assert!(message.contains(expected), "{name}: {message}");
    }
    for (grouping, expected) in [
        (
            "all(group(nothing) each(output(count())))",
            "Grouping request references attribute 'nothing' which is not available in cluster 'c'.",
        ),
        (
            "all(group(hidden) each(output(count())))",
            "Grouping request references attribute 'hidden' with unsupported type 'tensor(x[2])'",
        ),
        (
            "all(group(item) each(output(sum(price) / count())))",
            "Can not convert 'div(sum(price), count())' to an aggregator.",
        ),
        (
            "all(group(item) order(price) each(output(count())))",
            "order takes values of groups; write max(price)",
        ),
        (
            "all(group(fixedwidth(item, 3)) each(output(count())))",
            "cannot create appropriate bucket for type 'string'",
        ),
        (
            "all(group(item) each(output(count())) each(output(max(price))))",
            "Can not use group list label 'item' for multiple siblings.",
        ),
        (
            "all(group(item) filter(istrue(price)) each(output(count())))",
            "istrue() requires input to be type bool, got price",
        ),
        (
            "all(group(item) filter(regex(\"(\", item)) each(output(count())))",
            "'(' is no regular expression",
        ),
        (
            "all(group(item) order(max(price)) all(each(output(count()))))",
            "Can not create anonymous list of groups.",
        ),
        (
            "all(group(add(item, customer)) each(output(count())))",
            "add takes numbers, found string",
        ),
        (
            "all(group(uca(item, 'e')) each(output(count())))",
            "uca(item, \"e\"): 'e' is no locale such as en-US",
        ),
        (
            "all(group(fixedwidth(geo_distance(item, 1, 2).km, 3)) each(output(count())))",
            "geo_distance(item, 1.0, 2.0).km: item has no positions",
        ),
        (
            "all(group(fixedwidth(geo_distance(stops, 100, 2).km, 3)) each(output(count())))",
            "geo_distance(stops, 100.0, 2.0).km: there is no such place",
        ),
        ("all(group(item) output(sum(price)))", "Can not aggregate on list of groups."),
        ("{x: 1}all(group(item) each(output(count())))", "a grouping has no annotation x"),
        ("{continuations: ['x']}all(group(item) each(output(count())))", "'x' is no continuation"),
    ] {
        refused(grouping, json!({}), expected);
    }
}

#[test]
fn matches_are_grouped_and_hits_stay() {
    let shop = Shop::new();
    let body = json!({
        "yql": "select item from purchase where whole > 8000 | all(group(customer) each(output(count()))) | all(output(count()))",
        "hits": 1,
    });
    let (_, result) = shop.asked.search(&[shop.documents.view()], &body);
    let children = result["root"]["children"].as_array().unwrap();
    let ids: Vec<&str> = children.iter().map(|child| child["id"].as_str().unwrap()).collect();
    assert_eq!(&ids[..2], ["group:root:0", "group:root:1"]);
    assert_eq!((ids.len(), children[1]["fields"]["count()"].as_i64()), (3, Some(2)));
    assert_eq!(children[2]["fields"], json!({"item": "Exhaust port"}));
    assert_eq!(shown(&children[0]["children"][0]["children"]), "Jones 2");
    // Of all documents, and of the best ones.
    let count = |grouping: &str| {
        let yql = format!("select * from purchase where whole > 8000 limit 0 | {grouping}");
        let (_, result) = shop.asked.search(&[shop.documents.view()], &json!({"yql": yql}));
        result["root"]["children"][0]["fields"]["count()"].clone()
    };
    assert_eq!(count("all(output(count())) where(true)"), 20);
    assert_eq!(count("all(max(1) output(count()))"), 1);
    assert_eq!(count("all(where($query) output(count()))"), 2);
    // An order by attributes has no scores.
    let body = json!({"yql": "select * from purchase where true order by item limit 0 | all(group(customer) each(output(count())))"});
    let (_, result) = shop.asked.search(&[shop.documents.view()], &body);
    let list = &result["root"]["children"][0]["children"][0]["children"];
    assert_eq!(shown(list), "Brown 6, Jones 7, Smith 7");
    assert_eq!(list[0]["relevance"], 0.0);
}

#[test]
fn features_are_computed_for_hits_and_not_for_all_that_is_grouped() {
    let shop = Shop::new();
    // Hits, offset, and how many have features: those that are left out before the offset have them too.
    for (hits, offset, expected) in [(1, 0, 1), (2, 3, 5), (50, 0, 20)] {
        let body = json!({
            "yql": "select item from purchase where true | all(group(customer) each(output(count())))",
            "hits": hits, "offset": offset, "ranking": "shown", "trace.explainLevel": 1, "traceLevel": 1,
        });
        let (_, result) = shop.asked.search(&[shop.documents.view()], &body);
        let children = result["root"]["children"].as_array().unwrap();
        let groups = &children[0]["children"][0]["children"];
        // By the best of their scores.
        assert_eq!(shown(groups), "Jones 7, Brown 6, Smith 7", "{hits} {offset}");
        let features: Vec<f64> = children[1..]
            .iter()
            .map(|hit| hit["fields"]["matchfeatures"]["attribute(whole)"].as_f64().unwrap())
            .collect();
        let mut prices: Vec<f64> = PURCHASES.iter().map(|of| f64::from(of.2)).collect();
        prices.sort_by(|a, b| b.total_cmp(a));
        prices.drain(..offset);
        prices.truncate(hits);
        assert_eq!(features, prices, "{hits} {offset}");
        let trace = result["trace"]["children"].as_array().unwrap();
        let stages = trace.iter().find_map(|told| told["message"]["ranking"]["stages"].as_array());
        let stages = stages.unwrap_or_else(|| panic!("{trace:?}")).iter();
        let of_features = stages.filter(|stage| stage["name"] == "match-features");
        let counts: Vec<_> = of_features.map(|stage| stage["documents"].as_u64()).collect();
        assert_eq!(counts, [Some(expected)], "{hits} {offset}");
    }
}
