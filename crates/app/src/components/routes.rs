//! The paths that the server answers itself. Its router and the check of bindings have them from here, so that a handler
//! never takes one of them, and none is taken from a handler unnoticed.

use std::sync::LazyLock;

use super::BindingPattern;

/// Paths of the server's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltInRoute {
    /// A path, or what paths begin with and a `*`.
    pub path: &'static str,
    /// What answers there, for messages.
    pub what: &'static str,
}

const fn route(path: &'static str, what: &'static str) -> BuiltInRoute {
    BuiltInRoute { path, what }
}

/// All of them.
pub const BUILT_IN_ROUTES: &[BuiltInRoute] = &[
    route("/v2", "KServe"),
    route("/v2/*", "KServe"),
    route("/v1/*", "TensorFlow Serving"),
    route("/search/*", "searches"),
    route("/document/v1/*", "documents"),
    route("/model-evaluation/v1", "the evaluation of models"),
    route("/model-evaluation/v1/*", "the evaluation of models"),
    route("/application/v2/*", "deployments"),
    route("/stead/v1/*", "administration"),
    route("/openapi.json", "the OpenAPI document"),
    route("/console", "the console"),
    route("/console/*", "the console"),
    route("/metrics", "metrics"),
    route("/metrics/v2", "metrics"),
    route("/metrics/v2/*", "metrics"),
    route("/state/v1", "the state of the server"),
    route("/state/v1/*", "the state of the server"),
    route("/ApplicationStatus", "the state of the server"),
    route("/status.html", "the state of the server"),
];

impl BuiltInRoute {
    /// Whether a path is one of them.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.path.strip_suffix('*').map_or(path == self.path, |begin| path.starts_with(begin))
    }
}

/// The route that a path belongs to.
#[must_use]
pub fn built_in_route(path: &str) -> Option<&'static BuiltInRoute> {
    BUILT_IN_ROUTES.iter().find(|route| route.has(path))
}

/// The routes as patterns, for any host.
static PATTERNS: LazyLock<Vec<(BindingPattern, &'static BuiltInRoute)>> = LazyLock::new(|| {
    let pattern = |route: &'static BuiltInRoute| {
        BindingPattern::parse(&format!("http://*{}", route.path)).ok().map(|p| (p, route))
    };
    BUILT_IN_ROUTES.iter().filter_map(pattern).collect()
});

/// The route that a handler with this binding would take requests from: one that has a URL in common with it and is not
/// more specific. `http://*/*` takes none, since every route comes before it.
#[must_use]
pub fn hidden_route(binding: &BindingPattern) -> Option<&'static BuiltInRoute> {
    let hides = |route: &BindingPattern| binding <= route && binding.meets(route);
    PATTERNS.iter().find(|(route, _)| hides(route)).map(|(_, route)| *route)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_a_pattern() {
        assert_eq!(PATTERNS.len(), BUILT_IN_ROUTES.len());
    }

    #[test]
    fn bindings_that_hide_a_route_are_found() {
        for (binding, hidden) in [
            ("http://*/rank", None),
            ("http://*/*", None),
            ("http://*/", None),
            ("http://*/v2x", None),
            ("http://*/{name}", None),
            ("http://*/metrics/own", None),
            ("http://*/searches/*", None),
            ("http://*/search/", Some("/search/*")),
            ("http://*/search/*", Some("/search/*")),
            ("https://*:*/search/*", Some("/search/*")),
            ("http://*/search/mine", Some("/search/*")),
            ("http://*/*/search/", Some("/v2/*")),
            ("http://*/v2/models/m/infer", Some("/v2/*")),
            ("http://*/v1/*", Some("/v1/*")),
            ("http://*/metrics", Some("/metrics")),
            // Less specific than the route, for any host; for one host it comes first.
            ("http://*/s*", None),
            ("http://a.example/*", Some("/v2")),
            ("http://a.example/own/*", None),
            ("http://*:8080/*", None),
            ("http://*/*.html", Some("/v2/*")),
            ("http://*/*s", Some("/v2/*")),
        ] {
            let pattern = BindingPattern::parse(binding).unwrap();
            assert_eq!(hidden_route(&pattern).map(|route| route.path), hidden, "{binding}");
        }
    }
}
