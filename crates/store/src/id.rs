//! Ids of documents: `id:namespace:type:keys:name` (Vespa, documentation, `documents.html`).

/// The parts of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdParts<'i> {
    pub(crate) namespace: &'i str,
    /// The type of the document.
    pub(crate) kind: &'i str,
    /// `n=number` or `g=group`, or nothing.
    pub(crate) keys: &'i str,
    /// What the user calls it; it may have colons.
    pub(crate) specific: &'i str,
}

impl<'i> IdParts<'i> {
    /// The parts of a text; nothing if it is no id.
    pub(crate) fn of(id: &'i str) -> Option<IdParts<'i>> {
        let mut parts = id.strip_prefix("id:")?.splitn(4, ':');
        Some(IdParts {
            namespace: parts.next()?,
            kind: parts.next()?,
            keys: parts.next()?,
            specific: parts.next()?,
        })
    }

    /// The number of the user that it belongs to, as it is written.
    pub(crate) fn user(&self) -> Option<&'i str> {
        self.key("n=")
    }

    /// The group that it belongs to.
    pub(crate) fn group(&self) -> Option<&'i str> {
        self.key("g=")
    }

    fn key(&self, name: &str) -> Option<&'i str> {
        self.keys.split(',').find_map(|pair| pair.strip_prefix(name))
    }
}

#[cfg(test)]
mod tests {
    use super::IdParts;

    #[test]
    fn ids_have_parts() {
        for (id, expected) in [
            ("id:ns:mail:n=7:a:b", Some((Some("7"), None, "a:b"))),
            ("id:ns:mail:g=ann,x:1", Some((None, Some("ann"), "1"))),
            ("id:ns:mail::1", Some((None, None, "1"))),
            ("id:ns:mail:1", None),
            ("mail", None),
        ] {
            let parts = IdParts::of(id);
            let found = parts.map(|of| (of.user(), of.group(), of.specific));
            assert_eq!(found, expected, "{id}");
            assert!(parts.is_none_or(|of| (of.namespace, of.kind) == ("ns", "mail")));
        }
    }
}
