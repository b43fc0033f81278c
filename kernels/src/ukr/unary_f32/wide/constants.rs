/// The constants of all functions; [`constant`] knows their places.
pub(crate) static CONSTANTS: [f64; 35] = [
    // Beyond this and `high` every exponential is 0 or infinite in f32.
    -200.0,
    200.0,
    // Stands for infinity where that would give NaN.
    1000000000.0,
    std::f64::consts::LOG2_E,
    std::f64::consts::LN_2,
    1.0,
    2.0,
    -0.5,
    std::f64::consts::SQRT_2,
    // `gelu_tanh(x) = x sigmoid(x (a + b x^2))` with `a = 2 sqrt(2/pi)`, `b = 0.044715 a`.
    1.595_769_121_605_730_8,
    0.071_354_816_272_600_25,
    // `erfc(x/sqrt 2)/2 = exp(-x^2/2) t R(t)` with `t = 1/(1 + slope x)` for `x >= 0`; minimax.
    0.27,
    // `exp(r) = 1 + r + r^2 Q(r)` for `|r| <= ln(2)/2`: `Q`, lowest power first; minimax.
    0.499_999_934_017_121_1,
    0.166_665_199_785_596_8,
    0.041_668_396_550_697_86,
    0.008_368_796_378_588_709,
    0.001_381_437_484_684_338_8,
    // `erf(x) = x P(x^2)` for `|x| <= 1`: `P`, lowest power first; minimax.
    1.128_379_165_726_461_7,
    -0.376_126_258_229_821_6,
    0.112_835_851_343_39,
    -0.026_853_811_302_432_39,
    0.005_188_326_394_822_751,
    -0.000_801_018_142_330_495_2,
    7.853_818_068_226_381e-5,
    // `R`, lowest power first.
    0.107_714_916_349_201_81,
    0.107_709_974_711_535_4,
    0.099_807_024_180_055_6,
    0.085_282_286_382_316_33,
    0.053_984_385_525_148_13,
    0.072_848_713_232_557_45,
    -0.077_832_890_906_912_19,
    0.156_490_125_427_865_14,
    -0.174_834_524_148_983_2,
    0.083_845_340_582_684_64,
    -0.015_015_351_774_503_579,
];

/// Loads a constant into f0.
macro_rules! constant {
    (low) => {
        "fld f0, 0(a5)\n"
    };
    (high) => {
        "fld f0, 8(a5)\n"
    };
    (far) => {
        "fld f0, 16(a5)\n"
    };
    (log2_e) => {
        "fld f0, 24(a5)\n"
    };
    (ln_2) => {
        "fld f0, 32(a5)\n"
    };
    (one) => {
        "fld f0, 40(a5)\n"
    };
    (two) => {
        "fld f0, 48(a5)\n"
    };
    (minus_half) => {
        "fld f0, 56(a5)\n"
    };
    (sqrt_2) => {
        "fld f0, 64(a5)\n"
    };
    (gelu_a) => {
        "fld f0, 72(a5)\n"
    };
    (gelu_b) => {
        "fld f0, 80(a5)\n"
    };
    (slope) => {
        "fld f0, 88(a5)\n"
    };
    (exp 0) => {
        "fld f0, 96(a5)\n"
    };
    (exp 1) => {
        "fld f0, 104(a5)\n"
    };
    (exp 2) => {
        "fld f0, 112(a5)\n"
    };
    (exp 3) => {
        "fld f0, 120(a5)\n"
    };
    (exp 4) => {
        "fld f0, 128(a5)\n"
    };
    (erf 0) => {
        "fld f0, 136(a5)\n"
    };
    (erf 1) => {
        "fld f0, 144(a5)\n"
    };
    (erf 2) => {
        "fld f0, 152(a5)\n"
    };
    (erf 3) => {
        "fld f0, 160(a5)\n"
    };
    (erf 4) => {
        "fld f0, 168(a5)\n"
    };
    (erf 5) => {
        "fld f0, 176(a5)\n"
    };
    (erf 6) => {
        "fld f0, 184(a5)\n"
    };
    (tail 0) => {
        "fld f0, 192(a5)\n"
    };
    (tail 1) => {
        "fld f0, 200(a5)\n"
    };
    (tail 2) => {
        "fld f0, 208(a5)\n"
    };
    (tail 3) => {
        "fld f0, 216(a5)\n"
    };
    (tail 4) => {
        "fld f0, 224(a5)\n"
    };
    (tail 5) => {
        "fld f0, 232(a5)\n"
    };
    (tail 6) => {
        "fld f0, 240(a5)\n"
    };
    (tail 7) => {
        "fld f0, 248(a5)\n"
    };
    (tail 8) => {
        "fld f0, 256(a5)\n"
    };
    (tail 9) => {
        "fld f0, 264(a5)\n"
    };
    (tail 10) => {
        "fld f0, 272(a5)\n"
    };
}

pub(crate) use constant;
