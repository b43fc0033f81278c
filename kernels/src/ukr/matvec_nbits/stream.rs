//! What the kernels of both chips share.
//!
//! | registers | |
//! |---|---|
//! | v0-v7 | sums of a round, which is as many groups as the tile has rows; a pair of registers a tile |
//! | v8-v15 | `C` in the same order |
//! | v16-v19 | half bytes: what is packed |
//! | v20-v23, v24-v27 | half bytes: a step of `B` each, a register a tile |
//! | v16-v19, v20-v23 | bytes: a step of `B` each |
//! | v28-v29, v30-v31 | two steps of `A` each, by turns |
//! | v16-v27, v28-v29 | when a round ends: what belongs to the columns and to the row |

/// Loads two steps of `B`.
macro_rules! load {
    (halves $vlenb:literal) => {
        concat!("vl4re8.v v16, (a2)\n addi a2, a2, 4 * ", $vlenb, "\n")
    };
    (bytes $vlenb:literal) => {
        concat!("vl8re8.v v16, (a2)\n addi a2, a2, 8 * ", $vlenb, "\n")
    };
}

/// Makes bytes of what was loaded. The first half of the products, with the step of `A` in `$a`, comes in between.
macro_rules! unpack {
    (halves $a:literal) => {
        concat!(
            "vsll.vi v20, v16, 4\n vsll.vi v21, v17, 4\n vsll.vi v22, v18, 4\n vsll.vi v23, v19, 4\n",
            dot!(0, $a, 20),
            "vand.vx v24, v16, t6\n",
            dot!(2, $a, 21),
            "vand.vx v25, v17, t6\n",
            dot!(4, $a, 22),
            "vand.vx v26, v18, t6\n",
            dot!(6, $a, 23),
            "vand.vx v27, v19, t6\n",
        )
    };
    (bytes $a:literal) => {
        concat!(dot!(0, $a, 16), dot!(2, $a, 17), dot!(4, $a, 18), dot!(6, $a, 19))
    };
}

/// The second half of the products.
macro_rules! multiply {
    (halves $a:literal) => {
        concat!(dot!(0, $a, 24), dot!(2, $a, 25), dot!(4, $a, 26), dot!(6, $a, 27))
    };
    (bytes $a:literal) => {
        concat!(dot!(0, $a, 20), dot!(2, $a, 21), dot!(4, $a, 22), dot!(6, $a, 23))
    };
}

/// The second half of the products, and the load of the next two steps into what is free: half bytes are not multiplied.
macro_rules! next {
    (halves $a:literal $vlenb:literal) => {
        concat!(load!(halves $vlenb), multiply!(halves $a))
    };
    (bytes $a:literal $vlenb:literal) => {
        concat!(multiply!(bytes $a), load!(bytes $vlenb))
    };
}

/// Two steps with those of `A` in `$first` and `$second`, and the load of the next ones; to `$end` in between if there are none.
macro_rules! two_steps {
    ($codes:ident $vlenb:literal $first:literal $second:literal $end:literal [$($line:literal)+] [$($a_line:literal)+]) => {
        concat!(
            "vl2re8.v v",
            $first,
            ", (a1)\n addi a1, a1, 2 * ",
            $vlenb,
            "\n",
            ask!("a1" $($a_line)+),
            "add t4, a2, t5\n",
            ask!("t4" $($line)+),
            unpack!($codes $first),
            "bgeu a2, t3, ",
            $end,
            "\n",
            next!($codes $second $vlenb),
        )
    };
}

/// Loads what belongs to the columns of a round, t1 numbers at `$address` and, where the round is not full, zeros behind them.
/// `$bytes` is a round of it.
macro_rules! columns {
    ($address:literal, $bytes:literal) => {
        concat!(
            "vsetvli t0, zero, e32, m8, ta, ma\n beq t0, t1, 9f\n vmv.v.i v16, 0\n",
            "9: vsetvli zero, t1, e32, m8, tu, ma\n vle32.v v16, (",
            $address,
            ")\n addi ",
            $address,
            ", ",
            $address,
            ", ",
            $bytes,
            "\n vsetvli t0, zero, e32, m1, ta, ma\n",
        )
    };
}

/// Adds rows of each tile that are `$numbers` apart.
macro_rules! add_rows {
    ($numbers:literal) => {
        concat!(
            "vslidedown.vi v16, v8, ",
            $numbers,
            "\n vslidedown.vi v17, v10, ",
            $numbers,
            "\n vslidedown.vi v18, v12, ",
            $numbers,
            "\n vslidedown.vi v19, v14, ",
            $numbers,
            "\n vfadd.vv v8, v8, v16\n vfadd.vv v10, v10, v17\n vfadd.vv v12, v12, v18\n vfadd.vv v14, v14, v19\n",
        )
    };
}

/// Asks for lines at `$from`.
macro_rules! ask {
    ($from:literal $($line:literal)+) => {
        concat!($("prefetch.r ", $line, "(", $from, ")\n",)+)
    };
}

/// The kernel for `$args`, with codes in `$codes`. A round takes `$bytes` of scales. Then, in bytes, the lines of a round of
/// scales, of a round of the row's, of two steps of `B` and of steps of `A` to come, to ask for, and how far ahead `B` is asked for; the distances of rows that
/// are added in the end, in numbers; and for each tile its columns' registers: those of the first half of the rows, those of the
/// second.
macro_rules! row_kernel {
    (
        $args:expr, $codes:ident, vlenb $vlenb:literal, groups $groups:literal, panel $panel:literal, columns $n:literal,
        scales $bytes:literal [$($scale:literal)+], row [$($row:literal)+], lines [$($line:literal)+] [$($a_line:literal)+], ahead $ahead:literal, add [$($down:literal)+],
        $transpose:ident, $([$low:literal $high:literal $c_low:literal $c_high:literal $of_low:literal $of_high:literal])+
    ) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zicbop",
            "vsetvli t0, zero, e32, m8, ta, ma",
            "vmv.v.i v8, 0",
            "1:",
            "vsetvli t0, zero, e32, m8, ta, ma",
            "vmv.v.i v0, 0",
            concat!("li t1, ", $groups),
            "bgeu a0, t1, 2f",
            "mv t1, a0",
            "2:",
            "sub a0, a0, t1",
            "mul t3, t1, t2",
            "add t3, t3, a2",
            concat!("slli t1, t1, ", $panel),
            concat!("addi t4, a5, ", $bytes),
            ask!("t4" $($scale)+),
            ask!("a3" $($row)+),
            "beqz a6, 3f",
            concat!("addi t4, a6, ", $bytes),
            ask!("t4" $($scale)+),
            ask!("a4" $($row)+),
            "3:",
            "vsetvli t0, zero, e8, m1, ta, ma",
            load!($codes $vlenb),
            "4:",
            two_steps!($codes $vlenb 28 29 "5f" [$($line)+] [$($a_line)+]),
            two_steps!($codes $vlenb 30 31 "7f" [$($line)+] [$($a_line)+]),
            "j 4b",
            "5:",
            multiply!($codes 29),
            "j 8f",
            "7:",
            multiply!($codes 31),
            "8:",
            "vsetvli t0, zero, e32, m8, ta, ma",
            "vfcvt.f.x.v v0, v0",
            "beqz a6, 6f",
            columns!("a6", $bytes),
            $transpose!(),
            "vl2re32.v v28, (a4)",
            concat!("addi a4, a4, 2 * ", $vlenb),
            $(
                concat!("vfnmsac.vv v", $low, ", v", $of_low, ", v28"),
                concat!("vfnmsac.vv v", $high, ", v", $of_high, ", v29"),
            )+
            "6:",
            "vl2re32.v v28, (a3)",
            concat!("addi a3, a3, 2 * ", $vlenb),
            columns!("a5", $bytes),
            $(
                concat!("vfmul.vv v", $low, ", v", $low, ", v28"),
                concat!("vfmul.vv v", $high, ", v", $high, ", v29"),
            )+
            $transpose!(),
            $(
                concat!("vfmacc.vv v", $c_low, ", v", $low, ", v", $of_low),
                concat!("vfmacc.vv v", $c_high, ", v", $high, ", v", $of_high),
            )+
            "bnez a0, 1b",
            "vsetvli t0, zero, e32, m1, ta, ma",
            $(concat!("vfadd.vv v", $c_low, ", v", $c_low, ", v", $c_high),)+
            $(add_rows!($down),)+
            concat!("vsetivli zero, ", $n, ", e32, m1, ta, ma"),
            $(
                concat!("vse32.v v", $c_low, ", (a7)"),
                concat!("addi a7, a7, 4 * ", $n),
            )+
            ".option pop",
            inout("a0") $args.groups => _,
            inout("a1") $args.a => _,
            inout("a2") $args.b => _,
            inout("a3") $args.a_scales => _,
            inout("a4") $args.a_sums => _,
            inout("a5") $args.b_scales => _,
            inout("a6") $args.b_zero_points => _,
            inout("a7") $args.c => _,
            in("t2") $args.k_groups * 4 * $vlenb / $args.planes,
            in("t5") $ahead as usize,
            in("t6") 0xf0usize,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

pub(super) use {add_rows, ask, columns, load, multiply, next, row_kernel, two_steps, unpack};
