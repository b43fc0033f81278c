//! What becomes of the sums of the kernels of `ukr::ime2`: rows that are stored, or finished before. In a3 are the results, in a4 the
//! bytes between their rows.

/// Stores the sums, or adds them by `$add` to those of `C`.
macro_rules! store_sums {
    (eight $add:literal) => {
        concat!(store_sums!($add 0 2 4 6), store_sums!($add 1 3 5 7))
    };
    (sixteen $add:literal) => {
        concat!(store_sums!(eight $add), store_sums!($add 8 10 12 14), store_sums!($add 9 11 13 15))
    };
    ($add:literal $c0:literal $c1:literal $c2:literal $c3:literal) => {
        concat!(
            rows!(halves 16 = $c0 $c1), rows!(halves 18 = $c2 $c3), rows!(whole 20 = 16 18), rows!(whole 22 = 17 19),
            "beqz a6, 7f\n",
            "vl1re32.v v24, (a3)\n add a7, a3, a4\n",
            "vl1re32.v v25, (a7)\n add a7, a7, a4\n",
            "vl1re32.v v26, (a7)\n add a7, a7, a4\n",
            "vl1re32.v v27, (a7)\n",
            "vsetvli a7, zero, e32, m4, ta, ma\n",
            $add,
            " v20, v20, v24\n",
            "vsetvli a7, zero, e8, m1, ta, ma\n",
            "7:\n",
            "vs1r.v v20, (a3)\n add a3, a3, a4\n",
            "vs1r.v v21, (a3)\n add a3, a3, a4\n",
            "vs1r.v v22, (a3)\n add a3, a3, a4\n",
            "vs1r.v v23, (a3)\n add a3, a3, a4\n",
        )
    };
}

/// Joins rows of eight numbers of two tiles to rows of 16, two of them in each of a pair of registers; or such
/// halves of rows to rows of 32, one in each.
macro_rules! rows {
    (halves $pair:literal = $left:literal $right:literal) => {
        join!(2 $pair = $left $right)
    };
    (whole $pair:literal = $left:literal $right:literal) => {
        join!(3 $pair = $left $right)
    };
}

/// Joins the sums to rows, which the macro `$four` finishes and stores four at a time: those in v20-v23 while the next ones come to
/// v24-v27, and the other way round. `$four!(columns)` loads what belongs to the columns before, to v28-v31; t4 counts the rows.
macro_rules! finish_rows {
    (eight $four:ident) => {
        concat!(finish_rows!(first $four), finish_rows!(second $four, "", "", "", ""), "9:\n")
    };
    (sixteen $four:ident) => {
        concat!(
            finish_rows!(first $four),
            finish_rows!(
                second $four,
                rows!(halves 16 = 8 10), rows!(halves 18 = 12 14), rows!(whole 20 = 16 18), rows!(whole 22 = 17 19)
            ),
            $four!(
                20 21 22 23, 32,
                rows!(halves 16 = 9 11), rows!(halves 18 = 13 15), rows!(whole 24 = 16 18), rows!(whole 26 = 17 19)
            ),
            $four!(24 25 26 27, 48, "", "", "", ""),
            "9:\n"
        )
    };
    (first $four:ident) => {
        concat!(
            "vsetvli a7, zero, e32, m1, ta, ma\n",
            $four!(columns),
            rows!(halves 16 = 0 2), rows!(halves 18 = 4 6), rows!(whole 20 = 16 18), rows!(whole 22 = 17 19),
            $four!(
                20 21 22 23, 0,
                rows!(halves 16 = 1 3), rows!(halves 18 = 5 7), rows!(whole 24 = 16 18), rows!(whole 26 = 17 19)
            )
        )
    };
    (second $four:ident, $j0:expr, $j1:expr, $j2:expr, $j3:expr) => {
        $four!(24 25 26 27, 16, $j0, $j1, $j2, $j3)
    };
}

/// Combines registers with the one that belongs to their columns.
macro_rules! each {
    ($op:literal $columns:literal $($r:literal)+) => {
        concat!($($op, " v", $r, ", v", $r, ", v", $columns, "\n",)+)
    };
}

/// Stores rows as long as there are any.
macro_rules! store_results {
    ($($r:literal)+) => {
        concat!($("vs1r.v v", $r, ", (a3)\n add a3, a3, a4\n addi t4, t4, -1\n beqz t4, 9f\n",)+)
    };
}

pub(super) use {each, finish_rows, rows, store_results, store_sums};
