//! Paths of `/document/v1`.

use crate::http::percent_decode;

/// Where the calls are.
pub const ROOT: &str = "/document/v1/";

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentPath {
    /// The namespace and type; none for all.
    pub kind: Option<(String, String)>,
    /// `g=name` or `n=5` of ids, if the path says one.
    pub group: String,
    /// What stands at the end of the id; none for many documents.
    pub user: Option<String>,
}

impl DocumentPath {
    /// The parts of a path: `/document/v1/`, `.../{namespace}/{type}/docid/{id}`, `.../group/{name}/{id}` and
    /// `.../number/{n}/{id}`, the last three without an id for all that they have. Ids may hold slashes.
    pub fn parse(path: &str) -> Option<DocumentPath> {
        let rest = path.strip_prefix(ROOT)?;
        if rest.is_empty() {
            return Some(DocumentPath { kind: None, group: String::new(), user: None });
        }
        let mut parts = rest.splitn(4, '/');
        let decoded = |text: &str| Some(percent_decode(text)?.into_owned());
        let namespace = decoded(parts.next()?)?;
        let kind = decoded(parts.next()?)?;
        let (how, rest) = (parts.next()?, parts.next().unwrap_or(""));
        let (group, user) = match how {
            "docid" => (String::new(), rest),
            "group" | "number" => {
                let (value, user) = rest.split_once('/').unwrap_or((rest, ""));
                let value = decoded(value)?;
                let is_number = value.parse::<i64>().is_ok();
                if value.is_empty() || (how == "number" && !is_number) {
                    return None;
                }
                (format!("{}={value}", if how == "group" { "g" } else { "n" }), user)
            }
            _ => return None,
        };
        if namespace.is_empty() || kind.is_empty() {
            return None;
        }
        let user = if user.is_empty() { None } else { Some(decoded(user)?) };
        Some(DocumentPath { kind: Some((namespace, kind)), group, user })
    }

    /// The id of the document, if the path leads to one.
    pub fn id(&self) -> Option<String> {
        let (namespace, kind) = self.kind.as_ref()?;
        Some(format!("id:{namespace}:{kind}:{}:{}", self.group, self.user.as_ref()?))
    }

    /// What the ids of the documents that it leads to begin with.
    pub fn prefix(&self) -> String {
        let Some((namespace, kind)) = &self.kind else { return String::new() };
        match self.group.as_str() {
            "" => format!("id:{namespace}:{kind}:"),
            group => format!("id:{namespace}:{kind}:{group}:"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_ids() {
        for (path, id, prefix) in [
            ("/document/v1/", Some(None), ""),
            ("/document/v1/ns/music/docid/", Some(None), "id:ns:music:"),
            ("/document/v1/ns/music/docid", Some(None), "id:ns:music:"),
            ("/document/v1/ns/music/docid/a", Some(Some("id:ns:music::a")), "id:ns:music:"),
            (
                "/document/v1/ns/music/docid/a/b%20c%2F",
                Some(Some("id:ns:music::a/b c/")),
                "id:ns:music:",
            ),
            ("/document/v1/ns/music/group/g/", Some(None), "id:ns:music:g=g:"),
            (
                "/document/v1/ns/music/group/g/a",
                Some(Some("id:ns:music:g=g:a")),
                "id:ns:music:g=g:",
            ),
            (
                "/document/v1/ns/music/number/7/a",
                Some(Some("id:ns:music:n=7:a")),
                "id:ns:music:n=7:",
            ),
            ("/document/v1/ns/music/number/x/a", None, ""),
            ("/document/v1/ns/music", None, ""),
            ("/document/v1/ns/music/other/a", None, ""),
            ("/document/v1/ns/music/docid/%ff", None, ""),
        ] {
            let found = DocumentPath::parse(path);
            assert_eq!(
                found.as_ref().map(|p| p.id()),
                id.map(|id| id.map(str::to_owned)),
                "{path}"
            );
            assert_eq!(found.map(|p| p.prefix()).unwrap_or_default(), prefix, "{path}");
        }
    }
}
