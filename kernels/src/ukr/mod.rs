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
mod ime2_transpose;
mod in_place;
pub mod interleave_f32_f16;
pub(crate) mod lines;
pub mod matmul_f16_f16_f32;
pub mod matmul_f32_f32_f32;
pub mod matmul_nbits;
pub mod matmul_u8_i8_i32;
pub mod matvec_nbits;
pub mod normalize_f32;
#[cfg(target_arch = "riscv64")]
mod operands;
pub mod pack_f32_f16;
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
