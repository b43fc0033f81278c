use half::f16;
use kernels::tensor::DType;

use crate::ir::Attr;
use crate::testing::{Model, Value};

fn ints(values: [(&'static str, i64); 4]) -> Vec<(&'static str, Attr<'static>)> {
    values.map(|(name, value)| (name, Attr::Int(value))).to_vec()
}

/// Three rows of 32 elements: the first half of row `r` is made of codes `r + 1`, the second of `r + 5`.
fn table() -> Vec<u8> {
    (0..3u8).flat_map(|row| [[(row + 1) * 17; 8], [(row + 5) * 17; 8]].concat()).collect()
}

#[test]
fn rows_of_bytes_are_unpacked() {
    let mut model = Model::new();
    model.constant("data", &[3, 16], &table()).input::<i64>("indices", &[2, 2]);
    model.constant("scales", &[3, 2], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).constant(
        "zeros",
        &[3, 1],
        &[0x21u8, 0x43, 0x65],
    );
    model.typed("y", DType::F32, vec![]).domain("com.microsoft").version(1);
    let attrs = ints([("bits", 4), ("block_size", 16), ("gather_axis", 0), ("quantize_axis", 1)]);
    model.node("GatherBlockQuantized", &["data", "indices", "scales", "zeros"], &["y"], attrs).output("y");
    let y = model.run(&[Value::new(&[2, 2], &[2i64, 0, -2, 7])]).unwrap();
    assert_eq!(y[0].dims[..], [2, 2, 32]);
    // Row 2: (3 - 5) * 5 and (7 - 6) * 6; row 0: (1 - 1) * 1 and (5 - 2) * 2; row 1: (2 - 3) * 3 and (6 - 4) * 4; none.
    let expected = [[-10.0, 6.0], [0.0, 6.0], [-3.0, 8.0], [0.0, 0.0]].concat();
    let halves: Vec<f32> = y[0].values::<f32>().chunks(16).map(|half| half[7]).collect();
    assert_eq!(halves, expected);
}

#[test]
fn nibbles_are_signed_and_gathered_along_any_axis() {
    let mut model = Model::new();
    model.nibbles("data", DType::I4, &[2, 3], &[0x21, 0xf8, 0x07]).input::<i32>("indices", &[1]);
    model.constant("scales", &[1, 3], &[1f32, 2.0, 4.0].map(f16::from_f32));
    model.typed("y", DType::F16, vec![]).domain("com.microsoft").version(1);
    let attrs = ints([("bits", 4), ("block_size", 16), ("gather_axis", 1), ("quantize_axis", 0)]);
    model.node("GatherBlockQuantized", &["data", "indices", "scales"], &["y"], attrs).output("y");
    // The data are [[1, 2, -8], [-1, 7, 0]].
    let y = model.run(&[Value::new(&[1], &[-2i32])]).unwrap();
    assert_eq!((&y[0].dims[..], y[0].values::<f16>()), (&[2, 1][..], &[4.0, 14.0].map(f16::from_f32)[..]));
}

#[test]
fn what_does_not_fit_is_declined() {
    let declined = |gather: i64, quantize: i64, bits: i64, block: i64, scales: &[usize], reason: &str| {
        let mut model = Model::new();
        model.constant("data", &[3, 16], &table()).input::<i64>("indices", &[1]);
        model.constant("scales", scales, &vec![1f32; scales.iter().product()]);
        let attrs = ints([("bits", bits), ("block_size", block), ("gather_axis", gather), ("quantize_axis", quantize)]);
        model.domain("com.microsoft").version(1);
        model.node("GatherBlockQuantized", &["data", "indices", "scales"], &["y"], attrs).output("y");
        let error = model.run(&[Value::new(&[1], &[0i64])]).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    declined(1, 1, 4, 16, &[3, 2], "gathered along the first");
    declined(0, 0, 4, 16, &[1, 16], "gathered along the first");
    declined(0, 1, 3, 16, &[3, 2], "3 bits");
    declined(0, 1, 4, 8, &[3, 4], "blocks of 8");
    declined(0, 1, 4, 16, &[3, 3], "scales of shape");
    declined(0, 2, 4, 16, &[3, 2], "axis 2");
}
