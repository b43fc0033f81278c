//! What the vector kernels of matrix products share: a number of `A` from a scalar register times a row of 32 numbers of `B`.

use super::MatMulArgs;

/// Rows of a block from some row on. The layout has groups of one.
pub(super) struct Rows<'a, A, B, C> {
    pub block: &'a MatMulArgs<A, B, C>,
    pub a: *const A,
    pub c: *mut C,
}

impl<A, B, C> MatMulArgs<A, B, C> {
    /// # Safety
    /// The contract of [`MatMulArgs`], with `row` inside the block.
    pub(super) unsafe fn rows_from(&self, row: usize) -> Rows<'_, A, B, C> {
        // SAFETY: both sides have this row.
        unsafe { Rows { block: self, a: self.a.add(row), c: self.c.byte_add(row * self.c_stride) } }
    }
}

/// Computes the rows that are listed, each as `number register sum`, against the panel of 32 columns.
///
/// `$wide` is the register group of 32 sums, `$narrow` the element width and group of 32 numbers of `B`. `$b` is a register
/// group for a step of `B`, which is `$b_bytes` long, and what loads it; where there are two, the next step is loaded while
/// one is multiplied. `$load_a` loads a number of `A`, `$a_bytes` long, for the next step as soon as this one has used it;
/// `$mac` adds a product to a sum.
macro_rules! broadcast_kernel {
    (
        $rows:expr, wide: $wide:literal, narrow: $narrow:literal,
        b: [$($b:tt)+] by $b_bytes:literal, a: $load_a:literal by $a_bytes:literal, $mac:literal,
        $($row:literal $a:literal $sum:literal),+
    ) => {{
        let rows = $rows;
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zvfh",
            concat!("vsetvli zero, a6, e32, ", $wide, ", ta, ma"),
            "bnez a7, 4f",
            $(concat!("vmv.v.i ", $sum, ", 0"),)+
            "j 5f",
            "4:",
            "mv t6, a3",
            $(
                concat!("vle32.v ", $sum, ", (t6)"),
                "add t6, t6, a4",
            )+
            "5:",
            "beqz a0, 3f",
            concat!("vsetvli zero, a6, ", $narrow, ", ta, ma"),
            $(concat!($load_a, " ", $a, ", ", $a_bytes, " * ", $row, "(a1)"),)+
            "addi a0, a0, -1",
            steps!([$($b)+] $b_bytes, $load_a, $a_bytes, $mac, $($row $a $sum),+),
            concat!("vsetvli zero, a6, e32, ", $wide, ", ta, ma"),
            "3:",
            $(
                concat!("vse32.v ", $sum, ", (a3)"),
                "add a3, a3, a4",
            )+
            ".option pop",
            inout("a0") rows.block.k_groups => _,
            inout("a1") rows.a => _,
            in("a5") $a_bytes * rows.block.rows,
            inout("a2") rows.block.b => _,
            inout("a3") rows.c => _,
            in("a4") rows.block.c_stride,
            in("a6") 32usize,
            in("a7") usize::from(rows.block.accumulate),
            inout("s2") rows.block.ahead.from => _,
            in("s3") rows.block.ahead.step,
            clobber_abi("C"),
            options(nostack),
        )
    }};
}

/// All steps, of which `a0` are left after the first; the numbers of `A` for that one are there.
macro_rules! steps {
    ([$b:tt] $($rest:tt)+) => {
        concat!(
            "beqz a0, 6f\n",
            "2:\n",
            step!(load $b $($rest)+),
            step!(every $b $($rest)+),
            "bnez a0, 2b\n",
            "6:\n",
            step!(load $b $($rest)+),
            step!(last $b $($rest)+)
        )
    };
    ([$b0:tt $b1:tt] $($rest:tt)+) => {
        concat!(
            step!(load $b0 $($rest)+),
            "beqz a0, 6f\n",
            "2:\n",
            step!(load $b1 $($rest)+),
            step!(every $b0 $($rest)+),
            "beqz a0, 7f\n",
            step!(load $b0 $($rest)+),
            step!(every $b1 $($rest)+),
            "bnez a0, 2b\n",
            "6:\n",
            step!(last $b0 $($rest)+),
            "j 8f\n",
            "7:\n",
            step!(last $b1 $($rest)+),
            "8:"
        )
    };
}

/// The load of a step of `B`, or its products.
macro_rules! step {
    (load [$b:literal = $($load:literal),+] $b_bytes:literal, $($rest:tt)+) => {
        concat!($($load, "\n",)+ "addi a2, a2, ", $b_bytes, "\n")
    };
    (
        every [$b:literal = $($load:literal),+] $b_bytes:literal, $load_a:literal, $a_bytes:literal, $mac:literal,
        $row:literal $a:literal $sum:literal $(, $rows:literal $as:literal $sums:literal)*
    ) => {
        concat!(
            "addi a0, a0, -1\n add a1, a1, a5\n",
            $mac, " ", $sum, ", ", $a, ", ", $b, "\n", $load_a, " ", $a, ", ", $a_bytes, " * ", $row, "(a1)\n",
            ask!(two "s2" by "s3"),
            $($mac, " ", $sums, ", ", $as, ", ", $b, "\n", $load_a, " ", $as, ", ", $a_bytes, " * ", $rows, "(a1)\n",)*
        )
    };
    (
        last [$b:literal = $($load:literal),+] $b_bytes:literal, $load_a:literal, $a_bytes:literal, $mac:literal,
        $($row:literal $a:literal $sum:literal),+
    ) => {
        concat!($($mac, " ", $sum, ", ", $a, ", ", $b, "\n",)+)
    };
}

/// Defines `run` of a variant whose sums are groups of eight registers, three rows a block, or of four, six rows a block:
/// `[$a]` are the scalar registers of the rows, the rest goes to [`broadcast_kernel`].
macro_rules! broadcast_run {
    (by three: [$a0:literal $a1:literal $a2:literal], $($kernel:tt)+) => {
        broadcast_run!(rows =>
            3.. => 3 [0 $a0 "v8", 1 $a1 "v16", 2 $a2 "v24"],
            2 => 2 [0 $a0 "v8", 1 $a1 "v16"],
            _ => 1 [0 $a0 "v8"];
            { wide: "m8", $($kernel)+ }
        );
    };
    (by six: [$a0:literal $a1:literal $a2:literal $a3:literal $a4:literal $a5:literal], $($kernel:tt)+) => {
        broadcast_run!(rows =>
            6.. => 6 [0 $a0 "v8", 1 $a1 "v12", 2 $a2 "v16", 3 $a3 "v20", 4 $a4 "v24", 5 $a5 "v28"],
            4..6 => 4 [0 $a0 "v8", 1 $a1 "v12", 2 $a2 "v16", 3 $a3 "v20"],
            2..4 => 2 [0 $a0 "v8", 1 $a1 "v12"],
            _ => 1 [0 $a0 "v8"];
            { wide: "m4", $($kernel)+ }
        );
    };
    (rows => $($left:pat => $count:literal $rows:tt),+; $kernel:tt) => {
        /// # Safety
        /// The contract of [`Args`], on a core that meets the needs of its row in the table.
        pub unsafe fn run(args: &Args) {
            let mut row = 0;
            while row < args.rows {
                // SAFETY: the assembly touches only what `Args` lends it, for rows that are left.
                unsafe {
                    let rows = args.rows_from(row);
                    row += match args.rows - row {
                        $($left => {
                            broadcast_run!(call rows $rows $kernel);
                            $count
                        })+
                    };
                }
            }
        }
    };
    (call $from:ident [$($rows:tt)+] { $($kernel:tt)+ }) => {
        broadcast_kernel!($from, $($kernel)+, $($rows)+)
    };
}

pub(super) use {broadcast_kernel, broadcast_run, step, steps};
