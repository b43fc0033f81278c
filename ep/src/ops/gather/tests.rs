use crate::ir::Attr;
use crate::testing::{Model, Value};

fn run(op: &str, data: &[usize], indices: Value, attrs: Vec<(&str, Attr<'static>)>) -> Result<Value, String> {
    let mut model = Model::new();
    model.input::<f32>("data", data).input_of("indices", indices.dtype, known(&indices.dims));
    model.node(op, &["data", "indices"], &["y"], attrs).output("y");
    let values: Vec<f32> = (0..data.iter().product::<usize>()).map(|i| i as f32).collect();
    let outputs = model.run(&[Value::new(data, &values), indices]).map_err(|error| error.to_string())?;
    Ok(outputs[0].clone())
}

fn known(dims: &[usize]) -> Vec<crate::ir::Dim> {
    dims.iter().map(|&dim| crate::ir::Dim::Known(dim)).collect()
}

#[test]
fn gather_on_every_axis() {
    let dims = [2, 3, 4];
    for axis in -3..3i64 {
        let at = axis.rem_euclid(3) as usize;
        let len = dims[at] as i64;
        let indices = [-1, 0, len - 1, -len];
        let got = run("Gather", &dims, Value::new(&[2, 2], &indices), vec![("axis", Attr::Int(axis))]).unwrap();
        let outer: usize = dims[..at].iter().product();
        let inner: usize = dims[at + 1..].iter().product();
        let mut want = Vec::new();
        for o in 0..outer {
            for index in indices {
                let row = o * dims[at] + index.rem_euclid(len) as usize;
                want.extend((row * inner..(row + 1) * inner).map(|i| i as f32));
            }
        }
        let mut out = dims.to_vec();
        out.splice(at..=at, [2, 2]);
        assert_eq!(got, Value::new(&out, &want));
    }
    assert_eq!(run("Gather", &[3], Value::new(&[], &[-1i32]), vec![]).unwrap(), Value::new(&[], &[2f32]));
}

#[test]
fn an_index_out_of_bounds_names_node_index_and_bound() {
    let error = run("Gather", &[3, 2], Value::new(&[1], &[3i64]), vec![]).unwrap_err();
    assert!(error.contains("'y' (Gather)") && error.contains("index 3") && error.contains("3 elements"), "{error}");
    let error = run("GatherND", &[3, 2], Value::new(&[1, 2], &[0i64, 2]), vec![]).unwrap_err();
    assert!(error.contains("index 2") && error.contains("2 elements"), "{error}");
}

#[test]
fn gather_elements_and_nd() {
    let axis = |axis| vec![("axis", Attr::Int(axis))];
    let got = run("GatherElements", &[2, 3], Value::new(&[1, 3], &[1i64, 0, -1]), axis(0)).unwrap();
    assert_eq!(got, Value::new(&[1, 3], &[3f32, 1., 5.]));
    let got = run("GatherElements", &[2, 3], Value::new(&[2, 1], &[-1i32, 0]), axis(-1)).unwrap();
    assert_eq!(got, Value::new(&[2, 1], &[2f32, 3.]));
    assert!(run("GatherElements", &[2, 3], Value::new(&[3, 1], &[0i64; 3]), axis(1)).unwrap_err().contains("[3, 1]"));
    let got = run("GatherND", &[2, 2, 2], Value::new(&[2, 1], &[1i64, -2]), vec![]).unwrap();
    assert_eq!(got, Value::new(&[2, 2, 2], &[4f32, 5., 6., 7., 0., 1., 2., 3.]));
    let batch = vec![("batch_dims", Attr::Int(1))];
    let got = run("GatherND", &[2, 2, 2], Value::new(&[2, 1], &[1i64, 0]), batch).unwrap();
    assert_eq!(got, Value::new(&[2, 2], &[2f32, 3., 4., 5.]));
    assert!(run("GatherND", &[2, 2], Value::new(&[3], &[0i64; 3]), vec![]).unwrap_err().contains("[3]"));
}
