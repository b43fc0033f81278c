//! The embedding of a model, whose table stays where ONNX Runtime has it: a copy of ours would be there beside the original
//! until all groups are compiled, and at no time is more than a few rows read.

use std::collections::HashMap;

use super::Levels;
use crate::ir::{Graph, Node, NodeId};

/// Bytes from which on a table is worth a group of its own.
const LARGE: usize = 4 << 20;

const TABLE: usize = 0;
const ROWS: usize = 1;

/// The node among `claimed` that picks rows of the largest constant table, none of which a node of the graph chooses. Nothing
/// else reads that table.
pub(super) fn largest<T>(graph: &Graph<'_>, claimed: &HashMap<NodeId, T>) -> Option<NodeId> {
    let tables = graph.nodes().filter(|(id, _)| claimed.contains_key(id));
    let tables = tables.filter_map(|(id, node)| Some((bytes(graph, node)?, id)));
    tables.max().filter(|&(bytes, _)| bytes >= LARGE).map(|(_, id)| id)
}

fn bytes(graph: &Graph<'_>, node: &Node<'_>) -> Option<usize> {
    let (table, rows) = (node.input(TABLE)?, node.input(ROWS)?);
    let apart = graph.producer(rows).is_none() && graph.consumers(table).len() == 1 && !graph.value(table).outer;
    let bytes = graph.value(table).constant.as_ref()?.bytes().len();
    (node.is("", "Gather") && apart).then_some(bytes)
}

/// Moves claimed nodes up to the group of those that read them, or to the last one, so that what stands beside the reader of
/// a table is in the group behind it.
pub(super) fn sink<T>(graph: &Graph<'_>, claimed: &HashMap<NodeId, T>, levels: &mut Levels) {
    let nodes: Vec<_> =
        graph.nodes().filter(|(id, _)| levels[id].is_multiple_of(2) && claimed.contains_key(id)).collect();
    let last = nodes.iter().map(|(id, _)| levels[id]).max().unwrap_or(0);
    for (id, node) in nodes.into_iter().rev() {
        let readers = node.outputs.iter().flatten().flat_map(|&value| graph.consumers(value));
        let lowest = readers.map(|reader| levels[reader]).min().unwrap_or(last);
        levels.insert(id, lowest & !1);
    }
}

#[cfg(test)]
mod tests;
