//! What a graph is made with, and how it is searched.

use crate::metric::Metric;

/// What a graph is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How vectors are compared.
    pub metric: Metric,
    /// Links of a node on each level but the lowest, which has twice as many (`max-links-per-node`).
    pub max_links: usize,
    /// The nodes among which the neighbours of a new one are chosen (`neighbors-to-explore-at-insert`).
    pub explore: usize,
    /// Whether documents may have several vectors.
    pub has_many: bool,
    /// Whether vectors lie where it takes long to read one: then there are sketches of them however few they are.
    pub is_far: bool,
}

/// The fewest and the most links: with one a graph is a chain; the most keep a list below 8 KiB.
const LINKS: (usize, usize) = (2, 1024);

impl Options {
    /// Vespa's defaults: 16 links, 200 explored, one vector for each document.
    #[must_use]
    pub fn new(metric: Metric) -> Options {
        Options { metric, max_links: 16, explore: 200, has_many: false, is_far: false }
    }

    /// The links of a node on a level.
    pub(crate) fn links(&self, level: u32) -> usize {
        let links = self.max_links.clamp(LINKS.0, LINKS.1);
        if level == 0 { 2 * links } else { links }
    }
}

/// How a search proceeds, by the part of the documents that pass its filter; the names are those of rank profiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuning {
    /// Where fewer documents pass, all of these are compared (`approximate-threshold`); unless it is 0, also where they are so few that it
    /// is quicker.
    pub approximate_threshold: f64,
    /// Where fewer pass, only vectors of those that do are compared, and links of others lead on to them
    /// (`filter-first-threshold`).
    pub filter_first_threshold: f64,
    /// Where more pass, the filter comes after a search for more hits (`post-filter-threshold`).
    pub post_filter_threshold: f64,
    /// How many times as many hits these are at most (`target-hits-max-adjustment-factor`).
    pub target_hits_max_adjustment_factor: f64,
    /// How many documents that pass a step must find, as a part of the links of a node, before it looks no further than the links of
    /// links (`filter-first-exploration`).
    pub filter_first_exploration: f64,
    /// How much farther than the worst hit nodes may be that are still gone on from, as a part of its distance
    /// (`exploration-slack`).
    pub exploration_slack: f64,
}

impl Default for Tuning {
    /// Vespa's defaults.
    fn default() -> Tuning {
        Tuning {
            approximate_threshold: 0.02,
            filter_first_threshold: 0.2,
            post_filter_threshold: 1.0,
            target_hits_max_adjustment_factor: 20.0,
            filter_first_exploration: 0.01,
            exploration_slack: 0.0,
        }
    }
}
