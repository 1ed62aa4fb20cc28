//! What answers at which paths, as Vespa's containers tell whoever asks for `/` (`BindingsOverviewHandler`): `vespa visit` looks
//! there whether documents are served.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stead_app::components::BUILT_IN_ROUTES;

use crate::fault::Fault;
use crate::http::{Reply, Shared, unknown_url};

/// Where it is, unless a handler of the application is bound there.
pub const PATH: &str = "/";

/// The classes by which clients know what answers, by the names of [`BUILT_IN_ROUTES`].
const CLASSES: [(&str, &str); 4] = [
    ("documents", "com.yahoo.document.restapi.resource.DocumentV1ApiHandler"),
    ("searches", "com.yahoo.search.handler.SearchHandler"),
    ("the evaluation of models", "ai.vespa.models.handler.ModelsEvaluationHandler"),
    ("the state of the server", "com.yahoo.container.jdisc.state.StateHandler"),
];

/// Answers where applications are served.
///
/// # Errors
/// [`Code::UnknownUrl`](stead_node::Code::UnknownUrl) elsewhere.
pub fn answer(shared: &Shared) -> Result<Reply, Fault> {
    let deployments = shared.node.deployments().ok_or_else(unknown_url)?;
    let bundle = format!("{}:{}", shared.options.name, shared.options.version);
    let of_application = deployments.active().map(|active| active.handlers()).unwrap_or_default();
    Reply::serialize(&json!({"handlers": handlers(&bundle, &of_application)}))
}

/// A handler each, with its id, class and bindings: those of the server by name, then the application's.
fn handlers(bundle: &str, of_application: &BTreeMap<String, Vec<String>>) -> Vec<Value> {
    let mut built_in: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for route in BUILT_IN_ROUTES {
        built_in.entry(route.what).or_default().push(format!("http://*{}", route.path));
    }
    let handler = |id: &str, class: &str, bindings: &[String]| json!({"id": id, "class": class, "bundle": bundle, "serverBindings": bindings});
    let built_in = built_in.iter().map(|(what, bindings)| {
        let known = CLASSES.iter().find(|(name, _)| name == what);
        let id = known.map_or(*what, |(_, class)| class);
        handler(id, id, bindings)
    });
    built_in.chain(of_application.iter().map(|(id, bindings)| handler(id, id, bindings))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_have_their_bindings() {
        let own = BTreeMap::from([("rank".to_owned(), vec!["http://*/rank".to_owned()])]);
        let told = handlers("stead:1", &own);
        let bindings = |class: &str| {
            let found = told.iter().find(|handler| handler["class"] == class);
            found.map(|handler| handler["serverBindings"].clone())
        };
        for (class, expected) in [
            (CLASSES[0].1, Some(json!(["http://*/document/v1/*"]))),
            (CLASSES[1].1, Some(json!(["http://*/search/*"]))),
            ("KServe", Some(json!(["http://*/v2", "http://*/v2/*"]))),
            ("rank", Some(json!(["http://*/rank"]))),
            ("another", None),
        ] {
            assert_eq!(bindings(class), expected, "{class}");
        }
        assert!(CLASSES.iter().all(|(_, class)| bindings(class).is_some()));
    }
}
