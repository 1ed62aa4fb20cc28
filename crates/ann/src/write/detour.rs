//! Links that are let go only where another way is nearly as short.
//!
//! What chooses links for a node sees the node alone: a link to another cluster loses against nearer ones, and where vectors come and go none may be left in the
//! end. So a link goes only where a short way leads around it, or where one is put in its place: what was one graph stays one.

use super::Writer;
use crate::links::{contains, count, nodes, push, remove};

impl Writer {
    /// Takes a link between two nodes away.
    pub(super) fn part(&mut self, level: u32, a: u32, b: u32) {
        remove(self.graph.links_mut(a, level), b);
        remove(self.graph.links_mut(b, level), a);
    }

    /// Links two nodes, both of which have room for it.
    pub(super) fn connect(&mut self, level: u32, a: u32, b: u32) {
        debug_assert!(a != b && !contains(self.graph.links(a, level), b));
        push(self.graph.links_mut(a, level), b);
        push(self.graph.links_mut(b, level), a);
    }

    pub(super) fn has_room(&self, level: u32, node: u32) -> bool {
        count(self.graph.links(node, level)) < self.graph.options.links(level)
    }

    /// Whether there is a way from one node to another that passes one or two others.
    ///
    /// With one alone four in ten of the links that new nodes of a usual graph displace would count as the only ones.
    pub(super) fn has_detour(&self, level: u32, a: u32, b: u32) -> bool {
        let (links, ends) = (self.graph.links(a, level), self.graph.links(b, level));
        let is_linked_to = |node| nodes(node).any(|next| next != a && contains(ends, next));
        is_linked_to(links)
            || nodes(links).any(|next| next != b && is_linked_to(self.graph.links(next, level)))
    }

    /// Lets a node without room let go of a link that has a detour, but not the one to `except`; whether it has room then.
    pub(super) fn make_room(&mut self, level: u32, node: u32, except: u32) -> bool {
        if self.has_room(level, node) {
            return true;
        }
        // The last links are those to the farthest, mostly.
        let links: Vec<u32> = nodes(self.graph.links(node, level)).collect();
        let mut from_last = links.into_iter().rev().filter(|other| *other != except);
        let spare = from_last.find(|other| self.has_detour(level, node, *other));
        spare.inspect(|spare| self.part(level, node, *spare)).is_some()
    }

    /// Links two nodes that are not linked, where both have room or can make it; whether they could.
    pub(super) fn force(&mut self, level: u32, a: u32, b: u32) -> bool {
        let is_possible = self.make_room(level, a, b) && self.make_room(level, b, a);
        if is_possible {
            self.connect(level, a, b);
        }
        is_possible
    }
}
