use super::reshaped;
use crate::ir::Attr;
use crate::testing::{Model, Value};

/// The shape that `op` gives a tensor of shape `dims`, whose elements must stay as they are.
fn shape(
    op: &str,
    version: i32,
    dims: &[usize],
    list: Option<&[i64]>,
    attrs: Vec<(&str, Attr<'static>)>,
) -> Result<Vec<usize>, String> {
    let mut model = Model::new();
    model.version(version).input::<i32>("x", dims);
    match list {
        Some(list) => model.constant("list", &[list.len()], list).node(op, &["x", "list"], &["y"], attrs),
        None => model.node(op, &["x"], &["y"], attrs),
    };
    let values: Vec<i32> = (0..dims.iter().product::<usize>() as i32).collect();
    let outputs = model.output("y").run(&[Value::new(dims, &values)]).map_err(|error| error.to_string())?;
    assert_eq!(outputs[0].values::<i32>(), values);
    Ok(outputs[0].dims.to_vec())
}

/// Dimensions, the request, `allowzero`, and the dimensions that come out.
type Reshaped = (&'static [usize], &'static [i64], bool, &'static [usize]);

#[test]
fn reshape_copies_and_infers_dimensions() {
    let good: [Reshaped; 8] = [
        (&[2, 3, 4], &[4, 6], false, &[4, 6]),
        (&[2, 3, 4], &[0, -1], false, &[2, 12]),
        (&[2, 3, 4], &[0, 0, 2, -1], false, &[2, 3, 2, 2]),
        (&[1], &[], false, &[]),
        (&[], &[1, -1], false, &[1, 1]),
        (&[0, 3], &[3, 0], true, &[3, 0]),
        (&[0, 3], &[0, 5], false, &[0, 5]),
        (&[0, 3], &[7, -1], false, &[7, 0]),
    ];
    for (from, request, allow_zero, to) in good {
        assert_eq!(reshaped(from, request, allow_zero).unwrap().as_slice(), to);
        let attrs = vec![("allowzero", Attr::Int(allow_zero.into()))];
        assert_eq!(shape("Reshape", 21, from, Some(request), attrs).unwrap(), to);
    }
    assert_eq!(shape("Reshape", 1, &[6], None, vec![("shape", Attr::Ints(vec![2, -1]))]).unwrap(), [2, 3]);
}

#[test]
fn reshape_rejects_what_does_not_fit() {
    let bad: [(&[usize], &[i64], bool); 7] = [
        (&[2, 3], &[-1, -1], false),
        (&[2, 3], &[4, -1], false),
        (&[2, 3], &[-2, 3], false),
        (&[2], &[1, 0], false),
        (&[0, 3], &[0, -1], true),
        (&[0], &[0, -1], false),
        (&[2, 3], &[i64::MAX, i64::MAX, -1], false),
    ];
    for (from, request, allow_zero) in bad {
        reshaped(from, request, allow_zero).unwrap_err();
    }
    let error = shape("Reshape", 21, &[2, 3], Some(&[7]), vec![]).unwrap_err();
    assert!(error.contains("'y' (Reshape)") && error.contains("[7]"), "{error}");
}

#[test]
fn squeeze_unsqueeze_and_flatten() {
    let axes = |list: &[i64]| vec![("axes", Attr::Ints(list.to_vec()))];
    assert_eq!(shape("Squeeze", 13, &[1, 3, 1, 2], Some(&[0]), vec![]).unwrap(), [3, 1, 2]);
    assert_eq!(shape("Squeeze", 13, &[1, 3, 1, 2], Some(&[-2]), vec![]).unwrap(), [1, 3, 2]);
    assert_eq!(shape("Squeeze", 13, &[1, 3, 1, 2], None, vec![]).unwrap(), [3, 2]);
    assert_eq!(shape("Squeeze", 11, &[1, 3, 1, 2], None, axes(&[0, -2])).unwrap(), [3, 2]);
    assert!(shape("Squeeze", 13, &[1, 3], Some(&[1]), vec![]).unwrap_err().contains("axis 1"));
    assert_eq!(shape("Unsqueeze", 13, &[3, 2], Some(&[0, -1]), vec![]).unwrap(), [1, 3, 2, 1]);
    assert_eq!(shape("Unsqueeze", 11, &[3], None, axes(&[2, 0])).unwrap(), [1, 3, 1]);
    assert!(shape("Unsqueeze", 13, &[3], Some(&[0, 0]), vec![]).unwrap_err().contains("twice"));
    assert!(shape("Unsqueeze", 13, &[3], Some(&[2]), vec![]).unwrap_err().contains("axis 2"));
    for (axis, want) in [(0, [1, 24]), (1, [2, 12]), (3, [24, 1]), (-1, [6, 4])] {
        assert_eq!(shape("Flatten", 13, &[2, 3, 4], None, vec![("axis", Attr::Int(axis))]).unwrap(), want);
    }
    assert_eq!(shape("Flatten", 13, &[], None, vec![("axis", Attr::Int(0))]).unwrap(), [1, 1]);
}
