//! Whose documents a selection can select: searches of streamed documents look at no others.

use std::collections::BTreeSet;

use super::{Comparison, IdPart, Node, Pattern, Selection};
use crate::live::Location;

/// Users and groups; nothing where that may be any document.
type Whose<'s> = Option<BTreeSet<Location<'s>>>;

impl Selection {
    /// The users and groups that all documents which it selects belong to; nothing if it may select others too. Not every document of these
    /// need be selected.
    pub(crate) fn locations(&self) -> Whose<'_> {
        where_is(&self.root, true)
    }
}

/// Where a part can be true, or false.
fn where_is(node: &Node, wanted: bool) -> Whose<'_> {
    match node {
        Node::And(parts) if wanted => within(parts, wanted),
        Node::Or(parts) if !wanted => within(parts, wanted),
        // It is enough that one part is as wanted.
        Node::And(parts) | Node::Or(parts) => {
            let mut all = BTreeSet::new();
            for part in parts {
                all.append(&mut where_is(part, wanted)?);
            }
            Some(all)
        }
        Node::Not(inner) => where_is(inner, !wanted),
        Node::Bool(truth) if *truth != wanted => Some(BTreeSet::new()),
        Node::Compare(comparison, left, right) => {
            let is_same = match comparison {
                Comparison::Equal => wanted,
                Comparison::Unequal => !wanted,
                _ => return None,
            };
            match is_same {
                true => named(left, right).or_else(|| named(right, left)),
                false => None,
            }
        }
        Node::Matches(left, Pattern::Glob(glob)) if wanted && !glob.contains(['*', '?']) => {
            match **left {
                Node::Id(IdPart::Group) => Some(BTreeSet::from([Location::Group(glob)])),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Where all parts can be so at once.
fn within(parts: &[Node], wanted: bool) -> Whose<'_> {
    let known = parts.iter().filter_map(|part| where_is(part, wanted));
    known.reduce(|all, more| all.intersection(&more).copied().collect())
}

/// What `id.group` or `id.user` is equal to. A group that is compared with a number is none, and no order of numbers is asked for here.
fn named<'s>(part: &Node, value: &'s Node) -> Whose<'s> {
    match (part, value) {
        (Node::Id(IdPart::Group), Node::Text(name)) => {
            Some(BTreeSet::from([Location::Group(name)]))
        }
        (Node::Id(IdPart::User), Node::Integer(number)) => {
            Some(BTreeSet::from([Location::User(*number)]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Location::{Group, User};
    use super::Selection;

    #[test]
    fn selections_name_users_and_groups() {
        let none = || Some(vec![]);
        for (text, expected) in [
            (r#"id.group == "a""#, Some(vec![Group("a")])),
            (r#""a" == id.group"#, Some(vec![Group("a")])),
            (r#"id.group = "a""#, Some(vec![Group("a")])),
            (r#"id.group = "a*""#, None),
            (r#"id.group =~ "a""#, None),
            (r#"id.group != "a""#, None),
            (r#"not id.group != "a""#, Some(vec![Group("a")])),
            (r#"not id.group == "a""#, None),
            ("id.user == 1 or id.user = 2", Some(vec![User(1), User(2)])),
            ("id.user == 1.0", None),
            ("id.user > 1", None),
            (r#"id.user == 1 or id.group == "a""#, Some(vec![User(1), Group("a")])),
            (r#"id.user == 1 and id.group == "a""#, none()),
            ("id.user == 1 or d.n > 3", None),
            ("id.user == 1 and d.n > 3", Some(vec![User(1)])),
            ("(id.user == 1 or id.user == 2) and d.n > 3", Some(vec![User(1), User(2)])),
            ("(id.user == 1 or id.user == 2) and not id.user != 2", Some(vec![User(2)])),
            ("not (id.user != 1 and id.user != 2)", Some(vec![User(1), User(2)])),
            ("not (id.user != 1 or d.n > 3)", Some(vec![User(1)])),
            ("id.user == 1 or false", Some(vec![User(1)])),
            ("id.user == 1 and true", Some(vec![User(1)])),
            ("false", none()),
            ("true", None),
            (r#"id == "id:n:d:g=a:1""#, None),
        ] {
            let selection = Selection::parse(text).unwrap();
            let found = selection.locations().map(|all| all.into_iter().collect::<Vec<_>>());
            assert_eq!(found, expected, "{text}");
        }
    }
}
