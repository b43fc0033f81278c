//! The graph as the provider sees it: nodes in topological order over named values.

mod attr;
mod builder;
mod graph;
mod tensor;
mod text;

pub use attr::{Attr, Attrs};
pub use builder::{GraphBuilder, NodeSpec};
pub use graph::{Dim, Graph, Node, NodeId, Value, ValueId};
pub use tensor::{Bytes, Tensor};
