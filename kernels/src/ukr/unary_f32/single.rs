//! The exponential in f32, which errs by 1.01 units in the last place at most; for kernels in which nothing follows that would add
//! much to that.
//!
//! A round works on a group of four registers as two halves that take turns, so that one's waits are the other's time. The
//! arithmetic runs in all lanes whatever their number. Registers have names: `x` are the numbers, `r` what is left of them, `n`
//! and `t` powers of two and what leads to them, `p` the polynomial and the result.

/// The constants: log2(e), ln(2) in two parts, `Q` in `exp(r) = 1 + r + r^2 Q(r)` for `|r| <= ln(2)/2`, highest power first;
/// minimax.
pub(crate) const LOG2_E: f32 = std::f32::consts::LOG2_E;
pub(crate) const LN_2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_3e-9];
pub(crate) const Q: [f32; 5] = [0.001_381_437_5, 0.008_368_796, 0.041_668_396, 0.166_665_2, 0.499_999_94];
/// The bits of -104, below which every exponential is 0.
pub(crate) const LEAST: u32 = 0xc2d0_0000;

/// The register of a name in a half; what is no name stays.
macro_rules! register {
    ($half:ident $text:literal) => {
        $text
    };
    (a x) => {
        "v8"
    };
    (b x) => {
        "v10"
    };
    (a r) => {
        "v12"
    };
    (b r) => {
        "v14"
    };
    (a n) => {
        "v16"
    };
    (b n) => {
        "v18"
    };
    (a p) => {
        "v20"
    };
    (b p) => {
        "v22"
    };
    (a t) => {
        "v0"
    };
    (b t) => {
        "v2"
    };
}

/// An instruction for both halves, with names in place of registers.
macro_rules! both {
    ($($part:tt)+) => {
        concat!($(register!(a $part),)+ "\n", $(register!(b $part),)+ "\n")
    };
}

/// Coefficients that are operands of vectors: v24, v26 and v28, from f0, f1 and f2.
macro_rules! coefficients {
    () => {
        "vsetvli t3, zero, e32, m2, ta, ma\nvfmv.v.f v24, f0\nvfmv.v.f v26, f1\nvfmv.v.f v28, f2"
    };
}

/// `exp(r) - 1` in `p` for the rest `r` of `r - t ln(2)`, which replaces `r`.
macro_rules! polynomial {
    () => {
        concat!(
            both!("vfnmsac.vf " r ", f12, " t),
            both!("vfnmsac.vf " r ", f13, " t),
            both!("vfmv.v.f " p ", f15"),
            both!("vfmacc.vf " p ", f14, " r),
            both!("vfmadd.vv " p ", " r ", v24"),
            both!("vfmadd.vv " p ", " r ", v26"),
            both!("vfmadd.vv " p ", " r ", v28"),
            both!("vfmul.vv " p ", " p ", " r),
            both!("vfmadd.vv " p ", " r ", " r),
        )
    };
}

/// A kernel of `a2` numbers from `a0` to `a1`: `$begin` once, `$first` reads `x` for the last time, `$rest` leaves the result in
/// `p`, `$store` stores v20-v23, `$end` once. Then a6 has [`LEAST`], f10 and f11 `$shift` and [`LOG2_E`].
macro_rules! rounds {
    ($args:expr, $shift:expr, [$($operand:tt)*], [$($begin:expr),*], $first:expr, [$($rest:expr),+], [$($store:literal),+], [$($end:expr),*]) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            coefficients!(),
            $($begin,)*
            "vsetvli t0, a2, e32, m4, ta, ma",
            "vle32.v v8, (a0)",
            "beqz t0, 2f",
            "1:",
            "vsetvli t3, zero, e32, m2, ta, ma",
            $first,
            "sub a2, a2, t0",
            "slli t2, t0, 2",
            "add a0, a0, t2",
            "vsetvli t1, a2, e32, m4, ta, ma",
            "vle32.v v8, (a0)",
            "vsetvli t3, zero, e32, m2, ta, ma",
            $($rest,)+
            "vsetvli zero, t0, e32, m4, tu, ma",
            $($store,)+
            "add a1, a1, t2",
            "mv t0, t1",
            "bnez t0, 1b",
            "2:",
            $($end,)*
            ".option pop",
            inout("a0") $args.x => _,
            inout("a1") $args.y => _,
            inout("a2") $args.len => _,
            in("a6") $crate::ukr::unary_f32::single::LEAST as usize,
            $($operand)*
            in("f0") $crate::ukr::unary_f32::single::Q[2],
            in("f1") $crate::ukr::unary_f32::single::Q[3],
            in("f2") $crate::ukr::unary_f32::single::Q[4],
            in("f10") $shift,
            in("f11") $crate::ukr::unary_f32::single::LOG2_E,
            in("f12") $crate::ukr::unary_f32::single::LN_2[0],
            in("f13") $crate::ukr::unary_f32::single::LN_2[1],
            in("f14") $crate::ukr::unary_f32::single::Q[0],
            in("f15") $crate::ukr::unary_f32::single::Q[1],
            clobber_abi("C"),
            options(nostack),
        )
    };
}

pub(crate) use {both, coefficients, polynomial, register, rounds};
