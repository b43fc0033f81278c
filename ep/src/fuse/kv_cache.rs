//! A cache of keys and values that grows by a concatenation before attention.

use super::pattern::{Fused, Match};
use super::transpose::perm;
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Dim, Graph, Node, NodeId, ValueId};
use crate::ops::FUSED;

pub const KV_CACHE: FusionRule = FusionRule {
    name: "KvCache",
    pattern: "Sdpa|Attention with k = Concat(past_k, x; axis 2), v = Concat(past_v, y; axis 2) -> Sdpa|Attention of x, y, \
              past_k and past_v that gives k and v too; transpositions of x and y before an Sdpa",
    fuse,
};

/// Where an attention has past keys and values, and its first output behind the result is.
const SDPA_PAST: [usize; 2] = [5, 6];
const ATTENTION_PAST: [usize; 2] = [4, 5];

/// Dimension of the positions in keys and values by head.
const POSITIONS: i64 = 2;

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let node = graph.node(id).ok_or(Skip::NoMatch)?.clone();
    let is_sdpa = node.is(FUSED, "Sdpa");
    let past = if is_sdpa { SDPA_PAST } else { ATTENTION_PAST };
    if !(is_sdpa || is_plain_attention(&node)) || past.iter().any(|&index| node.input(index).is_some()) {
        return Err(Skip::NoMatch);
    }
    let mut m = Match::new(graph);
    m.take_node(id);
    let (mut inputs, mut outputs, mut attrs) = (node.inputs.clone(), node.outputs.clone(), node.attrs.clone());
    inputs.resize(inputs.len().max(past[1] + 1), None);
    outputs.resize(3, None);
    for (at, order) in ["k_order", "v_order"].into_iter().enumerate() {
        if is_sdpa && !matches!(attrs.get(order), Some(Attr::Str(order)) if order == "bnsh") {
            return Err(Skip::NoMatch);
        }
        let present = node.input(1 + at).ok_or(Skip::NoMatch)?;
        let [held, new] = m.attempt(|m| parts(m, present)).ok_or(Skip::NoMatch)?;
        // Who else reads the cache may compute a mask from it, on which the attention would wait.
        if graph.consumers(present) != [id] {
            return Err(Skip::Condition("the cache is read elsewhere too".into()));
        }
        let moved = if is_sdpa { m.attempt(|m| heads_first(m, new)) } else { None };
        if moved.is_some() {
            attrs.set(order, Attr::Str("bsnh".into()));
        }
        (inputs[1 + at], inputs[past[at]], outputs[1 + at]) = (Some(moved.unwrap_or(new)), Some(held), Some(present));
    }
    if !same_batch(graph, [inputs[past[0]], inputs[past[1]], inputs[0]]) {
        return Err(Skip::Condition("caches and queries have not visibly the same batch".into()));
    }
    let (version, domain, op_type) = if is_sdpa { (1, FUSED, "Sdpa") } else { (node.version, "", "Attention") };
    let mut rewrite = m.rewrite(Fused { domain, op_type, version, inputs, outputs, attrs: vec![] })?;
    for fused in &mut rewrite.add {
        fused.attrs = attrs.clone();
        fused.name.clone_from(&node.name);
    }
    Ok(rewrite)
}

/// An ai.onnx Attention that would mean the same with a past: its positions do not hide keys, no key is padding, and
/// nobody asks for more than the result.
fn is_plain_attention(node: &Node<'_>) -> bool {
    let causal = !matches!(node.attrs.get("is_causal"), None | Some(Attr::Int(0)));
    let padding_at = 6;
    let result_only = (1..node.outputs.len()).all(|index| node.output(index).is_none());
    node.is("", "Attention") && !causal && node.input(padding_at).is_none() && result_only
}

/// Past and new part of a cache `[batch, head, position, element]`.
fn parts(m: &mut Match<'_, '_>, present: ValueId) -> Option<[ValueId; 2]> {
    let concat = m.take(Some(present), "Concat").filter(|concat| concat.inputs.len() == 2)?;
    let four = m.graph().value(concat.input(0)?).shape.as_ref()?.len() == 4;
    let along =
        matches!(concat.attrs.get("axis"), Some(&Attr::Int(axis)) if axis == POSITIONS || axis == POSITIONS - 4);
    (four && along).then_some([concat.input(0)?, concat.input(1)?])
}

/// What `[batch, position, head, element]` a transposition that only the match reads makes `value` of.
fn heads_first(m: &mut Match<'_, '_>, value: ValueId) -> Option<ValueId> {
    m.graph().only_consumer(value)?;
    let transpose = m.take(Some(value), "Transpose")?;
    (perm(transpose)? == [0, 2, 1, 3]).then(|| transpose.input(0))?
}

/// Whether the first dimensions are visibly the same, so that no batch is broadcast.
fn same_batch(graph: &Graph<'_>, values: [Option<ValueId>; 3]) -> bool {
    let batch =
        |value: Option<ValueId>| graph.value(value?).shape.as_ref()?.first().filter(|dim| **dim != Dim::Unknown);
    let [k, v, q] = values.map(batch);
    k.is_some() && k == v && v == q
}

#[cfg(test)]
mod tests;
