//! Albums.

use serde_json::{Value as Json, json};
use stead_store::{Documents, View};

use super::Asked;

const SCHEMA: &str = "schema music {
  document music {
    field title type string { indexing: summary | attribute }
    field year type int { indexing: summary | attribute }
    field price type float { indexing: summary | attribute }
    field tags type weightedset<string> { indexing: summary | attribute }
    field taste type tensor<float>(x[2]) { indexing: attribute }
    field notes type map<string,array<float>> { indexing: summary }
  }
  document-summary short { summary title {} }
  rank-profile taste {
    inputs { query(user) tensor<float>(x[2]) }
    first-phase { expression: sum(query(user) * attribute(taste)) }
    second-phase {
      expression: firstPhase + attribute(year)
      rerank-count: 2
    }
    match-features: attribute(year) closeness(field,taste)
    summary-features: firstPhase
  }
  rank-profile matched {
    inputs { query(user) tensor<float>(x[2]) }
    first-phase { expression: rawScore(tags) }
    match-features: matches(tags) matches(year) rawScore(tags) rawScore(taste) itemRawScore(genre)
  }
  rank-profile early { first-phase { expression: 0 - attribute(year) } }
}";

/// The albums that can be asked for.
pub struct Music {
    pub asked: Asked,
}

impl Music {
    pub fn new() -> Music {
        Music { asked: Asked::new(&[("music", false, SCHEMA)]) }
    }

    pub fn documents(&self, list: &[Json]) -> Documents {
        self.asked.documents("music", list)
    }

    pub fn search(&self, view: &View, body: &Json) -> (u16, Json) {
        self.asked.search(&[view], body)
    }
}

/// Four albums; the last has no title.
pub fn albums() -> Vec<Json> {
    vec![
        json!({"title": "Blue", "year": 1971, "price": 9.5, "tags": {"folk": 3}, "taste": [1, 0], "notes": {"a": [0.1, 2]}}),
        json!({"title": "Hejira", "year": 1976, "tags": {"folk": 1, "jazz": 2}, "taste": [0.5, 0.5]}),
        json!({"title": "kind", "year": 1959, "price": 0.1, "taste": [0, 1]}),
        json!({"title": "", "taste": [0, 0]}),
    ]
}
