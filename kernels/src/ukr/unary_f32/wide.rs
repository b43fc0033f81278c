//! What the transcendental kernels share: they compute in f64 between an f32 load and an f32 store, so that the result errs by
//! little more than half a unit in the last place, denormals included.
//!
//! Groups are of two registers in f32 and of four in f64. Constants come through f0 from [`CONSTANTS`], whose address is in a5.

mod constants;

pub(crate) use constants::{CONSTANTS, constant};

/// `v12 = 2^n s` and `v16 = 2^n`, where `2^n (1 + s) = exp(v8)`. Changes v8.
macro_rules! exp_parts {
    () => {
        concat!(
            constant!(low), "vfmax.vf v8, v8, f0\n",
            constant!(high), "vfmin.vf v8, v8, f0\n",
            constant!(log2_e), "vfmul.vf v12, v8, f0\n",
            "vfcvt.x.f.v v16, v12\n",
            "vfcvt.f.x.v v12, v16\n",
            constant!(ln_2), "vfnmsac.vf v8, f0, v12\n",
            constant!(exp 4), "vfmv.v.f v12, f0\n",
            "vfmul.vv v12, v12, v8\n", constant!(exp 3), "vfadd.vf v12, v12, f0\n",
            "vfmul.vv v12, v12, v8\n", constant!(exp 2), "vfadd.vf v12, v12, f0\n",
            "vfmul.vv v12, v12, v8\n", constant!(exp 1), "vfadd.vf v12, v12, f0\n",
            "vfmul.vv v12, v12, v8\n", constant!(exp 0), "vfadd.vf v12, v12, f0\n",
            "vfmul.vv v12, v12, v8\n",
            "vfmadd.vv v12, v8, v8\n",
            "li a6, 1023\n", "vadd.vx v16, v16, a6\n",
            "li a6, 52\n", "vsll.vx v16, v16, a6\n",
            "vfmul.vv v12, v12, v16\n",
        )
    };
}

/// `v12 = exp(v8)`, 0 or infinite where f32 has no such number. Changes v8 and v16.
macro_rules! exp {
    () => {
        concat!(exp_parts!(), "vfadd.vv v12, v12, v16\n")
    };
}

/// `v16 = 1 / v12` to 28 bits, from the estimate of seven. Changes v20.
macro_rules! reciprocal {
    () => {
        concat!(
            "vfrec7.v v16, v12\n",
            constant!(one),
            "vfmv.v.f v20, f0\n",
            "vfnmsac.vv v20, v12, v16\n",
            "vfmacc.vv v16, v16, v20\n",
            "vfmv.v.f v20, f0\n",
            "vfnmsac.vv v20, v12, v16\n",
            "vfmacc.vv v16, v16, v20\n",
        )
    };
}

/// `v12 = erfc(v28/sqrt 2)/2` for `v28 >= 0`. Changes v8, v16, v20 and v24.
macro_rules! tail {
    () => {
        concat!(
            constant!(far), "vfmin.vf v12, v28, f0\n",
            "vfmul.vv v8, v12, v12\n",
            constant!(slope), "vfmul.vf v12, v12, f0\n",
            constant!(one), "vfadd.vf v12, v12, f0\n",
            reciprocal!(),
            constant!(tail 10), "vfmv.v.f v24, f0\n",
            "vfmul.vv v24, v24, v16\n", constant!(tail 9), "vfadd.vf v24, v24, f0\n",
            "vfmul.vv v24, v24, v16\n", constant!(tail 8), "vfadd.vf v24, v24, f0\n",
            "vfmul.vv v24, v24, v16\n", constant!(tail 7), "vfadd.vf v24, v24, f0\n",
            "vfmul.vv v24, v24, v16\n", constant!(tail 6), "vfadd.vf v24, v24, f0\n",
            "vfmul.vv v24, v24, v16\n", constant!(tail 5), "vfadd.vf v24, v24, f0\n",
            "vfmul.vv v24, v24, v16\n", constant!(tail 4), "vfadd.vf v24, v24, f0\n",
            "vfmul.vv v24, v24, v16\n", constant!(tail 3), "vfadd.vf v24, v24, f0\n",
            "vfmul.vv v24, v24, v16\n", constant!(tail 2), "vfadd.vf v24, v24, f0\n",
            "vfmul.vv v24, v24, v16\n", constant!(tail 1), "vfadd.vf v24, v24, f0\n",
            "vfmul.vv v24, v24, v16\n", constant!(tail 0), "vfadd.vf v24, v24, f0\n",
            "vfmul.vv v24, v24, v16\n",
            constant!(minus_half), "vfmul.vf v8, v8, f0\n",
            exp!(),
            "vfmul.vv v12, v12, v24\n",
        )
    };
}

/// `v8` = the argument in f64, again.
macro_rules! argument {
    () => {
        "vsetvli zero, zero, e32, m2, ta, ma\n vfwcvt.f.f.v v8, v4\n vsetvli zero, zero, e64, m4, ta, ma"
    };
}

/// `v12` becomes NaN where the argument is -inf: the product of that and 0. Changes v8 and v16.
macro_rules! infinity_times_zero {
    () => {
        concat!(
            argument!(),
            "\n",
            "vmv.v.i v16, 0\n",
            "vfmin.vv v8, v8, v16\n",
            "vfmul.vv v8, v8, v16\n",
            "vfadd.vv v12, v12, v8\n",
        )
    };
}

/// A function whose body turns v8 into its result in v12, in f64; v4 has its argument in f32, f10 `alpha` in f64.
macro_rules! function {
    ($args:expr, $($body:expr),+) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a2, 2f",
            "fcvt.d.s f10, f10",
            "1:",
            "vsetvli a3, a2, e32, m2, ta, ma",
            "vle32.v v4, (a0)",
            "vfwcvt.f.f.v v8, v4",
            "vsetvli zero, zero, e64, m4, ta, ma",
            $($body,)+
            "vsetvli zero, zero, e32, m2, ta, ma",
            "vfncvt.f.f.w v6, v12",
            "vmfne.vv v0, v4, v4",
            "vmerge.vvm v6, v6, v4, v0",
            "vse32.v v6, (a1)",
            "sub a2, a2, a3",
            "slli a3, a3, 2",
            "add a0, a0, a3",
            "add a1, a1, a3",
            "bnez a2, 1b",
            "2:",
            ".option pop",
            inout("a0") $args.x => _,
            inout("a1") $args.y => _,
            inout("a2") $args.len => _,
            in("a5") $crate::ukr::unary_f32::wide::CONSTANTS.as_ptr(),
            in("f10") $args.alpha,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

pub(crate) use {argument, exp, exp_parts, function, infinity_times_zero, reciprocal, tail};
