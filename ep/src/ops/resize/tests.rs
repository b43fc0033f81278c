use crate::Error;
use crate::ir::Attr;
use crate::testing::{Model, Value};

type Attrs = Vec<(&'static str, Attr<'static>)>;

fn text(name: &'static str, value: &str) -> (&'static str, Attr<'static>) {
    (name, Attr::Str(value.into()))
}

fn by_scales(x: &Value, scales: &[f32], attrs: Attrs) -> Result<Value, Error> {
    let mut model = Model::new();
    model.input::<f32>("x", &x.dims).constant("scales", &[scales.len()], scales);
    model.version(19).node("Resize", &["x", "", "scales"], &["y"], attrs).output("y");
    Ok(model.run(std::slice::from_ref(x))?.remove(0))
}

fn by_sizes(x: &Value, sizes: &[i64], attrs: Attrs) -> Result<Value, Error> {
    let mut model = Model::new();
    model.input::<f32>("x", &x.dims).constant("sizes", &[sizes.len()], sizes);
    model.version(19).node("Resize", &["x", "", "", "sizes"], &["y"], attrs).output("y");
    Ok(model.run(std::slice::from_ref(x))?.remove(0))
}

fn line(values: &[f32]) -> Value {
    Value::new(&[1, values.len()], values)
}

#[test]
fn the_nearest_element() {
    let x = line(&[1.0, 2.0, 3.0]);
    let check = |sizes: i64, mode: &str, rounding: &str, expected: &[f32]| {
        let attrs = vec![text("coordinate_transformation_mode", mode), text("nearest_mode", rounding)];
        assert_eq!(by_sizes(&x, &[1, sizes], attrs).unwrap(), line(expected), "{mode} {rounding}");
    };
    // Places -1/4, 1/4, 3/4, 5/4, 7/4, 9/4.
    check(6, "half_pixel", "round_prefer_floor", &[1., 1., 2., 2., 3., 3.]);
    check(6, "half_pixel", "floor", &[1., 1., 1., 2., 2., 3.]);
    check(6, "half_pixel", "ceil", &[1., 2., 2., 3., 3., 3.]);
    // Places 0, 1/2, 1, 3/2, 2, 5/2.
    check(6, "asymmetric", "round_prefer_floor", &[1., 1., 2., 2., 3., 3.]);
    check(6, "asymmetric", "round_prefer_ceil", &[1., 2., 2., 3., 3., 3.]);
    // Places 0, 1/2, 1, 3/2, 2.
    check(5, "align_corners", "floor", &[1., 1., 2., 2., 3.]);
    check(1, "align_corners", "floor", &[1.]);
}

#[test]
fn linear_on_two_axes() {
    let x = Value::new(&[2, 2], &[0f32, 4.0, 8.0, 12.0]);
    let attrs = vec![text("mode", "linear"), text("coordinate_transformation_mode", "align_corners")];
    let y = by_scales(&x, &[1.5, 2.5], attrs).unwrap();
    assert_eq!(y, Value::new(&[3, 5], &[0f32, 1., 2., 3., 4., 4., 5., 6., 7., 8., 8., 9., 10., 11., 12.]));
    let y = by_scales(&line(&[0.0, 8.0]), &[1.0, 2.0], vec![text("mode", "linear")]).unwrap();
    assert_eq!(y, line(&[0.0, 2.0, 6.0, 8.0]));
}

#[test]
fn cubic_reproduces_lines_and_normalises_borders() {
    // Keys' convolution with a = -1/2 is exact for polynomials up to the second degree, away from the borders.
    let x: Vec<f32> = (0..9).map(|i| (i * i) as f32).collect();
    let attrs = |outside| {
        let a = ("cubic_coeff_a", Attr::Float(-0.5));
        vec![text("mode", "cubic"), a, ("exclude_outside", Attr::Int(outside))]
    };
    let y = by_scales(&line(&x), &[1.0, 4.0], attrs(0)).unwrap();
    for index in 8..24 {
        let place = (index as f32 + 0.5) / 4.0 - 0.5;
        assert!((y.values::<f32>()[index] - place * place).abs() < 1e-4);
    }
    let ones = line(&[1.0; 5]);
    let y = by_scales(&ones, &[1.0, 3.0], attrs(1)).unwrap();
    assert!(y.values::<f32>().iter().all(|y| (y - 1.0).abs() < 1e-6));
}

#[test]
fn some_axes_and_old_forms() {
    let x = Value::new(&[1, 1, 1, 2], &[1f32, 2.0]);
    let axes = vec![("axes", Attr::Ints(vec![-1])), text("nearest_mode", "floor")];
    assert_eq!(by_scales(&x, &[2.0], axes).unwrap(), Value::new(&[1, 1, 1, 4], &[1f32, 1., 1., 2.]));
    assert_eq!(by_scales(&x, &[1.0; 4], vec![]).unwrap(), x);
    for op in ["Resize", "Upsample"] {
        let mut model = Model::new();
        model.input::<f32>("x", &[1, 3]).constant("scales", &[2], &[1f32, 2.0]);
        model.version(if op == "Resize" { 10 } else { 9 }).node(op, &["x", "scales"], &["y"], vec![]).output("y");
        assert_eq!(model.run(&[line(&[1., 2., 3.])]).unwrap(), [line(&[1., 1., 2., 2., 3., 3.])]);
    }
}

#[test]
fn what_is_not_known_is_refused() {
    let x = line(&[1.0, 2.0]);
    let fails = |attrs, text: &str| {
        let error = by_scales(&x, &[1.0, 2.0], attrs).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    fails(vec![("antialias", Attr::Int(1))], "antialiasing");
    fails(vec![text("coordinate_transformation_mode", "tf_crop_and_resize")], "tf_crop_and_resize");
    fails(vec![text("keep_aspect_ratio_policy", "not_larger")], "not_larger");
    assert!(by_scales(&x, &[2.0], vec![]).unwrap_err().to_string().contains("neither"));
    assert!(by_scales(&x, &[1.0, -2.0], vec![]).unwrap_err().to_string().contains("scale of -2"));
}
