//! Loops over f32 that have the next numbers on their way while they work on those before: a core in order waits where a number
//! is used, not where it is loaded.
//!
//! Of `a2` numbers at `a0`, which both advance, a round works on `t0`; `t1` are those of the next round and `t2` the bytes of a
//! round. v8-v15 is what was loaded.

/// The first round's numbers.
macro_rules! first {
    () => {
        "vsetvli t0, a2, e32, m8, ta, ma\nvle32.v v8, (a0)"
    };
}

/// The next round's numbers, as soon as no instruction to come reads those of this round. The vector length stays this round's.
macro_rules! next {
    () => {
        "sub a2, a2, t0\nslli t2, t0, 2\nadd a0, a0, t2\nvsetvli t1, a2, e32, m8, ta, ma\nvle32.v v8, (a0)\nvsetvli zero, t0, e32, m8, ta, ma"
    };
}

/// Folds the second half of a group's registers into the first, which are as many as `$lmul` says.
macro_rules! halve {
    ($op:literal, $width:literal, $lmul:literal, $to:literal, $second:literal) => {
        concat!(
            "vsetvli t0, zero, ",
            $width,
            ", ",
            $lmul,
            ", ta, ma\n",
            $op,
            " v",
            $to,
            ", v",
            $to,
            ", v",
            $second,
            "\n"
        )
    };
}

/// Folds the lanes of eight registers into those of the first, by `$op`; the numbers are those of the second half of eight, of four
/// and of two registers. The vector type is then that of one register.
macro_rules! fold {
    ($op:literal, $width:literal, $to:literal, $four:literal, $two:literal, $one:literal) => {
        concat!(
            halve!($op, $width, "m4", $to, $four),
            halve!($op, $width, "m2", $to, $two),
            halve!($op, $width, "m1", $to, $one),
        )
    };
}

/// Folds the lanes of four registers, `t0` in all, into the 32 of a row, by `$op`; the numbers are those of the second half of four and
/// of two registers. The vector length is then that of a row.
macro_rules! fold_columns {
    ($op:literal, $to:literal, $two:literal, $one:literal) => {
        concat!(
            "li t1, 32\nbeq t0, t1, 5f\n",
            halve!($op, "e32", "m2", $to, $two),
            "beq t0, t1, 5f\n",
            halve!($op, "e32", "m1", $to, $one),
            "5:\nvsetvli zero, t1, e32, m4, ta, ma\n",
        )
    };
}

/// Bytes of a vector register.
pub(super) fn register_bytes() -> usize {
    let bytes;
    // SAFETY: reads a register that a core with vectors has.
    unsafe { std::arch::asm!("csrr {}, vlenb", out(reg) bytes, options(nomem, nostack, preserves_flags)) };
    bytes
}

pub(super) use {first, fold, fold_columns, halve, next};
