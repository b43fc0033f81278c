use std::fmt;

use rten_tensor::Matrix;
use rten_tensor::prelude::*;

use super::{PackLayout, pack_columns};
use crate::driver::RunError;
use crate::host::{self, F32Panels, I8Panels};
use crate::mem::AlignedBuf;
use crate::tensor::Element;

/// A constant right-hand side `B` of shape `[k, n]`, packed once and read by any number of drivers.
///
/// Its identity, beside the contents of `B`, is the [`PackLayout`].
pub struct PackedWeights {
    layout: PackLayout,
    k: usize,
    n: usize,
    storage: Storage,
    /// Sums of the columns as stored; empty for floats.
    column_sums: Box<[i32]>,
    /// What was subtracted from every element before it was stored.
    offset: i32,
}

enum Storage {
    Planned,
    HostF32(F32Panels),
    HostI8(I8Panels),
    Panels(AlignedBuf),
}

/// Elements of a weight.
#[derive(Clone, Copy, Debug)]
pub enum WeightData<'a> {
    F32(&'a [f32]),
    I8(&'a [i8]),
    U8(&'a [u8]),
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
        match (layout, source.data) {
            (PackLayout::HostF32, WeightData::F32(data)) => {
                let storage = Storage::HostF32(F32Panels::pack(source.matrix(data)?));
                Ok(Self { storage, ..Self::planned(layout, k, n) })
            }
            (PackLayout::F32P32X1, WeightData::F32(data)) => {
                let panels = pack_columns(source.matrix(data)?, layout.panel(), layout.k_group());
                Ok(Self { storage: Storage::Panels(panels), ..Self::planned(layout, k, n) })
            }
            (_, WeightData::I8(data)) => Self::pack_i8(layout, source.matrix(data)?, 0),
            (_, WeightData::U8(data)) => {
                let signed: Vec<i8> = data.iter().map(|&x| (x ^ 0x80) as i8).collect();
                Self::pack_i8(layout, source.matrix(&signed)?, 128)
            }
            _ => Err(PackError::Element { layout }),
        }
    }

    fn pack_i8(layout: PackLayout, b: Matrix<'_, i8>, offset: i32) -> Result<Self, PackError> {
        let storage = match layout {
            PackLayout::HostI8 => Storage::HostI8(I8Panels::pack(b)),
            PackLayout::I8P4X8 | PackLayout::I8P8X16 => {
                Storage::Panels(pack_columns(b, layout.panel(), layout.k_group()))
            }
            PackLayout::HostF32 | PackLayout::F32P32X1 => return Err(PackError::Element { layout }),
        };
        let sum = |column| b.slice((.., column)).iter().map(|&x: &i8| i32::from(x)).sum();
        let column_sums = (0..b.size(1)).map(sum).collect();
        Ok(Self { storage, column_sums, offset, ..Self::planned(layout, b.size(0), b.size(1)) })
    }

    /// The shape of a weight without its contents, to plan with. Running with it is [`RunError::Weights`].
    pub fn planned(layout: PackLayout, k: usize, n: usize) -> Self {
        Self { layout, k, n, storage: Storage::Planned, column_sums: Box::default(), offset: 0 }
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

    pub(crate) fn host_f32(&self) -> Result<&F32Panels, RunError> {
        match &self.storage {
            Storage::HostF32(panels) => Ok(panels),
            _ => Err(self.mismatch(PackLayout::HostF32)),
        }
    }

    pub(crate) fn host_i8(&self) -> Result<&I8Panels, RunError> {
        match &self.storage {
            Storage::HostI8(panels) => Ok(panels),
            _ => Err(self.mismatch(PackLayout::HostI8)),
        }
    }

    /// The panels of `layout`, a layout of the chips.
    pub(crate) fn panels<T: Element>(&self, layout: PackLayout) -> Result<&[T], RunError> {
        match &self.storage {
            Storage::Panels(panels) if self.layout == layout => Ok(bytemuck::cast_slice(panels)),
            _ => Err(self.mismatch(layout)),
        }
    }

    /// Sums of the columns of an integer weight as stored.
    pub(crate) fn column_sums(&self) -> &[i32] {
        &self.column_sums
    }

    /// Element `x` of an integer weight is stored as `x - offset`.
    pub(crate) fn offset(&self) -> i32 {
        self.offset
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
