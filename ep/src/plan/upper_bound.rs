use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::tensor::Dims;

/// What is known of a mask that depends on inputs: a bool tensor that broadcasts to it. Where that is false, so is the mask,
/// or it is -inf where it is a float.
#[derive(Clone, Debug)]
pub struct UpperBound {
    pub dims: Dims,
    pub bytes: Arc<AlignedBuf>,
}

impl UpperBound {
    /// Whether this also is a bound of the same elements with dimensions `to` in place of `from`: only ones in front differ.
    pub(super) fn survives(from: &[usize], to: &[usize]) -> bool {
        let inner = |dims: &[usize]| dims.iter().skip_while(|&&dim| dim == 1).copied().collect::<Dims>();
        inner(from) == inner(to)
    }
}
