//! What clients may do.

/// What a client may do, each with all that those before it may; and what a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// No token.
    Anyone,
    /// Infer, search, get documents, read what is known of models.
    Read,
    /// Change documents.
    Write,
    /// Deploy, load and unload, look after sequences.
    Admin,
}

impl Role {
    /// All that a token can have.
    pub const OF_TOKENS: [Role; 3] = [Role::Read, Role::Write, Role::Admin];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Anyone => "anyone",
            Role::Read => "read",
            Role::Write => "write",
            Role::Admin => "admin",
        }
    }

    fn read(text: &str) -> Option<Role> {
        Role::OF_TOKENS.into_iter().find(|role| role.name() == text)
    }
}

/// The roles of a token: for one application each, or for all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants(Vec<(Option<String>, Role)>);

impl Grants {
    /// One role for all applications: `read`; or for one: `shop:read`. `None` for another text.
    pub fn grant(text: &str) -> Option<(Option<String>, Role)> {
        match text.rsplit_once(':') {
            None => Some((None, Role::read(text)?)),
            Some(("", _)) => None,
            Some((application, role)) => Some((Some(application.to_owned()), Role::read(role)?)),
        }
    }

    /// What these come to for an application.
    pub fn role(&self, application: &str) -> Role {
        let is_for = |of: &Option<String>| of.as_deref().is_none_or(|of| of == application);
        let roles = self.0.iter().filter(|(of, _)| is_for(of)).map(|(_, role)| *role);
        roles.max().unwrap_or(Role::Anyone)
    }
}

impl FromIterator<(Option<String>, Role)> for Grants {
    fn from_iter<I: IntoIterator<Item = (Option<String>, Role)>>(grants: I) -> Grants {
        Grants(grants.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_for_applications() {
        let cases: [(&[&str], Role, Role); 7] = [
            (&[], Role::Anyone, Role::Anyone),
            (&["read"], Role::Read, Role::Read),
            (&["shop:write"], Role::Write, Role::Anyone),
            (&["shop:write", "read"], Role::Write, Role::Read),
            (&["read", "shop:admin", "write"], Role::Admin, Role::Write),
            (&["shop:read", "blog:admin"], Role::Read, Role::Admin),
            (
                &["a:shop:read", "Admin", "anyone", ":write", "shop:", "shop"],
                Role::Anyone,
                Role::Anyone,
            ),
        ];
        for (texts, shop, blog) in cases {
            let grants: Grants = texts.iter().filter_map(|text| Grants::grant(text)).collect();
            assert_eq!((grants.role("shop"), grants.role("blog")), (shop, blog), "{texts:?}");
        }
    }
}
