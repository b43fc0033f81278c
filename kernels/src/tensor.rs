//! Element types and borrowed tensors.

use smallvec::SmallVec;

/// Dimensions of a tensor, outermost first.
pub type Dims = SmallVec<[usize; 6]>;

/// Element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    F32,
    F16,
    BF16,
    F64,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    /// One byte an element, 0 or 1.
    Bool,
    /// Two's complement in half a byte, the first of two elements in the low half. Of constants only.
    I4,
    /// Half a byte, the first of two elements in the low half. Of constants only.
    U4,
}

impl DType {
    /// Bytes an element takes, those of a byte in parts aside; also its alignment.
    pub const fn size(self) -> usize {
        match self {
            DType::I8 | DType::U8 | DType::Bool | DType::I4 | DType::U4 => 1,
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => 2,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F64 | DType::I64 | DType::U64 => 8,
        }
    }

    /// Whether elements share a byte.
    pub const fn is_nibble(self) -> bool {
        matches!(self, DType::I4 | DType::U4)
    }

    /// Bytes of so many elements; `None` when they overflow `usize`.
    pub fn bytes(self, elements: usize) -> Option<usize> {
        if self.is_nibble() { Some(elements.div_ceil(2)) } else { elements.checked_mul(self.size()) }
    }

    /// Lower-case name, e.g. `f32`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F64 => "f64",
            DType::I8 => "i8",
            DType::U8 => "u8",
            DType::I16 => "i16",
            DType::U16 => "u16",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::I64 => "i64",
            DType::U64 => "u64",
            DType::Bool => "bool",
            DType::I4 => "i4",
            DType::U4 => "u4",
        }
    }

    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::BF16 | DType::F64)
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type that is the element of a tensor. `u8` also stands for [`DType::Bool`].
pub trait Element: bytemuck::Pod + Send + Sync {
    const DTYPE: DType;
}

macro_rules! element {
    ($($t:ty => $d:ident),*) => { $(impl Element for $t { const DTYPE: DType = DType::$d; })* };
}
element!(f32 => F32, half::f16 => F16, half::bf16 => BF16, f64 => F64, i8 => I8, u8 => U8, i16 => I16,
         u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64);

/// A contiguous row-major tensor that somebody else owns.
#[derive(Clone, Copy, Debug)]
pub struct TensorView<'a> {
    pub dtype: DType,
    pub dims: &'a [usize],
    /// `product(dims) * dtype.size()` bytes, aligned to `dtype.size()`.
    pub bytes: &'a [u8],
}

/// Number of elements, or `None` when the product overflows `usize`.
pub fn checked_elements(dims: &[usize]) -> Option<usize> {
    // A zero anywhere makes the tensor empty, whatever the other dimensions claim.
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim))
}

/// Number of elements; `usize::MAX` when the product overflows, as it may for part of an empty tensor's dimensions.
pub fn elements(dims: &[usize]) -> usize {
    checked_elements(dims).unwrap_or(usize::MAX)
}

/// Row-major strides in elements; they saturate, which only those of an empty tensor can.
pub fn row_major_strides(dims: &[usize]) -> Dims {
    let mut strides = Dims::from_elem(1, dims.len());
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(dims[axis]);
    }
    strides
}
