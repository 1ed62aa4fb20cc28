//! Reading links, which are checked: a graph of them is one that a writer might have made, but for the vectors.

use super::{MAGIC, METRICS, VERSION};
use crate::error::AnnError;
use crate::graph::{Graph, MAX_LEVEL, MAX_NODES, Node};
use crate::links::{contains, nodes, set};
use crate::options::Options;

const SHORT: AnnError = AnnError::Damaged("they end too early");

/// Bytes that are read one after the other.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], AnnError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*first)
    }

    fn number(&mut self) -> Result<u32, AnnError> {
        self.take().map(u32::from_le_bytes)
    }
}

impl Graph {
    /// Reads [written](Graph::write_to) links of a graph with these options, of documents whose numbers are below `documents`.
    ///
    /// # Errors
    /// [`AnnError::NotLinks`], [`AnnError::OtherOptions`] (`explore` may be another), and [`AnnError::Damaged`].
    pub fn read(bytes: &[u8], options: Options, documents: u32) -> Result<Graph, AnnError> {
        let (bytes, sum) = bytes.split_last_chunk().ok_or(SHORT)?;
        let mut rest = Bytes(bytes);
        if rest.take()? != MAGIC || rest.number()? != VERSION {
            return Err(AnnError::NotLinks);
        }
        if u32::from_le_bytes(*sum) != crc32c::crc32c(bytes) {
            return Err(AnnError::Damaged("their checksum is another"));
        }
        let [metric, has_many, zero, other] = rest.take()?;
        if [zero, other] != [0, 0] {
            return Err(AnnError::Damaged("what is to be 0 is not"));
        }
        if METRICS.get(usize::from(metric)) != Some(&options.metric) {
            return Err(AnnError::OtherOptions("metric"));
        }
        if has_many != u8::from(options.has_many) {
            return Err(AnnError::OtherOptions("number of vectors of a document"));
        }
        if rest.number()? as usize != options.links(1) {
            return Err(AnnError::OtherOptions("number of links"));
        }
        let (bound, entry) = (rest.number()?, rest.number()?);
        let longest = f64::from_le_bytes(rest.take()?);
        if !(longest.is_finite() && longest >= 0.0) {
            return Err(AnnError::Damaged("the length of the longest vector is none"));
        }
        // Each place has a byte at least, and that of a document its number.
        let places = if options.has_many { MAX_NODES } else { documents.min(MAX_NODES) };
        if bound > places || bound as usize > rest.0.len() {
            return Err(AnnError::Damaged("there are too many places for nodes"));
        }
        let mut graph = Graph::new(options);
        graph.longest = longest;
        read_nodes(&mut graph, &mut rest, bound, documents)?;
        if !rest.0.is_empty() {
            return Err(AnnError::Damaged("something follows them"));
        }
        if graph.bound != bound {
            return Err(AnnError::Damaged("the last place has no node"));
        }
        check(&graph)?;
        let entry = entry.checked_sub(1).map(|entry| (entry, graph.node(entry).levels));
        let highest = (0..bound).map(|node| graph.node(node).levels).max().unwrap_or(0);
        if entry.map_or(0, |(_, levels)| levels) != highest || (entry.is_some() && highest == 0) {
            return Err(AnnError::Damaged("searches do not begin at the highest level"));
        }
        graph.entry = entry.map(|(entry, levels)| (entry, levels - 1));
        Ok(graph)
    }
}

/// Reads nodes with their links.
fn read_nodes(
    graph: &mut Graph,
    rest: &mut Bytes<'_>,
    bound: u32,
    documents: u32,
) -> Result<(), AnnError> {
    let (mut unit, mut list) = (0, Vec::new());
    let mut places = Vec::new();
    for number in 0..bound {
        let levels = u32::from(rest.take::<1>()?[0]);
        if levels > MAX_LEVEL + 1 {
            return Err(AnnError::Damaged("a node has too many levels"));
        }
        if levels == 0 {
            continue;
        }
        let mut place = (number, 0);
        if graph.options.has_many {
            place = (rest.number()?, rest.number()?);
            if place.0 >= documents {
                return Err(AnnError::Damaged("there is no such document"));
            }
            places.push(place);
        }
        let first = if levels > 1 { unit } else { 0 };
        graph.insert(number, Node { levels, unit: first, place });
        unit += levels - 1;
        for level in 0..levels {
            let count = usize::from(u16::from_le_bytes(rest.take()?));
            if count > graph.options.links(level) {
                return Err(AnnError::Damaged("a node has too many links"));
            }
            list.clear();
            for _ in 0..count {
                let other = rest.number()?;
                if other >= bound || other == number || list.contains(&other) {
                    return Err(AnnError::Damaged("a link leads nowhere"));
                }
                list.push(other);
            }
            set(graph.links_mut(number, level), list.iter().copied());
        }
    }
    graph.documents = graph.len();
    if graph.options.has_many {
        places.sort_unstable();
        if places.windows(2).any(|two| two[0] == two[1]) {
            return Err(AnnError::Damaged("a vector has two nodes"));
        }
        places.dedup_by_key(|place| place.0);
        graph.documents = places.len();
    }
    Ok(())
}

/// Whether every link leads back, from a node that has the level.
fn check(graph: &Graph) -> Result<(), AnnError> {
    for node in 0..graph.bound {
        for level in 0..graph.node(node).levels {
            let is_back = |other| {
                graph.node(other).levels > level && contains(graph.links(other, level), node)
            };
            if !nodes(graph.links(node, level)).all(is_back) {
                return Err(AnnError::Damaged("a link does not lead back"));
            }
        }
    }
    Ok(())
}
