//! What the steps of `ime2` consist of, for rows of 64 numbers and of 128.

/// Joins the sums of one step, of two, or of four, by blocks of as many as they have numbers side by side; [`total!`] adds them, which
/// leaves half as many numbers of either.
macro_rules! steps {
    (64 one $first:literal $second:literal) => {
        join!(1 4 = $first $second)
    };
    (64 two $first:literal $second:literal) => {
        join!(2 4 = $first $second)
    };
    (64 four $first:literal $second:literal) => {
        join!(3 4 = $first $second)
    };
    (128 one $first:literal $second:literal) => {
        concat!(
            "vsetvli t0, zero, e64, m1, ta, ma\n",
            join!(0 8 = $first $second),
            "vsetvli t0, zero, e32, m1, ta, ma\n"
        )
    };
    (128 two $first:literal $second:literal) => {
        join!(1 8 = $first $second)
    };
    (128 four $first:literal $second:literal) => {
        join!(2 8 = $first $second)
    };
}

macro_rules! total {
    (64 $to:literal) => {
        op!("vfadd" $to 4 5)
    };
    (128 $to:literal) => {
        op!("vfadd" $to 8 9)
    };
}

macro_rules! op {
    ($op:literal $to:literal $a:literal $b:literal) => {
        concat!($op, ".vv v", $to, ", v", $a, ", v", $b, "\n")
    };
}

/// The products of a piece with the same piece of the query row: of the first (0) and the second half of its numbers (1). Pieces of
/// 128 numbers are the first and the last 64 in turns.
macro_rules! product {
    ($op:literal $to:literal $x:literal, $half:literal of first, $width:literal) => {
        op!($op $to $x $half)
    };
    ($op:literal $to:literal $x:literal, $half:literal of last, 64) => {
        op!($op $to $x $half)
    };
    ($op:literal $to:literal $x:literal, 0 of last, 128) => {
        op!($op $to $x 2)
    };
    ($op:literal $to:literal $x:literal, 1 of last, 128) => {
        op!($op $to $x 3)
    };
}

/// Reads the query row, and stores the results of a group.
macro_rules! end {
    (64 query) => {
        "vl2re32.v v0, (s2)\n"
    };
    (128 query) => {
        "vl4re32.v v0, (s2)\n"
    };
    (64 store) => {
        "vfmul.vf v8, v8, f10\n vs1r.v v8, (t1)\n"
    };
    (128 store) => {
        // Two numbers of each row are left.
        concat!(
            join!(3 4 = 8 8),
            op!("vfadd" 8 4 5),
            "vsetivli zero, 16, e32, m1, ta, ma\n vfmul.vf v8, v8, f10\n vse32.v v8, (t1)\n"
        )
    };
}

/// The sums of a step from two joined registers of sums of its pieces: joined once more, or added where two pieces are a row.
macro_rules! merge {
    (64 begin) => {
        join!(0 8 = 4 6)
    };
    (64 end $sum:literal) => {
        op!("vfadd" $sum 8 9)
    };
    (128 begin) => {
        ""
    };
    (128 end $sum:literal) => {
        op!("vfadd" $sum 4 6)
    };
}

/// Asks for these lines of those at `t4`: all of them for a single query row, else half of them for the first one and the others for
/// the others.
macro_rules! ask {
    (all $($low:literal)+; $($high:literal)+) => {
        concat!($(line!($low),)+ $(line!($high),)+)
    };
    (low $($low:literal)+; $($high:literal)+) => {
        concat!($(line!($low),)+)
    };
    (high $($low:literal)+; $($high:literal)+) => {
        concat!($(line!($high),)+)
    };
}

macro_rules! line {
    ($offset:literal) => {
        concat!(".insn i 0x13, 6, x0, t4, 1 + 64 * ", $offset, "\n")
    };
}

pub(super) use {ask, end, line, merge, op, product, steps, total};
