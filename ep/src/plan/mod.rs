//! From lowered operators and concrete shapes to a program that runs.

mod bind;
mod memory;
mod planner;
mod program;
mod upper_bound;
mod weights;

pub use bind::{Bind, BindError, Buf};
pub(crate) use planner::{PlanNode, Planner};
pub use program::{Binding, Label, Program};
pub use upper_bound::UpperBound;
pub use weights::WeightStore;
