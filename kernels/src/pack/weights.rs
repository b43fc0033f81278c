use std::fmt;

use half::f16;
use rten_tensor::Matrix;
use rten_tensor::prelude::*;

use super::{PackLayout, Rows, pack_panels, panel_len};
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
    F16(&'a [f16]),
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
        let storage = match (layout, source.data) {
            (PackLayout::HostF32, WeightData::F32(data)) => Storage::HostF32(F32Panels::pack(source.matrix(data)?)),
            (PackLayout::F32P32X1, WeightData::F32(data)) => Storage::Panels(source.panels(data, layout)?),
            (PackLayout::F16P32X1 | PackLayout::F16P32X8, WeightData::F16(data)) => {
                Storage::Panels(source.panels(data, layout)?)
            }
            (_, WeightData::I8(data)) => return Self::pack_i8(layout, source, data, 0),
            (_, WeightData::U8(data)) => {
                let signed: Vec<i8> = data.iter().map(|&x| (x ^ 0x80) as i8).collect();
                return Self::pack_i8(layout, source, &signed, 128);
            }
            _ => return Err(PackError::Element { layout }),
        };
        Ok(Self { storage, ..Self::planned(layout, k, n) })
    }

    fn pack_i8(layout: PackLayout, source: WeightSource<'_>, data: &[i8], offset: i32) -> Result<Self, PackError> {
        let b = source.matrix(data)?;
        let storage = match layout {
            PackLayout::HostI8 => Storage::HostI8(I8Panels::pack(b)),
            PackLayout::I8P32X1 | PackLayout::I8P16X8 | PackLayout::I8P32X16 => {
                Storage::Panels(source.panels(data, layout)?)
            }
            PackLayout::HostF32 | PackLayout::F32P32X1 | PackLayout::F16P32X1 | PackLayout::F16P32X8 => {
                return Err(PackError::Element { layout });
            }
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

    /// Panel `index` of `layout`, a layout of the chips.
    pub(crate) fn panel<T: Element>(&self, layout: PackLayout, index: usize) -> Result<&[T], RunError> {
        match &self.storage {
            Storage::Panels(panels) if self.layout == layout => {
                let len = panel_len(layout.panel(), self.k, layout.k_group());
                Ok(&bytemuck::cast_slice(panels)[index * len..(index + 1) * len])
            }
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
        self.check(data.len())?;
        Ok(host::matrix(data, [self.k, self.n], if self.transposed { [1, self.k] } else { [self.n, 1] }))
    }

    fn panels<T: Element>(&self, data: &[T], layout: PackLayout) -> Result<AlignedBuf, PackError> {
        self.check(data.len())?;
        let strides = if self.transposed { [self.k, 1] } else { [1, self.n] };
        let columns = Rows { data, rows: self.n, k: self.k, strides };
        Ok(pack_panels(columns, layout.panel(), layout.k_group()))
    }

    fn check(&self, given: usize) -> Result<(), PackError> {
        let (k, n) = (self.k, self.n);
        if k.checked_mul(n) == Some(given) { Ok(()) } else { Err(PackError::Size { given, k, n }) }
    }
}

impl fmt::Debug for PackedWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackedWeights({} k={} n={})", self.layout, self.k, self.n)
    }
}
