use std::ops::RangeInclusive;

use super::{Decline, Lower};
use crate::plan::{Bind, BindError};

/// An operator whose attributes, types and constants are settled; shapes are not.
pub trait Op: Send + Sync {
    /// Adds the steps for the concrete shapes that `bind` knows.
    ///
    /// # Errors
    /// [`BindError`] when the shapes do not fit the operator.
    fn bind(&self, bind: &mut Bind<'_>) -> Result<(), BindError>;

    /// Inputs whose contents must be known in [`Op::bind`], because they decide shapes.
    fn shape_inputs(&self) -> &[usize] {
        &[]
    }

    /// Constant inputs of which the operator has taken all it needs, e.g. by packing them.
    fn absorbed_inputs(&self) -> &[usize] {
        &[]
    }

    /// Whether the outputs are known as soon as the input shapes are.
    fn reads_only_shapes(&self) -> bool {
        false
    }
}

/// How much an operator counts when a group is weighed against the cost of its boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Moves data or computes shapes.
    Glue,
    /// Touches each element a few times.
    Light,
    /// Products, normalisations, reductions, attention.
    Heavy,
}

/// One operator.
pub struct OpRow {
    /// `""`, `com.microsoft`, or `spacemit` for what fusions make.
    pub domain: &'static str,
    pub name: &'static str,
    /// Operator set versions in which the meaning of the operator is known.
    pub versions: RangeInclusive<i32>,
    /// Number of inputs, those left out at the end not counted.
    pub inputs: RangeInclusive<usize>,
    pub outputs: RangeInclusive<usize>,
    /// Attributes whose meaning is known; any other is declined.
    pub attrs: &'static [&'static str],
    pub work: Work,
    pub lower: fn(&Lower<'_, '_>) -> Result<Box<dyn Op>, Decline>,
}
