use crate::ir::Attr;
use crate::testing::{Model, Value};

/// Walks from `start` to `end` in the bounds that ONNX clamps them to.
fn walk(len: i64, start: i64, end: i64, step: i64) -> Vec<i64> {
    let clamp = |index: i64, low: i64, high: i64| {
        let index = if index < 0 { index.saturating_add(len) } else { index };
        index.max(low).min(high)
    };
    let back = step < 0;
    let mut at = i128::from(if back { clamp(start, 0, len - 1) } else { clamp(start, 0, len) });
    let end = i128::from(if back { clamp(end, -1, len - 1) } else { clamp(end, 0, len) });
    let mut taken = Vec::new();
    while (!back && at < end) || (back && at > end) {
        taken.push(at as i64);
        at += i128::from(step);
    }
    taken
}

fn slice(dims: &[usize], lists: &[(&str, &[i64])]) -> Result<Value, String> {
    let mut model = Model::new();
    model.version(13).input::<i32>("x", dims);
    let mut inputs = vec!["x"];
    for &(name, list) in lists {
        if !list.is_empty() {
            model.constant(name, &[list.len()], list);
        }
        inputs.push(if list.is_empty() { "" } else { name });
    }
    let values: Vec<i32> = (0..dims.iter().product::<usize>() as i32).collect();
    model.node("Slice", &inputs, &["y"], vec![]).output("y");
    let outputs = model.run(&[Value::new(dims, &values)]).map_err(|error| error.to_string())?;
    Ok(outputs[0].clone())
}

#[test]
fn every_start_end_and_step_of_a_short_axis() {
    let bounds = [i64::MIN, -9, -4, -3, -1, 0, 1, 3, 4, 9, i64::MAX];
    for len in [0usize, 1, 4] {
        for start in bounds {
            for end in bounds {
                for step in [i64::MIN, -3, -1, 1, 2, i64::MAX] {
                    let lists = [("starts", &[start][..]), ("ends", &[end]), ("axes", &[-1]), ("steps", &[step])];
                    let got = slice(&[2, len], &lists).unwrap();
                    let taken = walk(len as i64, start, end, step);
                    let want: Vec<i32> =
                        (0..2).flat_map(|row| taken.iter().map(move |i| (row * len as i64 + i) as i32)).collect();
                    assert_eq!(got, Value::new(&[2, taken.len()], &want), "{len} {start} {end} {step}");
                }
            }
        }
    }
}

#[test]
fn several_axes_and_left_out_lists() {
    let got = slice(&[3, 4, 5], &[("starts", &[1, -1]), ("ends", &[3, -9]), ("axes", &[2, 0]), ("steps", &[1, -2])]);
    let mut want = Vec::new();
    for i in [2, 0] {
        for j in 0..4 {
            for k in 1..3 {
                want.push((i * 4 + j) * 5 + k);
            }
        }
    }
    assert_eq!(got.unwrap(), Value::new(&[2, 4, 2], &want));
    assert_eq!(slice(&[5], &[("starts", &[3]), ("ends", &[9])]).unwrap(), Value::new(&[2], &[3, 4]));
    let reversed = slice(&[3], &[("starts", &[-1]), ("ends", &[-9]), ("axes", &[]), ("steps", &[-1])]);
    assert_eq!(reversed.unwrap(), Value::new(&[3], &[2, 1, 0]));
}

#[test]
fn the_old_form_has_attributes() {
    let mut model = Model::new();
    let ints = |list: &[i64]| Attr::Ints(list.to_vec());
    let attrs = vec![("starts", ints(&[1])), ("ends", ints(&[1000])), ("axes", ints(&[1]))];
    model.version(1).input::<f32>("x", &[2, 3]).node("Slice", &["x"], &["y"], attrs).output("y");
    let got = model.run(&[Value::new(&[2, 3], &[0f32, 1., 2., 3., 4., 5.])]).unwrap();
    assert_eq!(got, [Value::new(&[2, 2], &[1f32, 2., 4., 5.])]);
}

#[test]
fn bad_lists_are_errors() {
    let error = |lists| slice(&[3, 4], lists).unwrap_err();
    assert!(error(&[("starts", &[0]), ("ends", &[1]), ("axes", &[0]), ("steps", &[0])]).contains("step"));
    assert!(error(&[("starts", &[0, 0]), ("ends", &[1])]).contains("length"));
    assert!(error(&[("starts", &[0]), ("ends", &[1]), ("axes", &[2])]).contains("axis 2"));
    assert!(error(&[("starts", &[0, 0]), ("ends", &[1, 1]), ("axes", &[0, -2])]).contains("twice"));
}
