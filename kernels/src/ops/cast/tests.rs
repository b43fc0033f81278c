use super::*;
use crate::testing::run_one;

fn cast<X: Element, Y: Element>(x: &[X]) -> Vec<Y> {
    run_one(Cast::new(X::DTYPE, Y::DTYPE, x.len()), 2, &[bytemuck::cast_slice(x)], x.len()).unwrap()
}

#[test]
fn floats_truncate_and_leave_the_range_as_on_x86() {
    let x = [-1.5, 300.7, f32::NAN, 3e9, -3e9, 1e20, f32::INFINITY, f32::NEG_INFINITY];
    let min = i32::MIN;
    assert_eq!(cast::<f32, i8>(&x), [-1, 44, 0, 0, 0, 0, 0, 0]);
    assert_eq!(cast::<f32, u8>(&x), [255, 44, 0, 0, 0, 0, 0, 0]);
    assert_eq!(cast::<f32, u16>(&x), [65535, 300, 0, 0, 0, 0, 0, 0]);
    assert_eq!(cast::<f32, i32>(&x), [-1, 300, min, min, min, min, min, min]);
    assert_eq!(cast::<f32, u32>(&x), [u32::MAX, 300, 1 << 31, 3_000_000_000, 1 << 31, 0, 0, 1 << 31]);
    let min = i64::MIN;
    assert_eq!(cast::<f32, i64>(&x), [-1, 300, min, 3_000_000_000, -3_000_000_000, min, min, min]);
    let minus = |x: i64| x as u64;
    assert_eq!(cast::<f32, u64>(&x)[..5], [minus(-1), 300, 1 << 63, 3_000_000_000, minus(-3_000_000_000)]);
    assert_eq!(cast::<f64, i32>(&[2147483647.9, -2147483648.9, 2147483648.0]), [i32::MAX, i32::MIN, i32::MIN]);
    let halves = [-1.5, 300.5, f32::INFINITY].map(f16::from_f32);
    assert_eq!(cast::<f16, i32>(&halves), [-1, 300, i32::MIN]);
}

#[test]
fn integers_keep_their_low_bits() {
    assert_eq!(cast::<i64, i8>(&[300, -1, i64::MIN]), [44, -1, 0]);
    assert_eq!(cast::<i32, u64>(&[-1, 7]), [u64::MAX, 7]);
    assert_eq!(cast::<u64, i64>(&[u64::MAX, 7]), [-1, 7]);
    assert_eq!(cast::<u8, i32>(&[255, 0]), [255, 0]);
    assert_eq!(cast::<i8, u16>(&[-1, 5]), [u16::MAX, 5]);
}

#[test]
fn integers_become_the_nearest_float() {
    assert_eq!(cast::<i64, f32>(&[16_777_217, i64::MIN, -3]), [16_777_216.0, i64::MIN as f32, -3.0]);
    assert_eq!(cast::<u64, f32>(&[u64::MAX, 1 << 63]), [18_446_744_073_709_551_616.0, 9_223_372_036_854_775_808.0]);
    assert_eq!(
        cast::<i64, f16>(&[2049, 65_520, -70_000]),
        [2048.0, f32::INFINITY, f32::NEG_INFINITY].map(f16::from_f32)
    );
    assert_eq!(cast::<i32, f64>(&[i32::MIN]), [-2_147_483_648.0]);
}

#[test]
fn floats_round_once_and_f64_reaches_f16_by_f32() {
    assert_eq!(cast::<f64, f32>(&[1e-50, 1e300, 0.1]), [0.0, f32::INFINITY, 0.1]);
    // Above half way between two f16 by less than f32 can hold: f32 makes it a tie, which goes to even.
    assert_eq!(cast::<f64, f16>(&[1.0 + 2f64.powi(-11) + 2f64.powi(-40)]), [f16::ONE]);
    assert_eq!(cast::<f16, f64>(&[f16::from_f32(0.1)]), [f16::from_f32(0.1).to_f64()]);
    let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).filter(|x| !x.is_nan()).collect();
    assert_eq!(cast::<f32, f16>(&cast::<f16, f32>(&all)), all);
}

#[test]
fn bool_is_anything_but_zero() {
    fn to_bool<X: Element>(x: &[X]) -> Vec<u8> {
        run_one(Cast::new(X::DTYPE, DType::Bool, x.len()), 2, &[bytemuck::cast_slice(x)], x.len()).unwrap()
    }
    assert_eq!(to_bool(&[0.0, -0.0, f32::NAN, 0.1, 1e-45]), [0, 0, 1, 1, 1]);
    assert_eq!(to_bool(&[f16::NEG_ZERO, f16::MIN_POSITIVE]), [0, 1]);
    assert_eq!(to_bool(&[256i64, 0, -1]), [1, 0, 1]);
    let from_bool = run_one::<f32>(Cast::new(DType::Bool, DType::F32, 2), 1, &[&[0, 1]], 2);
    assert_eq!(from_bool.unwrap(), [0.0, 1.0]);
}

#[test]
fn every_pair_keeps_small_numbers() {
    let types = [DType::F16, DType::F32, DType::F64, DType::I8, DType::U8, DType::I16, DType::U16, DType::I32]
        .into_iter()
        .chain([DType::U32, DType::I64, DType::U64]);
    let run = |from: DType, to: DType, x: &[u64]| -> Vec<u64> {
        let mut words = vec![0u64; 40];
        let bytes = &bytemuck::cast_slice(x)[..40 * from.size()];
        let out: Vec<u8> = run_one(Cast::new(from, to, 40), 3, &[bytes], 40 * to.size()).unwrap();
        bytemuck::cast_slice_mut(&mut words)[..out.len()].copy_from_slice(&out);
        words
    };
    let numbers: Vec<u64> = (0..40).collect();
    for from in types.clone() {
        let x = run(DType::U64, from, &numbers);
        for to in types.clone() {
            assert_eq!(run(to, DType::U64, &run(from, to, &x)), numbers, "{from} to {to}");
        }
    }
}
