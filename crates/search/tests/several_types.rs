//! Searches of several types of documents, and of what documents import from their parents.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use serde_json::{Value as Json, json};
use stead_kernels::{Parallel, Serial};
use stead_store::{Collection, FieldValue};

use crate::asked::Asked;

const AD: &str = "schema ad {
  document ad {
    field title type string { indexing: summary | attribute }
    field price type int { indexing: summary | attribute }
    field campaign type reference<campaign> { indexing: attribute }
  }
  import field campaign.budget as budget {}
  import field campaign.name as campaign_name {}
  import field campaign.taste as taste {}
  import field campaign.words as words {}
  import field campaign.country as country {}
  document-summary with_campaign {
    summary title {}
    summary budget {}
    summary campaign_name {}
    summary words {}
    summary country {}
  }
  rank-profile worth {
    inputs { query(user) tensor<float>(x[2]) }
    first-phase { expression: attribute(budget) + sum(query(user) * attribute(taste)) }
    match-features: attribute(budget) attribute(words).count
  }
}";

const CAMPAIGN: &str = "schema campaign {
  document campaign {
    field name type string { indexing: summary | attribute }
    field budget type int { indexing: summary | attribute }
    field words type array<string> { indexing: summary | attribute }
    field taste type tensor<float>(x[2]) { indexing: summary | attribute }
    field seller type reference<seller> { indexing: attribute }
  }
  import field seller.country as country {}
  rank-profile worth { first-phase { expression: attribute(budget) } }
}";

const SELLER: &str = "schema seller {
  document seller { field country type string { indexing: summary | attribute } }
}";

fn asked() -> Asked {
    Asked::new(&[("ad", false, AD), ("campaign", true, CAMPAIGN), ("seller", true, SELLER)])
}

/// Puts a document from its fields.
fn put(collection: &mut Collection, id: &str, fields: &[(&str, FieldValue)]) {
    let kind = collection.kind().clone();
    let number = |name: &str| kind.field(name).unwrap().0;
    let mut fields: Vec<(usize, FieldValue)> =
        fields.iter().map(|(name, value)| (number(name), value.clone())).collect();
    fields.sort_by_key(|(field, _)| *field);
    collection.put(&format!("id:m:{}::{id}", kind.name()), &fields).unwrap();
    collection.publish();
}

fn text(text: &str) -> FieldValue {
    FieldValue::Text(text.to_owned())
}

fn taste(asked: &Asked, cells: [f64; 2]) -> FieldValue {
    let list = [json!({"taste": cells})];
    let documents = asked.documents("campaign", &list);
    let fields = documents.view().fields(0).unwrap();
    fields.into_iter().next().unwrap().1
}

struct Ads {
    asked: Asked,
    ads: Collection,
    campaigns: Collection,
    sellers: Collection,
}

impl Ads {
    /// Five ads: two of the campaign "summer", one of "winter", one of a campaign that there is not, one of none.
    fn new() -> Ads {
        let asked = asked();
        let [mut ads, mut campaigns, mut sellers] =
            ["ad", "campaign", "seller"].map(|name| Collection::new(asked.kind(name)));
        put(&mut sellers, "s", &[("country", text("no"))]);
        let words = FieldValue::Array(vec![text("sun"), text("sea")]);
        put(
            &mut campaigns,
            "summer",
            &[
                ("name", text("Summer")),
                ("budget", FieldValue::Integer(10)),
                ("words", words),
                ("taste", taste(&asked, [1.0, 0.0])),
                ("seller", text("id:m:seller::s")),
            ],
        );
        put(
            &mut campaigns,
            "winter",
            &[("name", text("Winter")), ("budget", FieldValue::Integer(7))],
        );
        for (at, campaign) in ["summer", "winter", "summer", "autumn", ""].into_iter().enumerate() {
            let mut fields = vec![
                ("title", text(&format!("ad {at}"))),
                ("price", FieldValue::Integer(at as i64)),
            ];
            if !campaign.is_empty() {
                fields.push(("campaign", text(&format!("id:m:campaign::{campaign}"))));
            }
            put(&mut ads, &at.to_string(), &fields);
        }
        Ads { asked, ads, campaigns, sellers }
    }

    fn search(&self, body: &Json) -> (u16, Json) {
        self.search_on(body, &Serial)
    }

    fn search_on(&self, body: &Json, cores: &dyn Parallel) -> (u16, Json) {
        let campaigns = self.asked.joined(&self.campaigns, &[&self.sellers]);
        let imports = stead_store::Imports::new(self.ads.kind());
        let ads =
            imports.join(self.ads.view(), |name| (name == "campaign").then(|| campaigns.clone()));
        self.asked.search_on(&[&ads, &campaigns, &self.sellers.view()], body, cores)
    }

    fn ids(&self, body: &Json) -> Vec<String> {
        let (status, result) = self.search(body);
        assert_eq!(status, 200, "{body}: {result}");
        let hits = result["root"]["children"].as_array().cloned().unwrap_or_default();
        let id = |hit: &Json| hit["id"].as_str().unwrap().strip_prefix("id:m:").unwrap().to_owned();
        hits.iter().map(id).collect()
    }

    /// The numbers of the ads that a filter finds.
    fn ads(&self, filter: &str) -> String {
        let body = json!({"yql": format!("select * from ad where {filter} order by price")});
        self.ids(&body).iter().map(|id| id.rsplit(':').next().unwrap().to_owned()).collect()
    }
}

#[test]
fn what_parents_have_is_matched() {
    let ads = Ads::new();
    for (filter, expected) in [
        ("budget > 8", "02"),
        ("budget < 8", "1"),
        ("range(budget, -Infinity, Infinity)", "012"),
        ("campaign_name contains 'SUMMER'", "02"),
        ("campaign_name in ('winter', 'autumn')", "1"),
        ("words contains 'sea'", "02"),
        ("country contains 'no'", "02"),
        ("!(country contains 'no')", "134"),
        ("campaign_name matches '^w' or price = 4", "14"),
        ("weightedSet(words, {'sun': 1})", "02"),
        ("words[1] = 'sea'", "02"),
        ("campaign contains 'id:m:campaign::autumn'", "3"),
    ] {
        assert_eq!(ads.ads(filter), expected, "{filter}");
    }
}

#[test]
fn what_parents_have_is_ranked_ordered_and_shown() {
    let ads = Ads::new();
    let body = json!({"yql": "select * from ad where true", "ranking": "worth", "input.query(user)": [3, 1],
                      "summary": "with_campaign"});
    let (_, result) = ads.search(&body);
    let hits = result["root"]["children"].as_array().unwrap();
    let found: Vec<(&Json, &Json, &Json)> = hits
        .iter()
        .map(|h| (&h["relevance"], &h["fields"], &h["fields"]["matchfeatures"]))
        .collect();
    let (first, last) = (&found[0], &found[4]);
    assert_eq!((first.0, found[2].0, last.0), (&json!(13.0), &json!(7.0), &json!("-Infinity")));
    assert_eq!(first.2, &json!({"attribute(budget)": 10.0, "attribute(words).count": 2.0}));
    assert_eq!(last.2, &json!({"attribute(budget)": "NaN", "attribute(words).count": 0.0}));
    let mut fields = first.1.clone();
    fields.as_object_mut().unwrap().remove("matchfeatures");
    assert_eq!(
        fields,
        json!({"sddocname": "ad", "title": "ad 0", "budget": 10, "campaign_name": "Summer",
               "words": ["sun", "sea"], "country": "no"})
    );
    assert_eq!(last.1["title"], "ad 4");
    assert_eq!((last.1.get("budget"), last.1.get("country")), (None, None));
    let ordered =
        json!({"yql": "select * from ad where true order by campaign_name desc, price desc"});
    assert_eq!(ads.ids(&ordered), ["ad::1", "ad::2", "ad::0", "ad::4", "ad::3"]);
}

#[test]
fn children_see_what_becomes_of_their_parents() {
    let mut ads = Ads::new();
    assert_eq!(ads.ads("budget = 10"), "02");
    let budget = ads.campaigns.kind().field("budget").unwrap().0;
    ads.campaigns
        .update("id:m:campaign::summer", &[(budget, Some(FieldValue::Integer(11)))])
        .unwrap();
    ads.campaigns.publish();
    assert_eq!((ads.ads("budget = 10"), ads.ads("budget = 11")), (String::new(), "02".to_owned()));

    // A parent may come after its child, and go before it.
    put(&mut ads.campaigns, "autumn", &[("budget", FieldValue::Integer(3))]);
    assert_eq!(ads.ads("budget < 5"), "3");
    assert!(ads.campaigns.remove("id:m:campaign::summer"));
    ads.campaigns.publish();
    assert_eq!(
        (ads.ads("budget > 0").as_str(), ads.ads("words contains 'sea'").as_str()),
        ("13", "")
    );

    // The row of a removed parent belongs to another one.
    put(&mut ads.campaigns, "spring", &[("budget", FieldValue::Integer(99))]);
    assert_eq!(ads.ads("budget > 50"), "");
    put(
        &mut ads.ads,
        "0",
        &[("price", FieldValue::Integer(0)), ("campaign", text("id:m:campaign::spring"))],
    );
    assert_eq!(ads.ads("budget > 50"), "0");
}

#[test]
fn hits_of_several_types_are_one_list() {
    let ads = Ads::new();
    let ids = |yql: &str, more: Json| {
        let mut body = json!({"yql": yql, "input.query(user)": [0, 0]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ads.ids(&body)
    };
    // Of the same score the types stand in their order; sellers have no such profile.
    let yql = "select * from sources * where budget > 0";
    let worth = json!({"ranking": "worth", "restrict": "ad, campaign"});
    assert_eq!(
        ids(yql, worth.clone()),
        ["ad::0", "ad::2", "campaign::summer", "ad::1", "campaign::winter"]
    );
    assert_eq!(
        ids(
            "select * from sources ad, campaign where budget > 0",
            json!({"ranking": "worth", "hits": 2, "offset": 1})
        ),
        ["ad::2", "campaign::summer"]
    );
    // What a type does not have is never so there.
    assert_eq!(ids("select * from sources ad, campaign where price = 1", json!({})), ["ad::1"]);
    assert_eq!(
        ids("select * from sources c where country contains 'no' and !(price = 2)", json!({})),
        ["ad::0", "campaign::summer", "seller::s"]
    );
    assert_eq!(
        ids(
            "select * from sources ad, campaign where price = 1 or name contains 'winter' order by price desc",
            json!({})
        ),
        ["ad::1", "campaign::winter"]
    );
    assert_eq!(
        ids("select * from sources * where true", json!({"sources": "seller"})),
        ["seller::s"]
    );

    let (_, result) = ads.search(&json!({"yql": yql, "ranking": "worth", "restrict": "ad, campaign", "input.query(user)": [0, 0]}));
    let root = &result["root"];
    assert_eq!(root["fields"]["totalCount"], 5);
    assert_eq!(
        root["coverage"],
        json!({"coverage": 100, "documents": 7, "full": true, "nodes": 2, "results": 2, "resultsFull": 2})
    );
    assert!(root["children"][0]["fields"]["matchfeatures"].is_object());
    assert_eq!(root["children"][2]["fields"].get("matchfeatures"), None);
}

/// Threads that begin in any order, and how many tasks these were given at once.
struct Threads(Mutex<Vec<usize>>);

impl Parallel for Threads {
    fn threads(&self) -> usize {
        4
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        self.0.lock().unwrap().push(n);
        std::thread::scope(|scope| (0..n).rev().for_each(|at| drop(scope.spawn(move || f(at)))));
    }
}

#[test]
fn types_are_searched_at_the_same_time_with_the_same_result() {
    let ads = Ads::new();
    for (label, types, more) in [
        ("all", 3, json!({})),
        ("some", 3, json!({"yql": "select * from sources * where country contains 'no'"})),
        ("two of them", 2, json!({"restrict": "ad, campaign", "ranking": "worth"})),
        ("a page", 3, json!({"hits": 2, "offset": 3})),
        ("one that cannot answer", 2, json!({"ranking": "worth"})),
    ] {
        let mut body =
            json!({"yql": "select * from sources * where true", "input.query(user)": [1, 2]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let threads = Threads(Mutex::default());
        assert_eq!(ads.search_on(&body, &threads), ads.search(&body), "{label}");
        assert_eq!(threads.0.into_inner().unwrap().first(), Some(&types), "{label}");
    }
}

#[test]
fn what_one_type_cannot_answer_is_told_beside_the_hits_of_others() {
    let ads = Ads::new();
    let yql = "select * from sources * where true";
    let (status, result) =
        ads.search(&json!({"yql": yql, "ranking": "worth", "input.query(user)": [0, 0]}));
    assert_eq!((status, result["root"]["children"].as_array().unwrap().len()), (200, 7));
    let error = json!({"code": 4, "summary": "Invalid query parameter",
        "message": "schema seller has no rank-profile worth; it has default, unranked"});
    assert_eq!(result["root"]["errors"], json!([error]));
    for (yql, restrict, expected) in [
        (
            "select * from sources * where nothing = 1",
            "",
            "Could not create query from YQL: Field 'nothing' does not exist.",
        ),
        (
            "select * from sources ad, other where true",
            "",
            "Could not resolve source ref 'other'. Valid source refs are c, ad, campaign, seller.",
        ),
        (
            "select * from ad where true",
            "campaign",
            "The sources of the query and restrict have nothing in common. Valid source refs are c, ad, campaign, seller.",
        ),
        (
            "select * from ad where ({targetHits: 1}nearestNeighbor(taste, user))",
            "",
            "Could not create query from YQL: nearestNeighbor(taste,user): field taste is imported",
        ),
    ] {
        let (status, result) = ads.search(&json!({"yql": yql, "restrict": restrict}));
        assert_eq!(
            (status, &result["root"]["errors"][0]["message"]),
            (400, &json!(expected)),
            "{yql}"
        );
    }
}

#[test]
fn groups_of_several_types_are_joined() {
    let ads = Ads::new();
    let ask = |grouping: &str, more: Json| {
        let yql = "select * from sources ad, campaign where budget > 0 limit 0";
        let mut body = json!({"yql": format!("{yql} | {grouping}"), "input.query(user)": [0, 0]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ads.search(&body)
    };
    let groups = |grouping: &str| -> Vec<(String, Json)> {
        let (status, result) = ask(grouping, json!({}));
        assert_eq!(status, 200, "{grouping}: {result}");
        let list = &result["root"]["children"][0]["children"][0]["children"];
        let of =
            |group: &Json| (group["value"].as_str().unwrap().to_owned(), group["fields"].clone());
        list.as_array().unwrap().iter().map(of).collect()
    };
    // Two ads and their campaign, one ad and its.
    let sums = "each(output(count(), sum(budget), avg(budget), quantiles([0.5], budget)))";
    let found = groups(&format!("all(group(budget) order(-count()) {sums})"));
    let fields = |count: i64, budget: i64| {
        json!({"count()": count, "sum(budget)": count * budget, "avg(budget)": budget as f64,
               "quantiles([0.5], budget)": [{"quantile": 0.5, "value": budget as f64}]})
    };
    assert_eq!(found, [("10".to_owned(), fields(3, 10)), ("7".to_owned(), fields(2, 7))]);
    assert_eq!(groups(&format!("all(group(budget) max(1) order(count()) {sums})"))[0].0, "7");
    // Campaigns have no price: only ads take part.
    let found = groups("all(group(budget) order(max(price)) each(output(count(), max(price))))");
    let ads_only = |count: i64, price: i64| json!({"count()": count, "max(price)": price});
    assert_eq!(found, [("7".to_owned(), ads_only(1, 1)), ("10".to_owned(), ads_only(2, 2))]);
    // Hits of a group are of both types, the best first.
    let (_, result) = ask(
        "all(group(country) each(max(3) each(output(summary()))))",
        json!({"ranking": "worth"}),
    );
    let group = &result["root"]["children"][0]["children"][0]["children"][0];
    let hits = group["children"][0]["children"].as_array().unwrap();
    let ids: Vec<&str> = hits.iter().map(|hit| hit["id"].as_str().unwrap()).collect();
    assert_eq!(group["value"], "no", "{result}");
    assert_eq!(ids, ["id:m:ad::0", "id:m:ad::2", "id:m:campaign::summer"]);
    // When there is no time there are the groups of what was seen, which is nothing, or an error.
    let (status, result) = ask("all(group(budget) each(output(count())))", json!({"timeout": "0"}));
    let coverage = &result["root"]["coverage"];
    assert_eq!((status, &coverage["degraded"]["timeout"]), (200, &json!(true)), "{result}");
    let grouped = result["root"]["children"][0]["children"][0]["children"].as_array();
    assert_eq!(grouped.map_or(0, Vec::len), 0, "{result}");
    let hard = json!({"timeout": "0", "ranking.softtimeout.enable": false});
    assert_eq!(ask("all(group(budget) each(output(count())))", hard).0, 504);
}
