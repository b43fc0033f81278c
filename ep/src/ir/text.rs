//! Listings of graphs for logs and snapshots.

use std::fmt;

use super::{Dim, Graph, Value, ValueId};

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Known(size) => write!(f, "{size}"),
            Dim::Symbol(name) => f.write_str(name),
            Dim::Unknown => f.write_str("?"),
        }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}: {}", self.name, self.dtype.map_or("?", |dtype| dtype.name()))?;
        match &self.shape {
            Some(shape) => write!(f, "[{}]", shape.iter().map(Dim::to_string).collect::<Vec<_>>().join(",")),
            None => f.write_str("[..]"),
        }
    }
}

impl fmt::Display for Graph<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let typed = |ids: &[ValueId]| -> String {
            ids.iter().map(|&id| self.value(id).to_string()).collect::<Vec<_>>().join(", ")
        };
        writeln!(f, "graph({})", typed(&self.inputs))?;
        for (_, node) in self.nodes() {
            let operand = |id: &Option<ValueId>| match id {
                Some(id) if self.value(*id).constant.is_some() => format!("const {}", self.value(*id)),
                Some(id) => format!("%{}", self.value(*id).name),
                None => "-".into(),
            };
            let outputs: Vec<String> =
                node.outputs.iter().map(|id| id.map_or("-".into(), |id| self.value(id).to_string())).collect();
            let inputs: Vec<String> = node.inputs.iter().map(operand).collect();
            let attrs: Vec<String> = node.attrs.iter().map(|(name, attr)| format!("{name}={attr}")).collect();
            write!(f, "  {} = {}({})", outputs.join(", "), node.qualified_op(), inputs.join(", "))?;
            if !attrs.is_empty() {
                write!(f, " {{{}}}", attrs.join(", "))?;
            }
            writeln!(f)?;
        }
        writeln!(f, "  return {}", typed(&self.outputs))
    }
}
