//! The interpreters of a search through a chain that needs several: all are there before it begins, in one order for all chains, so that
//! no two searches wait for each other.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use stead_app::components::Chain;
use stead_python::{Deadline, Session};

use crate::Code;
use crate::components::failure::ComponentError;
use crate::components::gate::Leave;
use crate::components::link::Link;
use crate::components::native::Searcher;
use crate::components::pools::Pool;
use crate::components::together::Together;

/// A session for each link that needs one, if there are several such links; else each call gets its own.
#[derive(Default)]
pub(super) struct Reserved {
    /// By the numbers of links. A searcher that searches several times at once has these one after the other.
    sessions: BTreeMap<usize, Mutex<Session>>,
    // Behind the sessions, which are given back first.
    _leaves: Vec<Leave>,
}

/// The runs of components in Python, by their interpreters in the order in which these are taken.
fn of_pools(links: &[Link<dyn Searcher>]) -> BTreeMap<*const Pool, Vec<(usize, &Together)>> {
    let mut found: BTreeMap<*const Pool, Vec<(usize, &Together)>> = BTreeMap::new();
    for (at, link) in links.iter().enumerate() {
        if let Link::Python(components) = link {
            found.entry(Arc::as_ptr(components.pool())).or_default().push((at, components));
        }
    }
    found
}

/// What is wrong with a chain that needs more interpreters at once than there are.
pub(super) fn too_many(chain: &Chain, links: &[Link<dyn Searcher>]) -> Option<String> {
    of_pools(links).values().find_map(|of| {
        let most = of.first()?.1.most();
        (of.len() > most).then(|| {
            format!(
                "search chain {}: its Python searchers stand in {} places with others between them, and a search has an interpreter for each; --python_interpreters allows {most}",
                chain.id,
                of.len()
            )
        })
    })
}

impl Reserved {
    /// # Errors
    /// That there were not as many before the deadline.
    pub(super) fn take(
        links: &[Link<dyn Searcher>],
        deadline: Deadline,
    ) -> Result<Reserved, ComponentError> {
        let mut reserved = Reserved::default();
        let of_pools = of_pools(links);
        if of_pools.values().map(Vec::len).sum::<usize>() < 2 {
            return Ok(reserved);
        }
        for of in of_pools.values() {
            if let [(_, first), _, ..] = of.as_slice() {
                let leave = Leave::take(first.pool(), of.len() - 1, deadline);
                reserved._leaves.push(leave.ok_or_else(|| {
                    let text = "the deadline passed before an interpreter was free";
                    first.failing().error(Code::DeadlineExceeded, text)
                })?);
            }
            for (at, components) in of {
                let session = components.session(deadline)?;
                reserved.sessions.insert(*at, Mutex::new(session));
            }
        }
        Ok(reserved)
    }

    /// The session of a link, if it was taken before.
    pub(super) fn of(&self, link: usize) -> Option<&Mutex<Session>> {
        self.sessions.get(&link)
    }
}
