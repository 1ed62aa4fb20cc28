//! What a path asks for.

use crate::http::percent_decode;

/// What follows the path of the API; nothing for other paths.
pub fn below(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/model-evaluation/v1")?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Which models there are.
    Models,
    /// What a model, or the function that names select, takes.
    Model(String, Vec<String>),
    /// The value of a function.
    Eval(String, Vec<String>),
}

impl Target {
    /// The target of what follows the path of the API. The last `eval` ends the names of a function; what follows it is not read.
    pub fn of(rest: &str) -> Option<Target> {
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if rest.is_empty() {
            return Some(Target::Models);
        }
        let segments = rest.split('/').map(|s| Some(percent_decode(s)?.into_owned()));
        let mut segments: Vec<String> = segments.collect::<Option<_>>()?;
        let model = segments.remove(0);
        let eval = segments.iter().rposition(|segment| segment.eq_ignore_ascii_case("eval"));
        Some(match eval {
            Some(at) => {
                segments.truncate(at);
                Target::Eval(model, segments)
            }
            None => Target::Model(model, segments),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_targets() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let model = |m: &str, f: &[&str]| Some(Target::Model(m.to_owned(), names(f)));
        let eval = |m: &str, f: &[&str]| Some(Target::Eval(m.to_owned(), names(f)));
        for (path, expected) in [
            ("/model-evaluation/v1", Some(Target::Models)),
            ("/model-evaluation/v1/", Some(Target::Models)),
            ("/model-evaluation/v1/m", model("m", &[])),
            ("/model-evaluation/v1/m/", model("m", &[])),
            ("/model-evaluation/v1/m%20n/f", model("m n", &["f"])),
            ("/model-evaluation/v1/m/a/b/", model("m", &["a", "b"])),
            ("/model-evaluation/v1/m/eval", eval("m", &[])),
            ("/model-evaluation/v1/m/f/EVAL", eval("m", &["f"])),
            ("/model-evaluation/v1/m/a/b/eval/", eval("m", &["a", "b"])),
            ("/model-evaluation/v1/m/eval/eval", eval("m", &["eval"])),
            ("/model-evaluation/v1/m/f/eval/x", eval("m", &["f"])),
            ("/model-evaluation/v1/eval", model("eval", &[])),
            ("/model-evaluation/v1//m", model("", &["m"])),
            ("/model-evaluation/v1/..%2f..", model("../..", &[])),
            ("/model-evaluation/v1/%ff", None),
        ] {
            assert_eq!(Target::of(below(path).unwrap()), expected, "{path}");
        }
        for path in ["/model-evaluation", "/model-evaluation/v1x", "/model-evaluation/v2", "/"] {
            assert_eq!(below(path), None, "{path}");
        }
    }
}
