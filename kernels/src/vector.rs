//! Loops over contiguous numbers, by the vectors of the worker's core where a micro-kernel is in the table. `None` and `false`
//! mean that the core has none, and that the caller is to run its portable form.

mod nbits;
mod rotate;

use half::f16;

use crate::rt::Worker;
use crate::table::{
    Armed, BINARY_F32, COMPARE_F32, CONVERT_F16_F32, CONVERT_F32_F16, EXP_SUM_F32, Family, NORMALIZE_F32,
    QUANTIZE_F32_U8, REDUCE_F32, RESCALE_I32_F32, SELECT, TRANSPOSE, UNARY_F32, Variant,
};
use crate::ukr::binary_f32::{self, BinaryF32};
use crate::ukr::compare_f32::{self, CompareF32, Relation};
use crate::ukr::normalize_f32::{self, NormalizeF32};
use crate::ukr::reduce_f32::{self, Reduction};
use crate::ukr::unary_f32::{self, UnaryF32};
use crate::ukr::{convert_f16_f32, convert_f32_f16, exp_sum_f32, quantize_f32_u8, rescale_i32_f32, select, transpose};

pub(crate) use nbits::{dequantize, quantize_groups, unpack};
pub(crate) use rotate::{rotate, rotate_in_place};

fn find<'w, F: Family<Spec: PartialEq>>(
    worker: &Worker<'w>,
    rows: &'static [Variant<F>],
    spec: F::Spec,
) -> Option<Armed<'w, F>> {
    rows.iter().filter(|row| row.spec == spec).find_map(|row| row.arm(worker))
}

/// `y = function(x)`
pub(crate) struct Unary<'w> {
    kernel: Armed<'w, UnaryF32>,
    parameters: [f32; 2],
}

impl<'w> Unary<'w> {
    pub fn new(worker: &Worker<'w>, function: unary_f32::Function, parameters: [f32; 2]) -> Option<Self> {
        find(worker, UNARY_F32, function).map(|kernel| Self { kernel, parameters })
    }

    /// # Panics
    /// When the lengths differ.
    pub fn map(&self, x: &[f32], y: &mut [f32]) {
        assert_eq!(x.len(), y.len());
        self.call(x.as_ptr(), y);
    }

    pub fn map_in_place(&self, y: &mut [f32]) {
        self.call(y.as_ptr(), y);
    }

    fn call(&self, x: *const f32, y: &mut [f32]) {
        let [alpha, beta] = self.parameters;
        let args = unary_f32::Args { x, y: y.as_mut_ptr(), len: y.len(), alpha, beta };
        // SAFETY: both callers pass as many numbers of `x` as `y` has.
        unsafe { self.kernel.call(&args) }
    }
}

/// `y = function(a, b)`, where an operand of one number repeats.
pub(crate) struct Binary<'w>(Armed<'w, BinaryF32>);

impl<'w> Binary<'w> {
    pub fn new(worker: &Worker<'w>, function: binary_f32::Function) -> Option<Self> {
        find(worker, BINARY_F32, function).map(Self)
    }

    /// # Panics
    /// When an operand has neither one number nor as many as `y`, or both have one and `y` more.
    pub fn map(&self, a: &[f32], b: &[f32], y: &mut [f32]) {
        let len = y.len();
        let (a_repeats, b_repeats) = (a.len() != len, b.len() != len);
        assert!((!a_repeats || a.len() == 1) && (!b_repeats || b.len() == 1) && !(a_repeats && b_repeats));
        let (a, b, y) = (a.as_ptr(), b.as_ptr(), y.as_mut_ptr());
        // SAFETY: the assertion makes the operands as long as `Args` wants them.
        unsafe { self.0.call(&binary_f32::Args { a, b, y, len, a_repeats, b_repeats }) }
    }

    /// `y = function(y, b)`
    ///
    /// # Panics
    /// When `b` has neither one number nor as many as `y`.
    pub fn map_in_place(&self, y: &mut [f32], b: &[f32]) {
        let (len, b_repeats) = (y.len(), b.len() != y.len());
        assert!(!b_repeats || b.len() == 1);
        let args =
            binary_f32::Args { a: y.as_ptr(), b: b.as_ptr(), y: y.as_mut_ptr(), len, a_repeats: false, b_repeats };
        // SAFETY: as above; `y` may be an operand.
        unsafe { self.0.call(&args) }
    }
}

/// `y = relation(a, b)` as 1 or 0, where an operand of one number repeats.
pub(crate) struct Compare<'w>(Armed<'w, CompareF32>);

impl<'w> Compare<'w> {
    pub fn new(worker: &Worker<'w>, relation: Relation) -> Option<Self> {
        find(worker, COMPARE_F32, relation).map(Self)
    }

    /// # Panics
    /// When an operand has neither one number nor as many as `y`, or both have one and `y` more.
    pub fn map(&self, a: &[f32], b: &[f32], y: &mut [u8]) {
        let len = y.len();
        let (a_repeats, b_repeats) = (a.len() != len, b.len() != len);
        assert!((!a_repeats || a.len() == 1) && (!b_repeats || b.len() == 1) && !(a_repeats && b_repeats));
        let (a, b, y) = (a.as_ptr(), b.as_ptr(), y.as_mut_ptr());
        // SAFETY: the assertion makes the operands as long as `Args` wants them.
        unsafe { self.0.call(&compare_f32::Args { a, b, y, len, a_repeats, b_repeats }) }
    }
}

/// `y = condition ? a : b` for elements of some width, where an operand of one element repeats.
pub(crate) struct Select<'w>(Armed<'w, select::Select>, usize);

impl<'w> Select<'w> {
    /// For elements of `size` bytes.
    pub fn new(worker: &Worker<'w>, size: usize) -> Option<Self> {
        find(worker, SELECT, size).map(|kernel| Self(kernel, size))
    }

    /// # Panics
    /// When the elements are of another width, `condition` has not as many as `y`, or an operand neither one nor as many.
    pub fn map<T: bytemuck::Pod>(&self, condition: &[u8], a: &[T], b: &[T], y: &mut [T]) {
        let len = y.len();
        assert_eq!((size_of::<T>(), condition.len()), (self.1, len));
        let (a_repeats, b_repeats) = (a.len() != len, b.len() != len);
        assert!((!a_repeats || a.len() == 1) && (!b_repeats || b.len() == 1));
        let (a, b, y) = (a.as_ptr().cast(), b.as_ptr().cast(), y.as_mut_ptr().cast());
        let args = select::Args { condition: condition.as_ptr(), a, b, y, len, a_repeats, b_repeats };
        // SAFETY: the assertions make the operands as long as `Args` wants them.
        unsafe { self.0.call(&args) }
    }
}

/// The two numbers of `reduction` over `x`; `shift` is that of moments.
pub(crate) fn reduce(worker: &Worker<'_>, reduction: Reduction, x: &[f32], shift: f32) -> Option<[f64; 2]> {
    let kernel = find(worker, REDUCE_F32, reduction)?;
    let mut result = [0.0; 2];
    // SAFETY: the slice has so many numbers, and `result` is ours.
    unsafe { kernel.call(&reduce_f32::Args { x: x.as_ptr(), len: x.len(), shift, result: &mut result }) };
    Some(result)
}

/// `y = exp(x - shift)` for numbers that are not larger than `shift`; the sum of `y`.
///
/// # Panics
/// When the lengths differ.
pub(crate) fn exp_sum(worker: &Worker<'_>, x: &[f32], y: &mut [f32], shift: f32) -> Option<f64> {
    assert_eq!(x.len(), y.len());
    // SAFETY: both have so many numbers.
    unsafe { exp_sums(worker, x.as_ptr(), y, shift) }
}

/// [`exp_sum`] of `y` itself.
pub(crate) fn exp_sum_in_place(worker: &Worker<'_>, y: &mut [f32], shift: f32) -> Option<f64> {
    // SAFETY: the numbers are `y`.
    unsafe { exp_sums(worker, y.as_ptr(), y, shift) }
}

/// Numbers that a kernel sums up in the lanes of its vectors.
const SUMMED: usize = 4096;

/// # Safety
/// There are as many numbers at `x` as in `y`.
unsafe fn exp_sums(worker: &Worker<'_>, x: *const f32, y: &mut [f32], shift: f32) -> Option<f64> {
    let kernel = find(worker, EXP_SUM_F32, ())?;
    let sum = |(index, y): (usize, &mut [f32])| {
        let mut sum = 0.0;
        // SAFETY: a part of the numbers for each part of `y`, which may be the same, and `sum` is ours.
        unsafe {
            let x = x.add(index * SUMMED);
            kernel.call(&exp_sum_f32::Args { x, y: y.as_mut_ptr(), len: y.len(), shift, sum: &mut sum });
        }
        sum
    };
    Some(y.chunks_mut(SUMMED).enumerate().map(sum).sum())
}

/// `y = ((x - mean) - residue) * scale * gamma + beta` for moments `[mean, residue, scale]` and weights `[gamma, beta]`
pub(crate) struct Normalize<'w>(Armed<'w, NormalizeF32>);

impl<'w> Normalize<'w> {
    pub fn new(worker: &Worker<'w>) -> Option<Self> {
        find(worker, NORMALIZE_F32, ()).map(Self)
    }

    /// # Panics
    /// When `x`, or a weight that is given, has another length than `y`.
    pub fn map(&self, x: &[f32], y: &mut [f32], moments: [f32; 3], weights: [Option<&[f32]>; 2]) {
        assert_eq!(x.len(), y.len());
        self.call(x.as_ptr(), y, moments, weights);
    }

    /// # Panics
    /// When a weight that is given has another length than `y`.
    pub fn map_in_place(&self, y: &mut [f32], moments: [f32; 3], weights: [Option<&[f32]>; 2]) {
        self.call(y.as_ptr(), y, moments, weights);
    }

    fn call(&self, x: *const f32, y: &mut [f32], [mean, residue, scale]: [f32; 3], weights: [Option<&[f32]>; 2]) {
        let [gamma, beta] = weights.map(|weights| {
            weights.map_or(std::ptr::null(), |weights| {
                assert_eq!(weights.len(), y.len());
                weights.as_ptr()
            })
        });
        let (len, y) = (y.len(), y.as_mut_ptr());
        let args = normalize_f32::Args { x, y, gamma, beta, len, mean, residue, scale };
        // SAFETY: both callers pass as many numbers of `x` as `y` has, and the weights are null or as long.
        unsafe { self.0.call(&args) }
    }
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
fn pointer<T>(numbers: &[T]) -> *const T {
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

/// `y` takes every element of `x` that is a multiple of `stride` from its beginning.
///
/// # Panics
/// When `x` is too short.
pub(crate) fn gather<T: bytemuck::Pod>(worker: &Worker<'_>, x: &[T], stride: usize, y: &mut [T]) -> bool {
    let len = y.len();
    transpose(worker, x, stride, y, len, [1, len])
}
