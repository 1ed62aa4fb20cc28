//! From names to places: what of a pipeline can be checked without its models.

use super::read::{Draft, Mapping, Node, is_reserved};
use super::{Demultiply, Origin, PipelineNode, PipelineSettings, REQUEST, Wire};
use crate::ConfigError;

/// Connects the parts of a pipeline. The texts before the dash are OpenVINO Model Server's.
///
/// # Errors
/// [`ConfigError::Pipeline`].
pub(super) fn structure(draft: Draft, base: &str) -> Result<PipelineSettings, ConfigError> {
    let Draft { inputs, demultiply, nodes, outputs } = draft;
    let wrong = |pointer: &str, text: String| ConfigError::Pipeline {
        pointer: format!("{base}{pointer}"),
        text,
    };
    if let Some(i) = (1..inputs.len()).find(|&i| inputs[..i].contains(&inputs[i])) {
        let text = format!("input {:?} is declared twice", inputs[i]);
        return Err(wrong(&format!("/inputs/{i}"), text));
    }
    for (i, node) in nodes.iter().enumerate() {
        if is_reserved(&node.name) || nodes[..i].iter().any(|n| n.name == node.name) {
            let text = "Pipeline definition has multiple nodes with the same name";
            return Err(wrong(
                &format!("{}/name", node.pointer),
                format!("{text} - {:?}", node.name),
            ));
        }
        let twice = |i: &usize| node.outputs[..*i].iter().any(|o| o.1 == node.outputs[*i].1);
        if let Some(i) = (1..node.outputs.len()).find(twice) {
            let text = format!("alias {:?} is given twice", node.outputs[i].1);
            return Err(wrong(&format!("{}/outputs/{i}/alias", node.pointer), text));
        }
    }
    let resolve = |mapping: &Mapping| -> Result<Wire, ConfigError> {
        let from = origin(mapping, &inputs, &nodes)
            .map_err(|(key, text)| wrong(&format!("{}/{key}", mapping.pointer), text))?;
        Ok(Wire { name: mapping.name.clone(), from, pointer: mapping.pointer.clone() })
    };
    let wires = |list: &[Mapping], what: &str| -> Result<Vec<Wire>, ConfigError> {
        if let Some(i) = (1..list.len()).find(|&i| list[..i].iter().any(|m| m.name == list[i].name))
        {
            let text = format!("{what} {:?} is connected more than once", list[i].name);
            return Err(wrong(&list[i].pointer, text));
        }
        list.iter().map(&resolve).collect()
    };
    let mut whole = PipelineSettings {
        outputs: wires(&outputs, "output")?,
        nodes: Vec::with_capacity(nodes.len()),
        inputs: inputs.clone(),
        demultiply,
    };
    if whole.outputs.is_empty() {
        return Err(wrong("/outputs", "a pipeline needs an output".to_owned()));
    }
    for node in &nodes {
        whole.nodes.push(PipelineNode {
            name: node.name.clone(),
            model: node.model.clone(),
            version: node.version,
            inputs: wires(&node.inputs, "input")?,
            outputs: node.outputs.iter().map(|(item, _)| item.clone()).collect(),
            demultiply: node.demultiply,
            gathers: node.gather_from.is_some(),
            level: Vec::new(),
            pointer: node.pointer.clone(),
        });
    }
    let order = order(&whole.nodes).map_err(|cycle| {
        let text = format!("Pipeline definition contains a cycle - {}", cycle.join(", "));
        wrong("/nodes", text)
    })?;
    let loose = unconnected(&whole);
    if let Some(node) = loose.first().and_then(|&n| whole.nodes.get(n)) {
        let text = "Pipeline definition has unconnected nodes";
        return Err(wrong(&node.pointer, format!("{text} - nothing needs {:?}", node.name)));
    }
    let whole = sorted(whole, &order);
    let gathers: Vec<Option<&str>> =
        order.iter().map(|&i| nodes[i].gather_from.as_deref()).collect();
    let whole = levelled(whole, &gathers).map_err(|(pointer, text)| wrong(&pointer, text))?;
    let splitters = whole.nodes.iter().filter_map(|n| n.demultiply).chain(whole.demultiply);
    let splitters: Vec<Demultiply> = splitters.collect();
    if splitters.len() > 1 && splitters.contains(&Demultiply::Dynamic) {
        let text = "only one demultiplexer is possible where one has a dynamic demultiply_count";
        return Err(wrong("/nodes", text.to_owned()));
    }
    Ok(whole)
}

/// What a mapping refers to; otherwise the key that is wrong, and why.
fn origin(
    mapping: &Mapping,
    inputs: &[String],
    nodes: &[Node],
) -> Result<Origin, (&'static str, String)> {
    let item = &mapping.item;
    let missing = |known: String| {
        let text = "Pipeline definition has reference to missing data source";
        ("data_item", format!("{text} - {:?} has no {item:?}; it has: {known}", mapping.node))
    };
    if mapping.node == REQUEST {
        let place = inputs.iter().position(|i| i == item);
        return place.map(Origin::Request).ok_or_else(|| missing(inputs.join(", ")));
    }
    let Some(node) = nodes.iter().position(|n| n.name == mapping.node) else {
        let known = nodes.iter().map(|n| &*n.name);
        let known = std::iter::once(REQUEST).chain(known).collect::<Vec<_>>().join(", ");
        let text = "Pipeline definition has reference to missing node";
        return Err(("node_name", format!("{text} - {:?}; it has: {known}", mapping.node)));
    };
    let outputs = &nodes[node].outputs;
    let output = outputs.iter().position(|(_, alias)| alias == item).ok_or_else(|| {
        missing(outputs.iter().map(|(_, alias)| &**alias).collect::<Vec<_>>().join(", "))
    })?;
    Ok(Origin::Node { node, output })
}

/// An order in which each node comes behind those it depends on, or the names of nodes that lie on or behind a
/// cycle.
fn order(nodes: &[PipelineNode]) -> Result<Vec<usize>, Vec<String>> {
    let mut order: Vec<usize> = Vec::with_capacity(nodes.len());
    let mut placed = vec![false; nodes.len()];
    while order.len() < nodes.len() {
        let before = order.len();
        for (n, node) in nodes.iter().enumerate() {
            let is_ready = node.inputs.iter().filter_map(|w| w.from.node()).all(|n| placed[n]);
            if !placed[n] && is_ready {
                placed[n] = true;
                order.push(n);
            }
        }
        if order.len() == before {
            let left = nodes.iter().zip(&placed).filter(|(_, placed)| !**placed);
            return Err(left.map(|(node, _)| node.name.clone()).collect());
        }
    }
    Ok(order)
}

/// Nodes whose results nobody needs.
fn unconnected(whole: &PipelineSettings) -> Vec<usize> {
    let mut needed = vec![false; whole.nodes.len()];
    let mut open: Vec<usize> = whole.outputs.iter().filter_map(|w| w.from.node()).collect();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut needed[node], true) {
            open.extend(whole.nodes[node].inputs.iter().filter_map(|w| w.from.node()));
        }
    }
    (0..needed.len()).filter(|&n| !needed[n]).collect()
}

fn sorted(whole: PipelineSettings, order: &[usize]) -> PipelineSettings {
    let moved = |mut wire: Wire| {
        if let Origin::Node { node, .. } = &mut wire.from {
            *node = order.iter().position(|n| n == node).unwrap_or(*node);
        }
        wire
    };
    let nodes = order.iter().filter_map(|&n| whole.nodes.get(n).cloned());
    PipelineSettings {
        nodes: nodes
            .map(|n| PipelineNode { inputs: n.inputs.into_iter().map(moved).collect(), ..n })
            .collect(),
        outputs: whole.outputs.into_iter().map(moved).collect(),
        ..whole
    }
}

/// Finds out in whose branches each node runs; otherwise the place of what is wrong, and why.
fn levelled(
    mut whole: PipelineSettings,
    gathers: &[Option<&str>],
) -> Result<PipelineSettings, (String, String)> {
    const ORDER: &str = "Demultiplexer and gather nodes are not in LIFO order";
    for (i, gathers) in gathers.iter().enumerate() {
        let node = &whole.nodes[i];
        let mut levels = node.inputs.iter().map(|w| (w, whole.level(w.from)));
        let mut level = match levels.next() {
            None => Vec::new(),
            Some((_, first)) => {
                if let Some((wire, _)) = levels.find(|(_, level)| *level != first) {
                    let text =
                        "the inputs of a node must come from the same demultiplexers".to_owned();
                    return Err((wire.pointer.clone(), format!("{ORDER} - {text}")));
                }
                first
            }
        };
        if let Some(from) = *gathers {
            let pointer = || format!("{}/gather_from_node", node.pointer);
            let place = whole.nodes.iter().position(|n| n.name == from);
            if place.is_none() && from != REQUEST {
                let text = "Pipeline definition has reference to missing node";
                return Err((pointer(), format!("{text} - {from:?}")));
            }
            if whole.demultiply(place).is_none() {
                return Err((pointer(), format!("node {from:?} has no demultiply_count")));
            }
            if level.pop() != Some(place) {
                let text = format!("{from:?} is not the innermost demultiplexer here");
                return Err((pointer(), format!("{ORDER} - {text}")));
            }
        }
        whole.nodes[i].level = level;
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerConfig;

    /// Nodes as `name:options <- input@source.item ...`, the source `request` or a node with output `y`.
    fn node(text: &str) -> String {
        let (head, wires) = text.split_once(" <- ").unwrap();
        let mut head = head.split(' ');
        let name = head.next().unwrap();
        let options: String = head.map(|o| format!(", {}", o.replace('=', ": "))).collect();
        let wire = |text: &str| {
            let (input, from) = text.split_once('@').unwrap();
            let (node, item) = from.split_once('.').unwrap();
            format!(r#"{{"{input}": {{"node_name": "{node}", "data_item": "{item}"}}}}"#)
        };
        let inputs: Vec<String> = wires.split(' ').map(wire).collect();
        format!(
            r#"{{"name": "{name}", "model_name": "m", "type": "DL model"{options}, "inputs": [{}],
                "outputs": [{{"data_item": "out", "alias": "y"}}]}}"#,
            inputs.join(", ")
        )
    }

    fn pipeline(options: &str, nodes: &[&str], output: &str) -> Result<PipelineSettings, String> {
        let nodes: Vec<String> = nodes.iter().map(|n| node(n)).collect();
        let text = format!(
            r#"{{"model_config_list": [], "pipeline_config_list": [{{"name": "p", "inputs": ["x"]{options},
                "nodes": [{}], "outputs": [{{"z": {{"node_name": "{output}", "data_item": "y"}}}}]}}]}}"#,
            nodes.join(", ")
        );
        let mut config = ServerConfig::parse(text.as_bytes()).unwrap();
        config.pipelines.remove(0).settings.map_err(|e| e.to_string())
    }

    #[test]
    fn nodes_stand_behind_what_they_need() {
        let nodes = ["c <- p@a.y q@b.y", "b <- q@request.x", "a <- p@b.y"];
        let whole = pipeline("", &nodes, "c").unwrap();
        let names: Vec<&str> = whole.nodes.iter().map(|n| &*n.name).collect();
        assert_eq!(names, ["b", "a", "c"]);
        let from = |n: usize, i: usize| whole.nodes[n].inputs[i].from;
        assert_eq!(from(0, 0), Origin::Request(0));
        assert_eq!((from(2, 0).node(), from(2, 1).node()), (Some(1), Some(0)));
        assert_eq!(whole.outputs[0].from.node(), Some(2));
        assert_eq!(whole.nodes[2].pointer, "/nodes/0");
    }

    #[test]
    fn branches() {
        let split = r#"a "demultiply_count"=3 <- p@request.x"#;
        let inner = r#"b "demultiply_count"=2 <- p@a.y"#;
        let gather = |node: &str, of: &str, from: &str| {
            format!(r#"{node} "gather_from_node"="{of}" <- p@{from}.y"#)
        };
        let (from_b, from_a) = (gather("c", "b", "b"), gather("d", "a", "c"));
        let whole = pipeline("", &[split, inner, &from_b, &from_a], "d").unwrap();
        let levels: Vec<_> = whole.nodes.iter().map(|n| n.level.clone()).collect();
        assert_eq!(levels, [vec![], vec![Some(0)], vec![Some(0)], vec![]]);
        let whole = pipeline("", &[split, inner], "b").unwrap();
        assert_eq!(whole.level(whole.outputs[0].from), [Some(0), Some(1)]);
        let whole = pipeline(r#", "demultiply_count": -1"#, &["a <- p@request.x"], "a").unwrap();
        assert_eq!(whole.nodes[0].level, [None]);
    }

    #[test]
    fn what_cannot_be_connected() {
        let base = "/pipeline_config_list/0";
        let split = r#"a "demultiply_count"=3 <- p@request.x"#;
        let inner = r#"b "demultiply_count"=2 <- p@a.y"#;
        let dynamic = r#"a "demultiply_count"=-1 <- p@request.x"#;
        let cases: [(&str, &[&str], &str, &str); 13] = [
            (
                "node",
                &["a <- p@b.y"],
                "a",
                "/nodes/0/inputs/0/p/node_name: Pipeline definition has reference to missing node - \"b\"; it has: request, a",
            ),
            (
                "data item",
                &["a <- p@request.y"],
                "a",
                "/nodes/0/inputs/0/p/data_item: Pipeline definition has reference to missing data source - \"request\" has no \"y\"; it has: x",
            ),
            ("output", &["a <- p@request.x"], "b", "/outputs/0/z/node_name: Pipeline"),
            (
                "cycle",
                &["a <- p@b.y", "b <- p@a.y"],
                "b",
                "/nodes: Pipeline definition contains a cycle - a, b",
            ),
            ("itself", &["a <- p@a.y"], "a", "/nodes: Pipeline definition contains a cycle - a"),
            (
                "same name",
                &["a <- p@request.x", "a <- p@request.x"],
                "a",
                "/nodes/1/name: Pipeline definition has multiple nodes",
            ),
            ("reserved", &["request <- p@request.x"], "request", "/nodes/0/name: "),
            (
                "twice",
                &["a <- p@request.x p@request.x"],
                "a",
                "/nodes/0/inputs/1/p: input \"p\" is connected more than once",
            ),
            (
                "unconnected",
                &["a <- p@request.x", "b <- p@request.x"],
                "a",
                "/nodes/1: Pipeline definition has unconnected nodes - nothing needs \"b\"",
            ),
            (
                "levels",
                &[split, "b <- p@a.y q@request.x"],
                "b",
                "/nodes/1/inputs/1/q: Demultiplexer and gather nodes are not in LIFO order",
            ),
            (
                "order",
                &[split, inner, r#"c "gather_from_node"="a" <- p@b.y"#],
                "c",
                "/nodes/2/gather_from_node: Demultiplexer and gather nodes are not in LIFO order",
            ),
            (
                "no demultiplexer",
                &["a <- p@request.x", r#"b "gather_from_node"="a" <- p@a.y"#],
                "b",
                "/nodes/1/gather_from_node: node \"a\" has no demultiply_count",
            ),
            ("two dynamic", &[dynamic, inner], "b", "/nodes: only one demultiplexer"),
        ];
        for (label, nodes, output, expected) in cases {
            let error = pipeline("", nodes, output).unwrap_err();
            assert!(error.starts_with(&format!("{base}{expected}")), "{label}: {error}");
        }
    }
}
