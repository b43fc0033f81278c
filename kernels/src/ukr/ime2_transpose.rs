//! Eight registers joined in pairs by `smt.vpack.vv`, three times: block `b` of register `r` becomes block `r` of register `b`.

/// From v0-v7 by v8-v15 and back, to the eight registers `$to`; blocks are of 128 bits (1), or of as many as an element (0). After
/// each pair of results, `$then` for it is executed.
macro_rules! transpose {
    ($block:literal, [$($to:literal $then:expr),+]) => {
        concat!(
            join!($block 8 = 0 4), join!($block 10 = 1 5), join!($block 12 = 2 6), join!($block 14 = 3 7),
            join!($block 0 = 8 12), join!($block 2 = 9 13), join!($block 4 = 10 14), join!($block 6 = 11 15),
            last!($block [0 4, 1 5, 2 6, 3 7] [$($to $then),+])
        )
    };
}

macro_rules! last {
    ($block:literal [$($a:literal $b:literal),+] [$($to:literal $then:expr),+]) => {
        concat!($(join!($block $to = $a $b), $then,)+)
    };
}

/// `smt.vpack.vv`: lays the blocks of two registers in turns into a pair of registers. Blocks are of as many bits as an element (0), or
/// of 128, 256 or 512 (1, 2, 3).
macro_rules! join {
    ($block:literal $pair:literal = $first:literal $second:literal) => {
        concat!(".insn r 0x2b, ", $block, ", 0x33, x", $pair, ", x", $first, ", x", $second, "\n")
    };
}

/// `smt.vfwmadot`: adds the product of a tile of eight rows and one of eight columns to a pair of registers.
macro_rules! dot {
    ($sum:literal = $rows:literal $columns:literal) => {
        concat!(".insn r 0x2b, 4, 0x4f, x", $sum, ", x", $rows, ", x", $columns, "\n")
    };
}

/// Eight rows of 64 numbers of f32 at `$at`, or as many as the register `$rows` has, become f16 in v0-v7; `$stride` are the bytes
/// from one to the next. The other registers become zero.
macro_rules! narrow_rows {
    ($at:literal, $stride:literal, $rows:literal, $narrow:literal, [$($row:literal)+]) => {
        concat!(
            "vsetvli t0, zero, e32, m8, ta, ma\n vmv.v.i v0, 0\n",
            "vsetvli t0, zero, e16, m1, ta, ma\n",
            $("beqz ", $rows, ", 71f\n vl2re32.v v8, (", $at, ")\n add ", $at, ", ", $at, ", ", $stride, "\n",
            $narrow, "\n vfncvt.f.f.w v", $row, ", v8\n addi ", $rows, ", ", $rows, ", -1\n",)+
            "71:\n",
        )
    };
}

/// Reads 64 halves of eight rows at `a0` to v0-v7, which leaves it at the next ones: rows without gaps, or `a1` bytes apart.
macro_rules! read {
    (dense) => {
        "vl8re16.v v0, (a0)\n addi a0, a0, 1024\n"
    };
    (strided) => {
        read!(rows 0 1 2 3 4 5 6 7)
    };
    (rows $($row:literal)+) => {
        concat!($("vl1re16.v v", $row, ", (a0)\n add a0, a0, a1\n",)+)
    };
}

/// Asks for the lines of eight such rows at `t4`, which it leaves at the next ones.
macro_rules! ask {
    (dense) => {
        concat!(ask!(lines 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15), "addi t4, t4, 1024\n")
    };
    (strided) => {
        ask!(rows 0 1 2 3 4 5 6 7)
    };
    (lines $($line:literal)+) => {
        concat!($(".insn i 0x13, 6, x0, t4, 1 + 64 * ", $line, "\n",)+)
    };
    (rows $($row:literal)+) => {
        concat!($(ask!(line $row),)+)
    };
    (line $row:literal) => {
        ".insn i 0x13, 6, x0, t4, 1\n .insn i 0x13, 6, x0, t4, 65\n add t4, t4, a1\n"
    };
}

pub(crate) use {ask, dot, join, last, narrow_rows, read, transpose};
