//! Micro-kernels: a folder for each family, named `<op>_<lhs>_<rhs>_<out>`. The innermost loops of the chips live here, and
//! beside them, for each layout, a scalar twin that any machine can run.

pub mod binary_f32;
#[cfg(target_arch = "riscv64")]
mod broadcast;
pub mod column_max_f32;
pub mod compare_f32;
pub mod convert_f16_f32;
pub mod convert_f32_f16;
pub mod dequantize_i8_f32;
pub mod dequantize_nbits_f16;
#[cfg(target_arch = "riscv64")]
mod dot;
pub mod exp_columns_f32;
pub mod exp_sum_f32;
#[cfg(target_arch = "riscv64")]
mod ime2;
#[cfg(target_arch = "riscv64")]
mod ime2_rows;
#[cfg(target_arch = "riscv64")]
mod ime2_transpose;
mod in_place;
pub mod interleave_f32_f16;
pub(crate) mod lines;
pub mod matmul_bias_f16_f16_f32;
pub mod matmul_f16_f16_f32;
pub mod matmul_f32_f32_f32;
pub mod matmul_nbits;
pub mod matmul_u8_i8_f32;
pub mod matmul_u8_i8_i32;
pub mod matvec_nbits;
pub mod normalize_f32;
#[cfg(target_arch = "riscv64")]
mod operands;
pub mod pack_f32_f16;
pub mod pack_rows;
pub mod quantize_f32_i8;
pub mod quantize_f32_u8;
pub mod reduce_f32;
pub mod reduce_rows_f32;
pub mod rescale_i32_f32;
pub mod rotate_f32;
#[cfg(target_arch = "riscv64")]
mod rounds;
pub mod row_dots_f32;
pub mod row_sums_f32;
pub mod select;
pub mod tile_f16;
pub mod transpose;
pub mod unary_f32;
pub mod unpack_i8;

pub use in_place::{InPlace, ROWS, Widths};
pub use lines::Ahead;
pub(crate) use lines::prefetch;

/// One block of a matrix product `C = A x B`: some rows by one panel of columns, both sides packed.
///
/// With the tile `m x n x k` of the variant, `p` columns in a panel of its layout and `rows` a multiple of `m`, at least one, and up to
/// that of its block unless `m` is 1:
///
/// - `A` is `[k_groups][rows][k]`, `B` is `[k_groups][p][k]`, both without gaps. `k_groups` may be 0.
/// - `C` is row-major; `rows` rows of `p` numbers are written, or added to when `accumulate` is set.
#[repr(C)]
pub struct MatMulArgs<A, B, C> {
    pub a: *const A,
    pub b: *const B,
    pub c: *mut C,
    /// Bytes from one row of `C` to the next.
    pub c_stride: usize,
    pub k_groups: usize,
    pub rows: usize,
    pub accumulate: bool,
    /// What is read next. Not all variants ask for it.
    pub ahead: Ahead,
}

/// Columns of a panel of the layouts whose kernels finish their sums.
pub const PANEL: usize = 32;

/// One block of a matrix product whose kernel finishes the sums, instead of storing them: `A` and `B` are packed as for
/// [`MatMulArgs`], `A` with the rows of whole tiles.
#[repr(C)]
pub struct FinishArgs<A, B, P> {
    pub a: *const A,
    pub b: *const B,
    pub k_groups: usize,
    /// What belongs to the columns of the panel.
    pub columns: *const P,
    /// One for each row of `y`, or null where all are 0.
    pub row_factors: *const i32,
    /// [`PANEL`] numbers in each of `rows` rows, which are `y_stride` bytes apart.
    pub y: *mut f32,
    pub y_stride: usize,
    /// At least one; those of `A` are the next multiple of the tile's.
    pub rows: usize,
    /// What is read next, eight lines with each group.
    pub ahead: Ahead,
}

/// The scalar twin of kernels that finish sums of up to 16 rows in groups of `K`; `finish(row, column, sum)` is what is stored.
///
/// # Safety
/// The contract of [`FinishArgs`].
unsafe fn scalar_finish<A: Copy, B: Copy, C: Copy + Default, P, const K: usize>(
    args: &FinishArgs<A, B, P>,
    mul_add: impl Fn(C, A, B) -> C,
    finish: impl Fn(usize, usize, C) -> f32,
) {
    let mut sums = [[C::default(); PANEL]; 16];
    let products = MatMulArgs {
        a: args.a,
        b: args.b,
        c: sums.as_mut_ptr().cast::<C>(),
        c_stride: size_of_val(&sums[0]),
        k_groups: args.k_groups,
        rows: args.rows.next_multiple_of(8),
        accumulate: false,
        ahead: Ahead::NONE,
    };
    // SAFETY: the operands are the caller's, and a block has at most so many rows.
    unsafe { scalar::<A, B, C, PANEL, K>(&products, mul_add) };
    for (row, sums) in sums[..args.rows].iter().enumerate() {
        for (column, &sum) in sums.iter().enumerate() {
            // SAFETY: the contract gives each row of `y` so many numbers.
            unsafe { args.y.byte_add(row * args.y_stride).add(column).write(finish(row, column, sum)) };
        }
    }
}

/// The scalar twin of a layout with panels of `P` columns in groups of `K`; `mul_add(sum, a, b)` is `sum + a b`.
///
/// # Safety
/// The contract of [`MatMulArgs`].
unsafe fn scalar<A: Copy, B: Copy, C: Copy + Default, const P: usize, const K: usize>(
    args: &MatMulArgs<A, B, C>,
    mul_add: impl Fn(C, A, B) -> C,
) {
    for row in 0..args.rows {
        // SAFETY: the contract makes these columns part of `C`.
        let c = unsafe { args.c.byte_add(row * args.c_stride) };
        let mut sums = [C::default(); P];
        if args.accumulate {
            // SAFETY: and as numbers that are there already.
            unsafe { c.copy_to_nonoverlapping(sums.as_mut_ptr(), P) };
        }
        for group in 0..args.k_groups {
            // SAFETY: the contract gives both sides `k_groups` groups of so many numbers.
            let (a, b) = unsafe {
                let a = args.a.add((group * args.rows + row) * K);
                (&*a.cast::<[A; K]>(), &*args.b.add(group * P * K).cast::<[[B; K]; P]>())
            };
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = a.iter().zip(b).fold(*sum, |sum, (&a, &b)| mul_add(sum, a, b));
            }
        }
        // SAFETY: as above.
        unsafe { c.copy_from_nonoverlapping(sums.as_ptr(), P) };
    }
}
