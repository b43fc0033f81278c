/// What one instruction computes: `m x k` times `k x n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileShape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

/// What one call of a micro-kernel computes at most; `k` is the depth that one pass of its loop takes. A multiple of the
/// tile in each dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockShape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}
