//! The Gaussian error linear unit, written out.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use kernels::tensor::DType;

use super::pattern::{Fused, Match, close};
use super::{FusionRule, Rewrite, Skip};
use crate::ir::{Attr, Graph, NodeId, ValueId};

pub const ERF: FusionRule = FusionRule {
    name: "GeluErf",
    pattern: "0.5 * x * (1 + Erf(x / sqrt(2))) -> Gelu; factors in any order",
    fuse: fuse_erf,
};

pub const TANH: FusionRule = FusionRule {
    name: "GeluTanh",
    pattern: "0.5 * x * (1 + Tanh(sqrt(2/pi) * (x + 0.044715 * x^3))) -> Gelu(approximate=tanh); factors in any order",
    fuse: fuse_tanh,
};

const CUBE_FACTOR: f64 = 0.044715;

fn fuse_erf<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    fuse(graph, id, "none", |m, gate, x| {
        let erf = one_plus(m, gate)?;
        let erf = m.take(Some(erf), "Erf")?;
        let argument = m.product(erf.input(0)?);
        let is_half = is_half(m.graph(), x);
        (argument.factors == [x] && close(argument.scale, FRAC_1_SQRT_2, is_half)).then_some(())
    })
}

fn fuse_tanh<'w>(graph: &mut Graph<'w>, id: NodeId) -> Result<Rewrite<'w>, Skip> {
    fuse(graph, id, "tanh", |m, gate, x| {
        let tanh = one_plus(m, gate)?;
        let tanh = m.take(Some(tanh), "Tanh")?;
        let argument = m.product(tanh.input(0)?);
        let is_half = is_half(m.graph(), x);
        if !close(argument.scale, (2.0 / PI).sqrt(), is_half) {
            return None;
        }
        match argument.factors[..] {
            // x + 0.044715 x^3
            [sum] => m.take_commutative(Some(sum), "Add", |m, linear, cube| {
                let cube = m.product(cube);
                let fits = linear == x && cube.factors == [x; 3] && close(cube.scale, CUBE_FACTOR, is_half);
                fits.then_some(())
            }),
            // x (1 + 0.044715 x^2)
            [a, b] if a == x || b == x => {
                let square = one_plus(m, if a == x { b } else { a })?;
                let square = m.product(square);
                (square.factors == [x; 2] && close(square.scale, CUBE_FACTOR, is_half)).then_some(())
            }
            _ => None,
        }
    })
}

/// Matches `0.5 * x * gate` where `is_gate` accepts (gate, x).
fn fuse<'w>(
    graph: &Graph<'w>,
    id: NodeId,
    approximate: &str,
    is_gate: impl Fn(&mut Match<'_, 'w>, ValueId, ValueId) -> Option<()>,
) -> Result<Rewrite<'w>, Skip> {
    let output = graph.node(id).and_then(|node| node.output(0)).ok_or(Skip::NoMatch)?;
    let mut m = Match::new(graph);
    let product = m.product(output);
    let [a, b] = product.factors[..] else { return Err(Skip::NoMatch) };
    if product.scale != 0.5 {
        return Err(Skip::NoMatch);
    }
    let mut matches = |gate, x| m.attempt(|m| is_gate(m, gate, x)).map(|()| x);
    let x = matches(a, b).or_else(|| matches(b, a)).ok_or(Skip::NoMatch)?;
    m.rewrite(Fused {
        domain: "",
        op_type: "Gelu",
        version: 20,
        inputs: vec![Some(x)],
        outputs: vec![Some(output)],
        attrs: vec![("approximate", Attr::Str(approximate.to_owned()))],
    })
}

/// `y` of `value = 1 + y`.
fn one_plus(m: &mut Match<'_, '_>, value: ValueId) -> Option<ValueId> {
    m.with_scalar(Some(value), "Add").filter(|&(_, one)| one == 1.0).map(|(y, _)| y)
}

fn is_half(graph: &Graph<'_>, value: ValueId) -> bool {
    graph.value(value).dtype == Some(DType::F16)
}

#[cfg(test)]
mod tests;
