//! Loops over contiguous numbers, by the vectors of the worker's core where a micro-kernel is in the table. `None` and `false`
//! mean that the core has none, and that the caller is to run its portable form.

mod columns;
mod elementwise;
mod halves;
mod nbits;
pub(crate) mod rotate;
mod rows;
mod stream;

use half::f16;

use crate::rt::Worker;
use crate::table::{
    Armed, CONVERT_F16_F32, CONVERT_F32_F16, Family, PACK_ROWS, QUANTIZE_F32_U8, RESCALE_I32_F32, TRANSPOSE, Variant,
};
use crate::ukr::{convert_f16_f32, convert_f32_f16, pack_rows, quantize_f32_u8, rescale_i32_f32, transpose};

pub(crate) use columns::{COLUMNS, STEP, SoftmaxColumns};
pub(crate) use elementwise::{Binary, Compare, Select, Unary};
pub(crate) use halves::{Groups, interleave, pack_halves, power_of_two, tile};
pub(crate) use nbits::{dequantize, quantize_groups, unpack};
pub(crate) use rotate::{rotate, rotate_in_place};
pub(crate) use rows::{ExpSum, Normalize, ROWS, Reduce, ReduceRows, exp_sum_in_place, reduce, rows_together};
pub(crate) use stream::{Rows, row_dots, row_sums, shrink};

fn find<'w, F: Family<Spec: PartialEq>>(
    worker: &Worker<'w>,
    rows: &'static [Variant<F>],
    spec: F::Spec,
) -> Option<Armed<'w, F>> {
    rows.iter().filter(|row| row.spec == spec).find_map(|row| row.arm(worker))
}

/// `y = saturate(round_half_even(x / scale) + zero_point)` in u8, its bits `flip` flipped.
///
/// # Panics
/// When the lengths differ.
pub(crate) fn quantize(worker: &Worker<'_>, x: &[f32], y: &mut [u8], scale: f32, zero_point: u8, flip: u8) -> bool {
    assert_eq!(x.len(), y.len());
    let zero_point = zero_point.into();
    let args = quantize_f32_u8::Args { x: x.as_ptr(), y: y.as_mut_ptr(), len: y.len(), scale, zero_point, flip };
    // SAFETY: both slices have so many numbers.
    find(worker, QUANTIZE_F32_U8, ()).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}

/// Integer sums of a block, and what belongs to its columns and rows.
pub(crate) struct Rescale<'a> {
    /// Rows of at least as many numbers as there are columns.
    pub sums: &'a [i32],
    /// Numbers from one row to the next.
    pub stride: usize,
    pub column_sums: &'a [i32],
    /// Empty when all are 0.
    pub b_zero_points: &'a [i32],
    pub b_scales: &'a [f32],
    /// Empty where there is none.
    pub bias: &'a [f32],
    pub a_zero_points: &'a [i32],
    pub row_sums: &'a [i32],
    pub a_scale: f32,
}

impl Rescale<'_> {
    /// `y = float(sum - az s - bz r) * (a_scale b_scale) + bias` for some rows; those of `y` are `y_stride` numbers apart.
    ///
    /// # Safety
    /// The caller may write so many numbers of each row of `y`.
    ///
    /// # Panics
    /// When an operand is too short.
    pub unsafe fn store(self, worker: &Worker<'_>, [rows, columns]: [usize; 2], y: *mut f32, y_stride: usize) -> bool {
        let of_columns = |len: usize| len == columns;
        assert!(of_columns(self.column_sums.len()) && of_columns(self.b_scales.len()));
        assert!([0, columns].contains(&self.b_zero_points.len()) && [0, columns].contains(&self.bias.len()));
        assert!(self.a_zero_points.len() >= rows && (self.b_zero_points.is_empty() || self.row_sums.len() >= rows));
        assert!(rows == 0 || self.sums.len() >= (rows - 1) * self.stride + columns);
        let args = rescale_i32_f32::Args {
            sums: self.sums.as_ptr(),
            sums_stride: self.stride * size_of::<i32>(),
            column_sums: self.column_sums.as_ptr(),
            b_zero_points: pointer(self.b_zero_points),
            b_scales: self.b_scales.as_ptr(),
            bias: pointer(self.bias),
            y,
            y_stride: y_stride * size_of::<f32>(),
            rows,
            columns,
            a_zero_points: self.a_zero_points.as_ptr(),
            row_sums: self.row_sums.as_ptr(),
            a_scale: self.a_scale,
        };
        // SAFETY: the assertions make all operands long enough, and the caller lends `y`.
        find(worker, RESCALE_I32_F32, ()).map(|kernel| unsafe { kernel.call(&args) }).is_some()
    }
}

/// Null for no numbers.
pub(crate) fn pointer<T>(numbers: &[T]) -> *const T {
    if numbers.is_empty() { std::ptr::null() } else { numbers.as_ptr() }
}

/// # Panics
/// When the lengths differ.
pub(crate) fn widen(worker: &Worker<'_>, x: &[f16], y: &mut [f32]) -> bool {
    assert_eq!(x.len(), y.len());
    let args = convert_f16_f32::Args { x: x.as_ptr(), y: y.as_mut_ptr(), len: y.len() };
    // SAFETY: both slices have so many numbers.
    find(worker, CONVERT_F16_F32, ()).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}

/// # Panics
/// When the lengths differ.
pub(crate) fn narrow(worker: &Worker<'_>, x: &[f32], y: &mut [f16]) -> bool {
    assert_eq!(x.len(), y.len());
    let args = convert_f32_f16::Args { x: x.as_ptr(), y: y.as_mut_ptr(), len: y.len() };
    // SAFETY: both slices have so many numbers.
    find(worker, CONVERT_F32_F16, ()).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}

/// Row `r` of `y`, `y_stride` elements behind the row before, takes element `r` of each of `columns` columns of `x`, which
/// are `x_stride` elements apart.
///
/// # Panics
/// When an operand is too short.
pub(crate) fn transpose<T: bytemuck::Pod>(
    worker: &Worker<'_>,
    x: &[T],
    x_stride: usize,
    y: &mut [T],
    y_stride: usize,
    [rows, columns]: [usize; 2],
) -> bool {
    if rows == 0 || columns == 0 {
        return true;
    }
    assert!(x.len() >= (columns - 1) * x_stride + rows && y.len() >= (rows - 1) * y_stride + columns);
    let args = transpose::Args {
        x: x.as_ptr().cast(),
        x_stride: (x_stride * size_of::<T>()) as isize,
        y: y.as_mut_ptr().cast(),
        y_stride: y_stride * size_of::<T>(),
        rows,
        columns,
    };
    // SAFETY: the assertion makes both operands long enough.
    find(worker, TRANSPOSE, size_of::<T>()).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}

/// Packs rows of `k` elements, `x_stride` elements apart, as `[k / k_group][width][k_group]`, with zeros where they end.
///
/// # Panics
/// When an operand is too short.
pub(crate) fn pack_rows<T: bytemuck::Pod>(
    worker: &Worker<'_>,
    (x, x_stride): (&[T], usize),
    [rows, k]: [usize; 2],
    [width, k_group]: [usize; 2],
    y: &mut [T],
) -> bool {
    if k_group * size_of::<T>() != pack_rows::GROUP || rows == 0 || k == 0 {
        return false;
    }
    assert!(rows <= width && x.len() >= (rows - 1) * x_stride + k && y.len() >= k.div_ceil(k_group) * width * k_group);
    let args = pack_rows::Args {
        x: x.as_ptr().cast(),
        x_stride: x_stride * size_of::<T>(),
        rows,
        bytes: k * size_of::<T>(),
        y: y.as_mut_ptr().cast(),
    };
    // SAFETY: the assertion makes both operands long enough.
    find(worker, PACK_ROWS, width).map(|kernel| unsafe { kernel.call(&args) }).is_some()
}

/// `y` takes every element of `x` that is a multiple of `stride` from its beginning.
///
/// # Panics
/// When `x` is too short.
pub(crate) fn gather<T: bytemuck::Pod>(worker: &Worker<'_>, x: &[T], stride: usize, y: &mut [T]) -> bool {
    let len = y.len();
    transpose(worker, x, stride, y, len, [1, len])
}
