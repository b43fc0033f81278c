//! One row after the other in groups of four registers: v0-v7 are the numbers of the pairs, v8-v11 cosines, v12-v15 sines, v16-v23 results; v24-v31 pairs
//! of neighbours, 64 bits each.

use super::{Args, whole};
use crate::ukr::rounds::register_bytes;

/// Turns the pairs that `$load` leaves in v0-v3 and v4-v7; `$store` takes them from v16-v19 and v20-v23. `t1` and
/// `t3` are the places of the second halves, `t2` the bytes of as many numbers as there are pairs in a round.
macro_rules! rotate {
    ($args:expr, [$($load:literal),+], [$($store:literal),+]) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a3, 2f",
            "slli t1, a3, 2",
            "add t3, t1, a6",
            "add t1, t1, a0",
            "1:",
            "vsetvli t0, a3, e32, m4, ta, ma",
            $($load,)+
            "vle32.v v8, (a1)",
            "vle32.v v12, (a2)",
            "vfmul.vv v16, v0, v8",
            "vfmul.vv v20, v0, v12",
            "vfnmsac.vv v16, v4, v12",
            "vfmacc.vv v20, v4, v8",
            "slli t2, t0, 2",
            "add a1, a1, t2",
            "add a2, a2, t2",
            "sub a3, a3, t0",
            $($store,)+
            "bnez a3, 1b",
            "2:",
            ".option pop",
            inout("a0") $args.x => _,
            inout("a6") $args.y => _,
            inout("a1") $args.cos => _,
            inout("a2") $args.sin => _,
            inout("a3") $args.pairs => _,
            in("a4") 32usize,
            in("a5") u32::MAX,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn halves(args: &Args) {
    let lanes = register_bytes() / size_of::<f32>();
    // SAFETY: the caller's promise; the halves fill registers where a function wants that.
    unsafe {
        match args.pairs {
            _ if args.rows == 0 => (),
            pairs if pairs == lanes => in_groups(args, 4, whole::groups_of_four, whole::two_registers),
            pairs if pairs == 2 * lanes => in_groups(args, 2, whole::groups_of_two, whole::four_registers),
            pairs if pairs == 4 * lanes => whole::eight_registers(args),
            _ => each_row(args, row_of_halves),
        }
    }
}

/// Turns rows without gaps by `many` as far as there are groups, and the rest by `single`.
///
/// # Safety
/// That of both functions for rows of their number of pairs.
unsafe fn in_groups(args: &Args, group: usize, many: unsafe fn(&Args), single: unsafe fn(&Args)) {
    let bytes = 2 * args.pairs * size_of::<f32>();
    let are_dense = args.x_stride == bytes && args.y_stride == bytes;
    let rows = if are_dense { args.rows - args.rows % group } else { 0 };
    // SAFETY: `args` has these rows.
    unsafe {
        if rows > 0 {
            many(&Args { rows, ..*args });
        }
        if rows < args.rows {
            let (x, y) = (args.x.byte_add(rows * bytes), args.y.byte_add(rows * bytes));
            single(&Args { x, y, rows: args.rows - rows, ..*args });
        }
    }
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn neighbours(args: &Args) {
    // SAFETY: the caller's promise.
    unsafe { each_row(args, row_of_neighbours) }
}

/// # Safety
/// That of `turn` for every row.
unsafe fn each_row(args: &Args, turn: unsafe fn(&Args)) {
    for row in 0..args.rows {
        // SAFETY: `args` has this row.
        unsafe {
            let (x, y) = (args.x.byte_add(row * args.x_stride), args.y.byte_add(row * args.y_stride));
            turn(&Args { x, y, ..*args });
        }
    }
}

/// # Safety
/// The contract of [`Args`], of which it turns the first row, on a core that meets the needs of its row in the table.
unsafe fn row_of_halves(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        rotate!(
            args,
            ["vle32.v v0, (a0)", "vle32.v v4, (t1)"],
            [
                "vse32.v v16, (a6)",
                "vse32.v v20, (t3)",
                "add a0, a0, t2",
                "add t1, t1, t2",
                "add a6, a6, t2",
                "add t3, t3, t2"
            ]
        );
    }
}

/// Neighbours are joined as `(a + b) + (2^32 - 1) b`.
///
/// # Safety
/// That of [`row_of_halves`].
unsafe fn row_of_neighbours(args: &Args) {
    // SAFETY: as above.
    unsafe {
        rotate!(
            args,
            [
                "vsetvli zero, zero, e64, m8, ta, ma",
                "vle64.v v24, (a0)",
                "vsetvli zero, zero, e32, m4, ta, ma",
                "vnsrl.wi v0, v24, 0",
                "vnsrl.wx v4, v24, a4"
            ],
            [
                "vwaddu.vv v24, v16, v20",
                "vwmaccu.vx v24, a5, v20",
                "vsetvli zero, zero, e64, m8, ta, ma",
                "vse64.v v24, (a6)",
                "slli t2, t2, 1",
                "add a0, a0, t2",
                "add a6, a6, t2"
            ]
        );
    }
}
