use half::f16;
use kernels::tensor::DType;

use crate::ir::Attr;
use crate::testing::{Model, Value};

#[test]
fn one_scale_and_the_default_type() {
    let mut model = Model::new();
    model.input::<f32>("x", &[6]).constant("s", &[], &[2f32]).typed("y", DType::U8, vec![]);
    model.node("QuantizeLinear", &["x", "s"], &["y"], vec![]).node("DequantizeLinear", &["y", "s"], &["z"], vec![]);
    model.typed("z", DType::F32, vec![]).output("y").output("z");
    let y = model.run(&[Value::new(&[6], &[0f32, 1.0, 3.0, 5.0, 600.0, -2.0])]).unwrap();
    assert_eq!(y[0], Value::new(&[6], &[0u8, 0, 2, 2, 255, 0]));
    assert_eq!(y[1], Value::new(&[6], &[0f32, 0.0, 4.0, 4.0, 510.0, 0.0]));
}

#[test]
fn one_scale_for_each_index_of_an_axis() {
    for axis in [1, -2] {
        let mut model = Model::new();
        model.version(13).input::<f32>("x", &[1, 2, 3]).constant("s", &[2], &[1f32, 10.0]);
        model.constant("z", &[2], &[0i8, -5]).typed("y", DType::I8, vec![]).typed("back", DType::F32, vec![]);
        model.node("QuantizeLinear", &["x", "s", "z"], &["y"], vec![("axis", Attr::Int(axis))]);
        model.node("DequantizeLinear", &["y", "s", "z"], &["back"], vec![("axis", Attr::Int(axis))]);
        let x = [1f32, -2.0, 200.0, 10.0, -20.0, 25.0];
        let y = model.output("y").output("back").run(&[Value::new(&[1, 2, 3], &x)]).unwrap();
        assert_eq!(y[0], Value::new(&[1, 2, 3], &[1i8, -2, 127, -4, -7, -3]));
        assert_eq!(y[1], Value::new(&[1, 2, 3], &[1f32, -2.0, 127.0, 10.0, -20.0, 20.0]));
    }
}

#[test]
fn one_scale_for_each_block() {
    let mut model = Model::new();
    let attrs = || vec![("axis", Attr::Int(1)), ("block_size", Attr::Int(2)), ("output_dtype", Attr::Int(5))];
    model.input::<f32>("x", &[2, 3]).constant("s", &[2, 2], &[1f32, 2.0, 4.0, 8.0]).typed("y", DType::I16, vec![]);
    model.node("QuantizeLinear", &["x", "s"], &["y"], attrs()).output("y");
    let y = model.run(&[Value::new(&[2, 3], &[8f32, 16.0, 8.0, 8.0, 16.0, 8.0])]).unwrap();
    assert_eq!(y[0], Value::new(&[2, 3], &[8i16, 16, 4, 2, 4, 1]));
}

#[test]
fn half_scales_give_half_results() {
    let mut model = Model::new();
    model.input::<u8>("x", &[3]).constant("s", &[], &[f16::from_f32(0.5)]).constant("z", &[], &[128u8]);
    model.typed("y", DType::F16, vec![]).node("DequantizeLinear", &["x", "s", "z"], &["y"], vec![]).output("y");
    let y = model.run(&[Value::new(&[3], &[0u8, 128, 255])]).unwrap();
    assert_eq!(y[0], Value::new(&[3], &[-64f32, 0.0, 63.5].map(f16::from_f32)));
}

#[test]
fn dynamic_ranges_include_zero() {
    let mut model = Model::new();
    model.version(11).input::<f32>("x", &[2, 3]).typed("y", DType::U8, vec![]).typed("z", DType::U8, vec![]);
    model.node("DynamicQuantizeLinear", &["x"], &["y", "s", "z"], vec![]).output("y").output("s").output("z");
    let y = model.run(&[Value::new(&[2, 3], &[0f32, 2.0, -3.0, -2.5, 1.34, 0.5])]).unwrap();
    assert_eq!(y[0], Value::new(&[2, 3], &[153u8, 255, 0, 26, 221, 179]));
    assert_eq!((&y[1], &y[2]), (&Value::new(&[], &[5f32 / 255.0]), &Value::new(&[], &[153u8])));
    let y = model.run(&[Value::new(&[2, 3], &[0f32; 6])]).unwrap();
    assert_eq!((&y[1], &y[2]), (&Value::new(&[], &[1f32]), &Value::new(&[], &[0u8])));
}

#[test]
fn scales_that_do_not_fit_are_errors() {
    let mut model = Model::new();
    model.input::<f32>("x", &[2, 3]).constant("s", &[2], &[1f32, 2.0]).typed("y", DType::U8, vec![]);
    model.node("QuantizeLinear", &["x", "s"], &["y"], vec![]).output("y");
    assert!(model.run(&[Value::new(&[2, 3], &[0f32; 6])]).unwrap_err().to_string().contains("scales of shape"));
}

#[test]
fn constants_of_half_bytes_are_dequantised_in_blocks() {
    let unsigned = [1f32, -10.0, 2.0, 130.0, -300.0, 15_000.0];
    let signed = [1f32, -10.0, 2.0, -30.0, -300.0, -1_000.0];
    for (dtype, expected) in [(DType::U4, unsigned), (DType::I4, signed)] {
        let mut model = Model::new();
        // Rows (2, 1), (3, 15 or -1) and (0, 15 or -1), in two blocks along the columns.
        model.nibbles("x", dtype, &[3, 2], &[0x12, 0xf3, 0xf0]).nibbles("z", dtype, &[2, 2], &[0x21, 0x03]);
        model.constant("s", &[2, 2], &[1f32, 10.0, 100.0, 1_000.0]).typed("y", DType::F32, vec![]);
        let attrs = vec![("axis", Attr::Int(0)), ("block_size", Attr::Int(2))];
        model.node("DequantizeLinear", &["x", "s", "z"], &["y"], attrs).output("y");
        assert_eq!(model.run(&[]).unwrap()[0], Value::new(&[3, 2], &expected));
    }
}
