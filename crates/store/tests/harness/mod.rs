//! A type of documents with fields of most kinds, and documents of it by chance.
#![allow(dead_code)] // Not every test takes all of it.

pub mod graphs;
pub mod texts;
pub mod vectors;
pub mod watched;

use std::collections::BTreeMap;

use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_expr::{Cells, Labels, Value, parse_type};
use stead_log::{Rng, SeededRng};
use stead_store::{DocumentType, FieldValue, Position, View};

const SCHEMA: &str = "schema shop {
  document shop {
    struct offer {
      field seller type string {}
      field price type float {}
    }
    field count type int {
      indexing: attribute
      attribute: fast-search
    }
    field name type string {
      indexing: attribute | summary
      attribute: fast-search
    }
    field sold type bool {
      indexing: attribute
      attribute: paged
    }
    field price type double {
      indexing: attribute
      attribute: fast-search
    }
    field place type position { indexing: attribute }
    field picture type raw { indexing: attribute }
    field tags type array<string> { indexing: attribute }
    field words type weightedset<string> {
      indexing: attribute
      attribute { fast-search paged }
    }
    field stock type map<string,int> {
      indexing: summary
      struct-field key { indexing: attribute }
      struct-field value {
        indexing: attribute
        attribute { fast-search paged }
      }
    }
    field offers type array<offer> {
      indexing: summary
      struct-field seller { indexing: attribute }
      struct-field price { indexing: attribute }
    }
    field dense type tensor<float>(x[160]) {
      indexing: attribute
      attribute: paged
    }
    field mixed type tensor<int8>(k{},x[2]) {
      indexing: attribute
      attribute: paged
    }
    field text type string { indexing: index | summary }
    field top type offer { indexing: summary }
  }
}";

/// Fields whose vectors are found by graphs.
const GRAPHS: &str = "
    field near type tensor<float>(x[3]) { indexing: attribute | index }
    field nears type tensor<int8>(k{},x[2]) {
      indexing: attribute | index
      attribute { distance-metric: angular }
      index { hnsw { max-links-per-node: 4 neighbors-to-explore-at-insert: 20 } }
    }";

/// The type that files of older versions are of.
pub fn old_kind() -> DocumentType {
    kind_of(SCHEMA)
}

/// The type.
pub fn kind() -> DocumentType {
    let last = "    field text type string";
    kind_of(&SCHEMA.replace(last, &format!("{GRAPHS}\n{last}")))
}

/// The type of the documents of a schema `shop`.
pub fn kind_of(schema: &str) -> DocumentType {
    let files = PackageFiles::from_texts([("schemas/shop.sd", schema)]).unwrap();
    let (application, report) = Application::read(&files, ServicesOptions::default());
    assert!(report.errors().all(|e| e.text.contains("services.xml")), "{report:?}");
    DocumentType::stored(application.schema("shop").unwrap())
}

/// The fields of a document: their numbers and values.
pub type Fields = Vec<(usize, FieldValue)>;

/// What is expected.
pub type Model = BTreeMap<String, Fields>;

/// All documents of a view, whose indexes of texts and graphs of vectors are those of these.
pub fn all(view: &View) -> Model {
    graphs::check(view);
    texts::check(view, &view.lids().map(|lid| (lid, view.fields(lid).unwrap())).collect());
    let document = |lid: u32| (view.id(lid).unwrap().to_owned(), view.fields(lid).unwrap());
    view.lids().map(document).collect()
}

/// The same; nothing where the disk has failed meanwhile.
pub fn try_all(view: &View) -> Option<Model> {
    let document = |lid: u32| {
        let fields = view.read(lid, |_| true).ok()?;
        Some((view.id(lid).unwrap().to_owned(), fields.unwrap()))
    };
    view.lids().map(document).collect()
}

/// Chance.
pub struct Chance(SeededRng);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(SeededRng::new(seed))
    }

    /// A number below another.
    pub fn below(&self, most: u64) -> u64 {
        self.0.next_u64().unwrap() % most
    }

    fn text(&self) -> String {
        (0..self.below(9)).map(|_| char::from(b'a' + self.below(26) as u8)).collect()
    }

    fn offer(&self) -> FieldValue {
        let seller = ("seller".to_owned(), FieldValue::Text(self.text()));
        let price = ("price".to_owned(), FieldValue::Number(self.below(100) as f64 / 4.0));
        FieldValue::Struct(match self.below(3) {
            0 => vec![seller],
            1 => vec![price],
            _ => vec![seller, price],
        })
    }

    /// Different keys.
    fn keys(&self) -> Vec<FieldValue> {
        (0..self.below(5)).map(|n| FieldValue::Text(format!("{n}{}", self.text()))).collect()
    }

    /// A value of a field.
    pub fn value(&self, field: &str) -> FieldValue {
        let integer = || self.below(2000) as i64 - 1000;
        match field {
            "count" => FieldValue::Integer(integer()),
            "name" => FieldValue::Text(self.text()),
            "text" => {
                let words = ["Blue", "dogs", "dog", "running", "by", "the", "Sea"];
                let word = |_| words[self.below(7) as usize];
                FieldValue::Text((0..self.below(9)).map(word).collect::<Vec<_>>().join(" "))
            }
            "sold" => FieldValue::Bool(self.below(2) == 1),
            "price" => FieldValue::Number(integer() as f64 / 8.0),
            "place" => {
                let [latitude, longitude] = [integer() as i32, integer() as i32];
                FieldValue::Position(Position { latitude, longitude })
            }
            "picture" => FieldValue::Bytes((0..self.below(20)).map(|n| n as u8 ^ 0xa5).collect()),
            "tags" => {
                let texts = (0..self.below(4)).map(|_| FieldValue::Text(self.text()));
                FieldValue::Array(texts.collect())
            }
            "words" => {
                let weighted = |key| (key, integer() as i32);
                FieldValue::Weighted(self.keys().into_iter().map(weighted).collect())
            }
            "stock" => {
                let pair = |key| (key, FieldValue::Integer(integer()));
                FieldValue::Map(self.keys().into_iter().map(pair).collect())
            }
            "offers" => FieldValue::Array((0..self.below(4)).map(|_| self.offer()).collect()),
            "top" => self.offer(),
            "dense" | "near" => {
                let size = if field == "near" { 3 } else { 160 };
                let kind = parse_type(&format!("tensor<float>(x[{size}])")).unwrap();
                let cells = (0..size).map(|_| integer() as f32).collect::<Vec<_>>();
                let cells = Cells::Float(cells.into());
                FieldValue::Tensor(Value::new(kind, Labels::default(), cells).unwrap())
            }
            "mixed" | "nears" => {
                let kind = parse_type("tensor<int8>(k{},x[2])").unwrap();
                let mut labels = Labels::default();
                let mut cells = Vec::new();
                for n in 0..self.below(4) {
                    labels.push(&if n == 1 {
                        n.to_string()
                    } else {
                        format!("{n}{}", self.text())
                    });
                    cells.extend([integer() as i8, n as i8]);
                }
                let cells = Cells::Int8(cells.into());
                FieldValue::Tensor(Value::new(kind, labels, cells).unwrap())
            }
            other => panic!("a field {other}"),
        }
    }

    /// Values of a few fields, or none.
    pub fn changes(&self, kind: &DocumentType) -> Vec<(usize, Option<FieldValue>)> {
        let names: Vec<&str> = kind.fields().collect();
        let taken = names.iter().enumerate().filter(|_| self.below(5) == 0);
        let value = |name: &str| (self.below(3) > 0).then(|| self.value(name));
        taken.map(|(number, name)| (number, value(name))).collect()
    }

    /// Values of some fields.
    pub fn fields(&self, kind: &DocumentType) -> Fields {
        let names: Vec<&str> = kind.fields().collect();
        let taken = names.iter().enumerate().filter(|_| self.below(3) > 0);
        taken.map(|(number, name)| (number, self.value(name))).collect()
    }
}

/// Runs seeds, and says how to repeat the one in which the test dies: `STEAD_SEED` runs one, `STEAD_SEEDS` so many.
pub fn seeds(test: &str, usual: u64, run: impl Fn(u64)) {
    struct Repro<'t>(&'t str, u64);
    impl Drop for Repro<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("STEAD_SEED={} cargo test -p stead-store --test all {}", self.1, self.0);
            }
        }
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let range = match number("STEAD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("STEAD_SEEDS").unwrap_or(usual),
    };
    for seed in range {
        let _repro = Repro(test, seed);
        run(seed);
    }
}
