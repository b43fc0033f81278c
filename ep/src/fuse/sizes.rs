//! Shapes that the graph computes, in terms of the dimensions of a tensor.

use crate::ir::{Attr, Graph, ValueId};

/// An element of a shape: a number, or the size of a dimension of a certain tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Size {
    Known(i64),
    Of(usize),
}

/// The elements of the shape or index `value` in terms of the dimensions of `x`, which has `rank` of them. `None`
/// when it depends on anything else or is more than `depth` operators away.
pub(super) fn sizes(graph: &Graph<'_>, value: ValueId, x: ValueId, rank: usize, depth: usize) -> Option<Vec<Size>> {
    if let Some(tensor) = &graph.value(value).constant {
        return Some(tensor.to_i64s()?.into_iter().map(Size::Known).collect());
    }
    let (_, node) = graph.producer(value)?;
    let depth = depth.checked_sub(1)?;
    let operand = |index| sizes(graph, node.input(index)?, x, rank, depth);
    let constant = |index| graph.value(node.input(index)?).constant.as_ref()?.to_i64s();
    let int = |name, default| match node.attrs.get(name) {
        None => Some(default),
        Some(Attr::Int(value)) => Some(*value),
        Some(_) => None,
    };
    if !node.domain.is_empty() {
        return None;
    }
    match node.op_type.as_str() {
        "Shape" if node.input(0) == Some(x) => {
            let all: Vec<Size> = (0..rank).map(Size::Of).collect();
            slice(&all, int("start", 0)?, int("end", i64::MAX)?)
        }
        "Gather" if int("axis", 0)? == 0 => {
            let from = operand(0)?;
            constant(1)?.into_iter().map(|index| from.get(from_end(index, from.len())?).copied()).collect()
        }
        "Slice" if node.input(2).is_some() => {
            let one = |index| <[i64; 1]>::try_from(constant(index)?).ok();
            let axis = node.input(3).is_none() || one(3)? == [0];
            let step = node.input(4).is_none() || one(4)? == [1];
            (axis && step).then(|| slice(&operand(0)?, one(1)?[0], one(2)?[0]))?
        }
        "Concat" => {
            let parts: Option<Vec<_>> = (0..node.inputs.len()).map(operand).collect();
            Some(parts?.concat())
        }
        "Unsqueeze" | "Squeeze" => operand(0).filter(|sizes| sizes.len() == 1),
        _ => None,
    }
}

/// `values[start..end]` with the ends of `Slice`: from the back when negative, clamped.
fn slice(values: &[Size], start: i64, end: i64) -> Option<Vec<Size>> {
    let len = values.len() as i64;
    let clamp = |at: i64| if at < 0 { at.saturating_add(len).max(0) } else { at.min(len) } as usize;
    Some(values.get(clamp(start)..clamp(end)).unwrap_or(&[]).to_vec())
}

fn from_end(index: i64, len: usize) -> Option<usize> {
    usize::try_from(if index < 0 { index + len as i64 } else { index }).ok()
}
