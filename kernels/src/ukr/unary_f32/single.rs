//! The exponential in f32, which errs by 1.01 units in the last place at most, and the loop of the kernels that are made of it.
//!
//! A round works on a group of four registers as two halves that take turns, so that one's waits are the other's time. The
//! arithmetic runs in all lanes whatever their number. Registers have names: `x` are the numbers, `r` what is left of them, `n`
//! and `t` powers of two and what leads to them, `p` the polynomial and the result, `z` what a function wants to keep. What
//! integers can do is between the instructions on floats: another unit does it meanwhile.

/// How an exponential is computed from `y`: `t` is `log2 y` rounded, `r` is `y` less `t` times `step`, which is in two parts, and
/// the result `2^t (1 + r (first + r Q(r)))`, with `q` from the highest power down.
pub(crate) struct Exponential {
    pub log2: f32,
    pub step: [f32; 2],
    pub q: [f32; 5],
    pub first: f32,
}

/// `exp(y)`: `Q` is minimax for `|r| <= ln(2)/2`.
pub(crate) const NATURAL: Exponential = Exponential {
    log2: std::f32::consts::LOG2_E,
    step: [std::f32::consts::LN_2, -1.904_654_3e-9],
    q: [0.001_381_437_5, 0.008_368_796, 0.041_668_396, 0.166_665_2, 0.499_999_94],
    first: 1.0,
};

/// The bits of -104, below which every exponential is 0.
pub(crate) const LEAST: u32 = 0xc2d0_0000;
/// `1.5 2^23`: of a sum with so large a number only an integer is left of the fraction, which are then its lowest bits.
pub(crate) const ROUNDING: f32 = 12_582_912.0;
/// 2^64. Results are scaled by this and back: as numbers times a power of two they would not reach the denormals.
pub(crate) const LARGE: f32 = (1u64 << 63) as f32 * 2.0;

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
    (a z) => {
        "v4"
    };
    (b z) => {
        "v6"
    };
}

/// Instructions for both halves, with names in place of registers.
macro_rules! both {
    ($($part:tt)+) => {
        concat!($(register!(a $part),)+ "\n", $(register!(b $part),)+ "\n")
    };
}

/// Coefficients that are operands of vectors: v24, v26 and v28, from f0, f1 and f2; v30 is 1.
macro_rules! coefficients {
    () => {
        "vsetvli t3, zero, e32, m2, ta, ma\nvfmv.v.f v24, f0\nvfmv.v.f v26, f1\nvfmv.v.f v28, f2\nli t3, 0x3f800000\nvmv.v.x v30, t3"
    };
}

/// An instruction for both halves, with another one behind it that may run meanwhile, if there is one.
macro_rules! meanwhile {
    ([$($part:tt)+] [$($other:tt)*]) => {
        both!($($part)+ "\n" $($other)*)
    };
}

/// `r` less `t ln(2)`, with instructions on integers that may run meanwhile.
macro_rules! reduced {
    ($first:tt, $second:tt) => {
        concat!(meanwhile!(["vfnmsac.vf " r ", f12, " t] $first), meanwhile!(["vfnmsac.vf " r ", f13, " t] $second))
    };
}

/// `p = exp(r) - 1`, with instructions on integers that may run meanwhile.
macro_rules! polynomial {
    ($first:tt, $second:tt, $third:tt, $fourth:tt) => {
        concat!(
            both!("vfmv.v.f " p ", f15"),
            meanwhile!(["vfmacc.vf " p ", f14, " r] $first),
            meanwhile!(["vfmadd.vv " p ", " r ", v24"] $second),
            meanwhile!(["vfmadd.vv " p ", " r ", v26"] $third),
            meanwhile!(["vfmadd.vv " p ", " r ", v28"] $fourth),
            both!("vfmul.vv " p ", " p ", " r),
            both!("vfmadd.vv " p ", " r ", " r),
        )
    };
}

/// A kernel of `a2` numbers from `a0` to `a1`: `$begin` once, `$first` reads `x` for the last time, `$rest` leaves the result in
/// the four registers `$result`, `$sum` sees it in the lanes that count, `$end` once. Then a6 has [`LEAST`], a7 the place of the
/// round's numbers, f10 `$parameter`, f16 [`ROUNDING`], f17 the inverse of [`LARGE`], f11 to f15 and f3 the numbers of `$exponential`.
macro_rules! rounds {
    (
        $args:expr, $parameter:expr, $exponential:expr, [$($operand:tt)*], [$($begin:expr),*],
        [$($first:expr),+ $(,)?], [$($rest:expr),+ $(,)?], [$($sum:literal),*], $result:literal, [$($end:expr),*]
    ) => {
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
            $($first,)+
            "sub a2, a2, t0",
            "slli t2, t0, 2",
            "mv a7, a0",
            "add a0, a0, t2",
            "vsetvli t1, a2, e32, m4, ta, ma",
            "vle32.v v8, (a0)",
            "vsetvli t3, zero, e32, m2, ta, ma",
            $($rest,)+
            "vsetvli zero, t0, e32, m4, tu, ma",
            $($sum,)*
            concat!("vse32.v ", $result, ", (a1)"),
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
            in("f0") $exponential.q[2],
            in("f1") $exponential.q[3],
            in("f2") $exponential.q[4],
            in("f3") $exponential.first,
            in("f10") $parameter,
            in("f11") $exponential.log2,
            in("f12") $exponential.step[0],
            in("f13") $exponential.step[1],
            in("f14") $exponential.q[0],
            in("f15") $exponential.q[1],
            in("f16") $crate::ukr::unary_f32::single::ROUNDING,
            in("f17") 1.0 / $crate::ukr::unary_f32::single::LARGE,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

pub(crate) use {both, coefficients, meanwhile, polynomial, reduced, register, rounds};
