//! Convolutions over images `[batch, channels, spatial..]`, as products of the filters with the matrix of the windows.
//!
//! `Y[filters, positions] = W[filters, channels * taps] x columns[channels * taps, positions]`: the output of a product
//! has the order of the image already. The columns are gathered for a strip of positions at a time, in scratch.

mod columns;
mod depthwise;
mod engine;
mod filters;
mod float;
mod integer;
mod transposed;

pub use depthwise::DepthwiseConv;
pub use filters::Filters;
pub use float::{Conv, FilterSource};
pub use integer::ConvInt;
pub use transposed::ConvTranspose;

use super::window::Window;

/// Sizes of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvShape {
    pub batch: usize,
    /// Each group convolves its own channels with its own filters.
    pub groups: usize,
    /// Channels of the image in one group.
    pub channels: usize,
    /// Channels of the output in one group.
    pub filters: usize,
    pub window: Window,
}

impl ConvShape {
    /// Elements of a filter: the depth of the product.
    pub fn depth(&self) -> usize {
        self.channels * self.window.taps()
    }

    /// Channels of the output of all images.
    fn planes(&self) -> usize {
        self.batch * self.groups * self.filters
    }
}

impl std::fmt::Display for ConvShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { batch, groups, channels, filters, window } = self;
        write!(f, "batch={batch} groups={groups} channels={channels} filters={filters} {window}")
    }
}

#[cfg(test)]
mod tests;
