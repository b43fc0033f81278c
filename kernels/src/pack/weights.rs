use std::fmt;
use std::ops::Range;

use rten_tensor::Matrix;

use super::PackLayout;
use crate::driver::RunError;
use crate::host::{self, F32Panels};

/// A constant right-hand side `B` of shape `[k, n]`, packed once and read by any number of drivers.
///
/// Its identity, beside the contents of `B`, is the [`PackLayout`].
pub struct PackedWeights {
    layout: PackLayout,
    k: usize,
    n: usize,
    storage: Storage,
}

enum Storage {
    Planned,
    HostF32(F32Panels),
}

/// Elements of a weight.
#[derive(Clone, Copy, Debug)]
pub enum WeightData<'a> {
    F32(&'a [f32]),
}

/// A weight as the model holds it.
#[derive(Clone, Copy, Debug)]
pub struct WeightSource<'a> {
    pub data: WeightData<'a>,
    pub k: usize,
    pub n: usize,
    /// `data` is row-major `[n, k]` instead of `[k, n]`.
    pub transposed: bool,
}

/// Why a weight cannot be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackError {
    /// The data do not have `k * n` elements.
    Size { given: usize, k: usize, n: usize },
    /// The layout holds elements of another type.
    Element { layout: PackLayout },
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PackError::Size { given, k, n } => write!(f, "a weight of {k} x {n} has {given} elements"),
            PackError::Element { layout } => write!(f, "the layout {layout} holds elements of another type"),
        }
    }
}

impl std::error::Error for PackError {}

impl PackedWeights {
    /// Packs `source`, in parallel when called inside a rayon pool.
    ///
    /// # Errors
    /// [`PackError`] when the number or type of the elements is wrong.
    pub fn pack(layout: PackLayout, source: WeightSource<'_>) -> Result<Self, PackError> {
        let WeightSource { k, n, .. } = source;
        let storage = match (layout, source.data) {
            (PackLayout::HostF32, WeightData::F32(data)) => Storage::HostF32(F32Panels::pack(source.matrix(data)?)),
        };
        Ok(Self { layout, k, n, storage })
    }

    /// The shape of a weight without its contents, to plan with. Running with it is [`RunError::Weights`].
    pub fn planned(layout: PackLayout, k: usize, n: usize) -> Self {
        Self { layout, k, n, storage: Storage::Planned }
    }

    pub fn layout(&self) -> PackLayout {
        self.layout
    }

    pub fn k(&self) -> usize {
        self.k
    }

    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of panels.
    pub(crate) fn panels(&self) -> usize {
        self.n.div_ceil(self.layout.panel())
    }

    /// Columns of panel `panel`; the last may have fewer than the layout says.
    pub(crate) fn columns(&self, panel: usize) -> Range<usize> {
        let width = self.layout.panel();
        panel * width..((panel + 1) * width).min(self.n)
    }

    pub(crate) fn host_f32(&self) -> Result<&F32Panels, RunError> {
        match &self.storage {
            Storage::HostF32(panels) => Ok(panels),
            _ => Err(self.mismatch(PackLayout::HostF32)),
        }
    }

    fn mismatch(&self, wanted: PackLayout) -> RunError {
        let state = if matches!(self.storage, Storage::Planned) { "planned but never packed" } else { "packed" };
        RunError::Weights(format!("a weight of layout {} is {state}; the step reads {wanted}", self.layout))
    }
}

impl WeightSource<'_> {
    fn matrix<'a, T>(&self, data: &'a [T]) -> Result<Matrix<'a, T>, PackError> {
        let (k, n) = (self.k, self.n);
        if k.checked_mul(n) != Some(data.len()) {
            return Err(PackError::Size { given: data.len(), k, n });
        }
        Ok(host::matrix(data, [k, n], if self.transposed { [1, k] } else { [n, 1] }))
    }
}

impl fmt::Debug for PackedWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackedWeights({} k={} n={})", self.layout, self.k, self.n)
    }
}
