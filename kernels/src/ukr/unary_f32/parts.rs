//! What functions with an exponential share beside it.

use super::single::{Exponential, NATURAL};

/// `exp(y/2)`, whose rest is that of `y`: the coefficients of `exp(y)` over powers of two.
pub(crate) const OF_HALF: Exponential = {
    let Exponential { log2, step, q, .. } = NATURAL;
    Exponential {
        log2: log2 / 2.0,
        step: [2.0 * step[0], 2.0 * step[1]],
        q: [q[0] / 64.0, q[1] / 32.0, q[2] / 16.0, q[3] / 8.0, q[4] / 4.0],
        first: 0.5,
    }
};

/// `n` is the integer behind the sum `t` with f16 where floats have their exponents, plus t4; `t` becomes that integer as a float.
macro_rules! power_of_two {
    () => {
        both!("vsll.vi " n ", " t ", 23\nvfsub.vf " t ", " t ", f16\nvadd.vx " n ", " n ", t4")
    };
}

/// `p = 1 + r (first + r Q(r))`, with instructions on integers that may run behind the last uses of `t` and `r`; `t` begins as f15.
macro_rules! power {
    ($behind_t:tt, $behind_r:tt) => {
        concat!(
            both!("vfmacc.vf " t ", f14, " r "\nvfmv.v.f " p ", f3"),
            both!("vfmadd.vv " t ", " r ", v24"),
            both!("vfmadd.vv " t ", " r ", v26"),
            both!("vfmadd.vv " t ", " r ", v28"),
            meanwhile!(["vfmacc.vv " p ", " t ", " r] $behind_t),
            meanwhile!(["vfmadd.vv " p ", " r ", v30"] $behind_r),
        )
    };
}

/// `p = n / r`, to half a unit in the last place and 2^-28: the reciprocal to 14 bits gives a quotient whose remainder, which is
/// exact, corrects it. Changes `t` and `n`.
macro_rules! quotient {
    () => {
        concat!(
            both!("vfrec7.v " t ", " r "\nvmv.v.v " p ", v30"),
            both!("vfnmsac.vv " p ", " r ", " t),
            both!("vfmacc.vv " t ", " t ", " p),
            both!("vfmul.vv " p ", " n ", " t),
            both!("vfnmsac.vv " n ", " r ", " p),
            both!("vfmacc.vv " p ", " n ", " t),
        )
    };
}

/// `r = max(x, 0) - n/r` for a scaled `n`, and NaN for -inf, which stands for the product of that and 0. f4 is 0; `x` is loaded
/// again, because the next numbers are in its place.
macro_rules! gated {
    () => {
        concat!(
            quotient!(),
            "vsetvli zero, t0, e32, m4, ta, ma\nvle32.v v12, (a7)\nvsetvli t3, zero, e32, m2, ta, ma\n",
            both!("vmin.vx " n ", " r ", zero"),
            both!("vmax.vx " r ", " r ", zero"),
            both!("vfmacc.vf " r ", f4, " n),
            both!("vfnmsac.vf " r ", f17, " p),
        )
    };
}

/// `z = min(|x|, t5)`; that of NaN is the bound, too.
macro_rules! magnitude {
    () => {
        concat!(both!("vand.vx " z ", " x ", a4"), both!("vminu.vx " z ", " z ", t5"))
    };
}

/// A step of a polynomial in `$of`: what is in `$from` times that is added to the coefficient in `$to`. Then `$from` takes the
/// coefficient of the next step from a scalar register.
macro_rules! step {
    ($to:tt += $from:tt $of:tt, $next:literal) => {
        both!("vfmacc.vv " $to ", " $from ", " $of "\nvfmv.v.f " $from ", " $next)
    };
    ($to:tt += $from:tt $of:tt) => {
        both!("vfmacc.vv " $to ", " $from ", " $of)
    };
}

/// [`rounds`](super::single::rounds) of `max(x, 0) - |x| s(|x|)`. `$body` leaves a numerator and a denominator of the product in `n`
/// and `r`, the former scaled by `LARGE`; `|x|` is in `z`, cut at `$bound`, beyond which the product is 0. Constants are at a5.
macro_rules! gate {
    ($args:expr, $parameter:expr, $exponential:expr, $bound:expr, $constants:expr, [$($begin:expr),*], [$($body:expr),+ $(,)?]) => {
        rounds!(
            $args,
            $parameter,
            $exponential,
            [
                in("a4") 0x7fff_ffffusize,
                in("a5") $constants.as_ptr(),
                in("t4") $crate::ukr::unary_f32::parts::SCALE,
                in("t5") f32::to_bits($bound) as usize,
            ],
            [$($begin,)* "fmv.w.x f4, zero"],
            [magnitude!()],
            [$($body,)+ gated!()],
            [],
            "v12",
            []
        )
    };
}

/// What `LARGE` adds to the bits of a float.
pub(crate) const SCALE: usize = 64 << 23;

pub(crate) use {gate, gated, magnitude, power, power_of_two, quotient, step};
