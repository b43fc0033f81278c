//! Scaled dot-product attention, written out.

use super::pattern::{Fused, Match};
use super::transpose::perm;
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Graph, NodeId, ValueId};
use crate::ops::FUSED;

pub const SDPA: FusionRule = FusionRule {
    name: "Sdpa",
    pattern: "MatMul(Softmax(MatMul(q, k) * scale + mask), v) -> Sdpa; scales on q, k or the product, transpositions \
              of q, k, v and the result, casts around the softmax, no mask, Where(IsNaN(softmax), 0, softmax), Concat of one \
              operand",
    fuse,
};

/// Four dimensions in the order batch, head, sequence, element, and where the operand has them.
const BNSH: [usize; 4] = [0, 1, 2, 3];
const BSNH: [usize; 4] = [0, 2, 1, 3];
const BNHS: [usize; 4] = [0, 1, 3, 2];

/// Most terms that an `Sdpa` adds to its scores.
const MASKS: usize = 2;

fn fuse<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    let product = graph.node(id).filter(|node| node.is("", "MatMul")).ok_or(Skip::NoMatch)?;
    let mut m = Match::new(graph);
    m.take_node(id);
    let (weights, v) = product.input(0).zip(product.input(1)).ok_or(Skip::NoMatch)?;
    let (softmax, nan_to_zero) = softmax(&mut m, weights).ok_or(Skip::NoMatch)?;
    let (scores, terms) = biased_scores(&mut m, softmax, MASKS).ok_or(Skip::NoMatch)?;
    let v = operand(&mut m, v, BNSH, false);
    let (output, out_order) = result(&mut m, product.output(0).ok_or(Skip::NoMatch)?);
    let order = |operand: &Operand| {
        let reason = || Skip::Condition("an operand has not visibly four dimensions in a known order".into());
        operand.order(graph).ok_or_else(reason)
    };
    let attrs = vec![
        ("scale", Attr::Float(scores.scale as f32)),
        ("q_order", order(&scores.q)?),
        ("k_order", order(&scores.k)?),
        ("v_order", order(&v)?),
        ("out_order", Attr::Str(out_order.to_owned())),
        ("nan_rows_to_zero", Attr::Int(nan_to_zero.into())),
    ];
    let mut inputs = vec![Some(scores.q.value), Some(scores.k.value), Some(v.value)];
    inputs.extend(terms.into_iter().map(Some));
    m.rewrite(Fused { domain: FUSED, op_type: "Sdpa", version: 1, inputs, outputs: vec![Some(output)], attrs })
}

/// (what the softmax reads, whether NaN becomes zero) of attention weights: a softmax over the last of four
/// dimensions, by itself or with its NaNs replaced.
fn softmax(m: &mut Match<'_, '_>, weights: ValueId) -> Option<(ValueId, bool)> {
    let weights = m.skip_float_casts(weights);
    let replaced = m.attempt(|m| {
        let replace = m.take(Some(weights), "Where")?;
        let is_nan = m.take(replace.input(0), "IsNaN")?;
        let (zero, kept) = (replace.input(1)?, replace.input(2)?);
        (is_nan.input(0)? == kept && m.scalar(zero, kept)? == 0.0).then_some(kept)
    });
    let node = m.take(Some(replaced.unwrap_or(weights)), "Softmax")?;
    // Up to version 12 the softmax is over all dimensions from `axis` on, here the last one alone.
    let last = matches!(node.attrs.get("axis"), Some(Attr::Int(-1 | 3)));
    let axis = last || (node.version >= 13 && node.attrs.get("axis").is_none());
    let scores = m.skip_float_casts(node.input(0)?);
    axis.then_some((scores, replaced.is_some()))
}

/// The scores, and at most `count` terms added to them.
fn biased_scores(m: &mut Match<'_, '_>, value: ValueId, count: usize) -> Option<(Scores, Vec<ValueId>)> {
    if let Some(scores) = m.attempt(|m| scores(m, value)) {
        return Some((scores, Vec::new()));
    }
    let inner = count.checked_sub(1)?;
    m.take_commutative(Some(value), "Add", |m, sum, term| {
        let (scores, mut terms) = biased_scores(m, sum, inner)?;
        terms.push(term);
        Some((scores, terms))
    })
}

struct Scores {
    q: Operand,
    k: Operand,
    scale: f64,
}

/// The scaled product of queries and keys.
fn scores(m: &mut Match<'_, '_>, value: ValueId) -> Option<Scores> {
    let (value, outer) = scaled(m, value);
    let product = m.take(Some(value), "MatMul")?;
    let q = operand(m, product.input(0)?, BNSH, true);
    let k = operand(m, product.input(1)?, BNHS, true);
    let scale = outer * q.scale * k.scale;
    Some(Scores { q, k, scale })
}

/// Takes a multiplication or division by a constant scalar.
fn scaled(m: &mut Match<'_, '_>, value: ValueId) -> (ValueId, f64) {
    if let Some((base, factor)) = m.with_scalar(Some(value), "Mul") {
        return (base, factor);
    }
    let divided = m.attempt(|m| {
        let div = m.take(Some(value), "Div")?;
        let base = div.input(0)?;
        Some((base, 1.0 / m.scalar(div.input(1)?, base)?))
    });
    divided.unwrap_or((value, 1.0))
}

/// An operand, its factor, and where it has the dimensions batch, head, sequence and element.
struct Operand {
    value: ValueId,
    scale: f64,
    axes: Vec<usize>,
    /// A transposition shows that there are four dimensions.
    transposed: bool,
}

impl Operand {
    fn order(&self, graph: &Graph<'_>) -> Option<Attr<'static>> {
        let known = self.transposed || graph.value(self.value).shape.as_ref().is_some_and(|shape| shape.len() == 4);
        let order = match self.axes[..] {
            [0, 1, 2, 3] => "bnsh",
            [0, 2, 1, 3] => "bsnh",
            [0, 1, 3, 2] => "bnhs",
            _ => return None,
        };
        known.then(|| Attr::Str(order.to_owned()))
    }
}

/// Looks through transpositions and, where `scales`, factors that only the match reads.
fn operand(m: &mut Match<'_, '_>, mut value: ValueId, order: [usize; 4], scales: bool) -> Operand {
    let mut found = Operand { value, scale: 1.0, axes: order.to_vec(), transposed: false };
    while m.graph().only_consumer(value).is_some() {
        let (base, scale) = match only_part(m, value) {
            Some(base) => (base, 1.0),
            None if scales => scaled(m, value),
            None => (value, 1.0),
        };
        found.scale *= scale;
        found.value = base;
        if base != value {
            value = base;
            continue;
        }
        let Some((axes, base)) = transposed(m, value, &found.axes) else { break };
        found.axes = axes;
        found.transposed = true;
        found.value = base;
        value = base;
    }
    found
}

/// What a concatenation of nothing else, which stands where a cache would be appended to, makes `value` of.
fn only_part(m: &mut Match<'_, '_>, value: ValueId) -> Option<ValueId> {
    m.take_if(Some(value), |node| node.is("", "Concat") && node.inputs.len() == 1)?.input(0)
}

fn transposed(m: &mut Match<'_, '_>, value: ValueId, axes: &[usize]) -> Option<(Vec<usize>, ValueId)> {
    m.attempt(|m| {
        let node = m.take(Some(value), "Transpose")?;
        let perm = perm(node)?;
        let axes: Option<Vec<usize>> = axes.iter().map(|&axis| perm.get(axis).copied()).collect();
        Some((axes.filter(|_| perm.len() == 4)?, node.input(0)?))
    })
}

/// The last value of the match and its order: heads moved behind the sequence where only that is read.
fn result(m: &mut Match<'_, '_>, product: ValueId) -> (ValueId, &'static str) {
    let moved = m.graph().only_consumer(product).and_then(|(id, node)| {
        let moves = node.is("", "Transpose") && perm(node)? == BSNH;
        moves.then_some((id, node.output(0)?))
    });
    match moved {
        Some((id, output)) => {
            m.take_node(id);
            (output, "bsnh")
        }
        None => (product, "bnsh"),
    }
}

#[cfg(test)]
mod tests;
