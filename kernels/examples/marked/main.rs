//! Calls the micro-kernels of this core, each between two instructions that mark the call, for `cargo xtask riscv counts`.
//!
//! The first line that it prints tells the program's place in memory; every other line tells of one call the family, the
//! kernel, the shape, and how many products of two numbers, or numbers, it is worth.

mod few_bits;

use kernels::isa::{Engine, Isa, isa_of_this_thread};
use kernels::table::*;
use kernels::ukr::{Ahead, MatMulArgs, binary_f32, column_max_f32, convert_f16_f32, convert_f32_f16, exp_columns_f32};
use kernels::ukr::{exp_sum_f32, interleave_f32_f16, normalize_f32, quantize_f32_u8, reduce_f32, rescale_i32_f32};
use kernels::ukr::{reduce_rows_f32, rotate_f32, tile_f16, transpose, unary_f32};

/// Depths of matrix products.
const DEPTHS: [usize; 2] = [64, 512];
/// Numbers that a vector kernel is given.
const LEN: usize = 1024;
/// Rows and columns of a transpose.
const SIDE: usize = 64;

fn main() {
    // SAFETY: reads a value that the kernel gave to the process.
    println!("entry {:#x}", unsafe { libc::getauxval(libc::AT_ENTRY) });
    matmul(MATMUL_U8_I8_I32);
    matmul(MATMUL_F16_F16_F32);
    matmul(MATMUL_F32_F32_F32);
    few_bits::all();
    vectors();
    transposes();
}

/// What this core executes; the emulator of the matrix instructions is preloaded.
fn isa() -> Isa {
    let isa = isa_of_this_thread();
    Isa { ime1: isa.vlen == 256, ime2: isa.vlen == 1024, ..isa }
}

/// Calls the kernel of `row` if this core has it; `work` is what the call is worth.
///
/// # Safety
/// The contract of `F::Args`.
unsafe fn call<F: Family>(row: &Variant<F>, shape: &str, work: usize, args: &F::Args) {
    let is_measured = row.needs.engine != Engine::Scalar && row.needs.met_by(isa());
    let Some(run) = row.run.filter(|_| is_measured) else { return };
    println!("call {} {} {shape} {work}", F::NAME, row.name);
    // SAFETY: the core meets the needs; the caller answers for `args`.
    unsafe { call_between_marks(run, args) };
}

/// The marks are hints without effect.
#[cfg(target_arch = "riscv64")]
unsafe fn call_between_marks<A>(run: unsafe fn(&A), args: &A) {
    // SAFETY: the callee is a Rust function of one pointer, which takes it where C does; the caller answers for it.
    unsafe {
        std::arch::asm!(
            "xori zero, zero, 1",
            "jalr t0",
            "xori zero, zero, 2",
            in("a0") args,
            in("t0") run,
            clobber_abi("C"),
        );
    }
}

#[cfg(not(target_arch = "riscv64"))]
unsafe fn call_between_marks<A>(run: unsafe fn(&A), args: &A) {
    // SAFETY: the caller's promise.
    unsafe { run(args) }
}

/// Products of one tile of rows and of a whole block, by one panel.
fn matmul<F: MatMulFamily>(rows: &[Variant<F>]) {
    for row in rows {
        let (tile, panel) = (row.spec.tile, row.spec.layout.panel());
        for m in [tile.m, row.spec.block.m] {
            for k in DEPTHS {
                let a = vec![<F::A as bytemuck::Zeroable>::zeroed(); m * k];
                let b = vec![<F::B as bytemuck::Zeroable>::zeroed(); panel * k];
                let mut c = vec![<F::C as bytemuck::Zeroable>::zeroed(); m * panel];
                let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                let args = MatMulArgs {
                    a,
                    b,
                    c,
                    c_stride: panel * size_of::<F::C>(),
                    k_groups: k / tile.k,
                    rows: m,
                    accumulate: false,
                    ahead: Ahead::NONE,
                };
                // SAFETY: the buffers have the sizes that the contract wants.
                unsafe { call(row, &format!("{m}x{panel}x{k}"), m * panel * k, &args) };
            }
        }
    }
}

/// Calls every kernel of a family of vector kernels with the same arguments.
///
/// # Safety
/// The contract of `F::Args`.
unsafe fn each<F: Family>(rows: &[Variant<F>], args: F::Args) {
    for row in rows {
        // SAFETY: the caller's promise.
        unsafe { call(row, &LEN.to_string(), LEN, &args) };
    }
}

fn vectors() {
    let (mut bytes, mut halves, mut sum, mut result) = (vec![0; LEN], vec![half::f16::ZERO; LEN], 0.0, [0.0; 2]);
    let (numbers, mut results, integers) = (vec![0.5f32; LEN], vec![0.0f32; LEN], vec![1; LEN]);
    let (x, y, len) = (numbers.as_ptr(), results.as_mut_ptr(), LEN);
    let mut totals = [0.0; exp_columns_f32::COLUMNS];
    let (sums, b_zero_points) = (integers.as_ptr(), std::ptr::null());
    let rescale = rescale_i32_f32::Args {
        sums,
        sums_stride: LEN,
        column_sums: sums,
        b_zero_points,
        b_scales: x,
        bias: x,
        y,
        y_stride: LEN,
        rows: 4,
        columns: LEN / 4,
        a_zero_points: sums,
        row_sums: sums,
        a_scale: 0.5,
    };
    let (beta, moments) = (std::ptr::null(), &[0.5, 0.0, 1.0]);
    let normalize = normalize_f32::Args { x, y, x_stride: 0, y_stride: 0, rows: 1, len, gamma: x, beta, moments };
    let mut moments = [0.0; 2];
    let moments = reduce_rows_f32::Args { x, x_stride: 0, rows: 1, len, results: &mut moments };
    let (byte, half) = (bytes.as_mut_ptr(), halves.as_mut_ptr());
    // SAFETY: every buffer has `LEN` numbers, and those behind null pointers may be absent.
    unsafe {
        each(UNARY_F32, unary_f32::Args { x, y, len, alpha: 1.0, beta: 2.0 });
        each(BINARY_F32, binary_f32::Args { a: x, b: x, y, len, a_repeats: false, b_repeats: false });
        each(REDUCE_F32, reduce_f32::Args { x, len, shift: 0.0, result: &mut result });
        each(ROTATE_F32, rotate_f32::Args { x, y, cos: x, sin: x, pairs: LEN / 2, rows: 1, x_stride: 0, y_stride: 0 });
        each(EXP_SUM_F32, exp_sum_f32::Args { x, y, len, shift: 1.0, sum: &mut sum });
        each(COLUMN_MAX_F32, column_max_f32::Args { x, rows: LEN / column_max_f32::COLUMNS, max: y });
        each(EXP_COLUMNS_F32, exp_columns_f32::Args { x, y, len, shifts: x, sums: totals.as_mut_ptr() });
        each(NORMALIZE_F32, normalize);
        each(REDUCE_ROWS_F32, moments);
        each(QUANTIZE_F32_U8, quantize_f32_u8::Args { x, y: byte, len, scale: 0.1, zero_point: 128, flip: 0 });
        each(RESCALE_I32_F32, rescale);
        each(CONVERT_F32_F16, convert_f32_f16::Args { x, y: half, len });
        each(CONVERT_F16_F32, convert_f16_f32::Args { x: half, y, len });
        each(INTERLEAVE_F32_F16, interleave_f32_f16::Args { x, y: half, groups: LEN / 256 });
        let tiles = half.add(LEN / 2);
        each(TILE_F16, tile_f16::Args { x: half, x_stride: 128, y: tiles, y_stride: 128 });
    }
}

fn transposes() {
    for row in TRANSPOSE {
        let bytes = SIDE * row.spec;
        let (from, mut to) = (vec![0u8; SIDE * bytes], vec![0u8; SIDE * bytes]);
        let args = transpose::Args {
            x: from.as_ptr(),
            x_stride: bytes as isize,
            y: to.as_mut_ptr(),
            y_stride: bytes,
            rows: SIDE,
            columns: SIDE,
        };
        // SAFETY: both buffers are squares of such numbers.
        unsafe { call(row, &format!("{SIDE}x{SIDE}"), SIDE * SIDE, &args) };
    }
}
