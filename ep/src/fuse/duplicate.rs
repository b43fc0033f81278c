//! The same activation dequantised once for each of its readers, as ONNX Runtime leaves it.

use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Graph, Node, NodeId};

pub const DEQUANTIZE: FusionRule = FusionRule {
    name: "DuplicateDequantize",
    pattern: "DequantizeLinear(x, ..), DequantizeLinear(x, ..) -> DequantizeLinear(x, ..), for all readers",
    fuse,
};

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let node = graph.node(id).filter(|node| node.is("", "DequantizeLinear")).ok_or(Skip::NoMatch)?;
    let (x, kept) = node.input(0).zip(node.output(0)).ok_or(Skip::NoMatch)?;
    if graph.value(x).constant.is_some() {
        return Err(Skip::Condition("products take their own of a constant".into()));
    }
    let mut merged = node.clone();
    let (mut remove, mut readers) = (vec![id], Vec::new());
    for &other in graph.consumers(x).iter().filter(|&&other| other != id) {
        let same =
            graph.node(other).filter(|other| is_same(node, other)).and_then(|other| Some((other, other.output(0)?)));
        let Some((duplicate, output)) = same.filter(|&(_, output)| !graph.is_output(output)) else { continue };
        merged.origins.extend(&duplicate.origins);
        remove.push(other);
        readers.extend(graph.consumers(output).iter().map(|&reader| (reader, output)));
    }
    if remove.len() == 1 || readers.iter().any(|(reader, _)| graph.is_taken(*reader)) {
        return Err(Skip::NoMatch);
    }
    let mut add = vec![merged];
    for (index, &(reader, _)) in readers.iter().enumerate() {
        if readers[..index].iter().any(|(earlier, _)| *earlier == reader) {
            continue;
        }
        let mut node = graph.node(reader).ok_or(Skip::NoMatch)?.clone();
        let duplicate =
            |input: &Option<_>| input.is_some_and(|input| readers.iter().any(|(_, output)| *output == input));
        node.inputs.iter_mut().filter(|input| duplicate(input)).for_each(|input| *input = Some(kept));
        remove.push(reader);
        add.push(node);
    }
    Ok(Rewrite { remove, add })
}

/// Whether two nodes compute the same.
fn is_same(a: &Node<'_>, b: &Node<'_>) -> bool {
    let attrs = |node: &Node<'_>| -> Option<Vec<(String, i64)>> {
        let int = |(name, attr): (&str, &Attr<'_>)| match attr {
            Attr::Int(value) => Some((name.to_owned(), *value)),
            _ => None,
        };
        node.attrs.iter().map(int).collect()
    };
    let attrs_of_a = attrs(a);
    let same_kind = b.is(&a.domain, &a.op_type) && a.version == b.version && a.inputs == b.inputs;
    same_kind && attrs_of_a.is_some() && attrs_of_a == attrs(b)
}

#[cfg(test)]
mod tests;
