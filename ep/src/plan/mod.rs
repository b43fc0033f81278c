//! From lowered operators and concrete shapes to a program that runs.

mod bind;
mod memory;
mod program;
mod weights;

pub use bind::{Bind, BindError, Buf};
pub use program::{Binding, Label, Program};
pub(crate) use program::{PlanNode, Planner};
pub use weights::WeightStore;
