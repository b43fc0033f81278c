//! Inputs and outputs of unusual form.

use e2e::onnx::{self, FLOAT, GraphProto, NodeProto, STRING, floats, int, node, value};
use e2e::{builder, reference, run, run_raw, session};
use ort::AsPointer;
use ort::memory::MemoryInfo;
use ort::value::{Shape, Tensor, TensorRefMut};

/// y = (x * x) * w, where w is a constant.
fn scaled_square() -> Vec<u8> {
    onnx::model(GraphProto {
        name: "scaled_square".into(),
        input: vec![value("x", FLOAT, "n,3")],
        output: vec![value("y", FLOAT, "n,3")],
        initializer: vec![floats("w", &[1, 3], &[1.0, -2.0, 0.5])],
        node: vec![node("Mul", &["x", "x"], &["s"]), node("Mul", &["s", "w"], &["y"])],
        ..GraphProto::default()
    })
}

fn expected(x: &[f32]) -> Vec<f32> {
    x.iter().zip([1.0, -2.0, 0.5].iter().cycle()).map(|(x, w)| x * x * w).collect()
}

#[test]
fn an_input_used_twice_is_one_input() {
    let x = [1.5, -2.0, 3.0, 0.25, 5.0, -6.0];
    let y = run(&mut session(&scaled_square()).unwrap(), &[("x", &[2, 3], &x)]).unwrap();
    assert_eq!(y, [(vec![2, 3], expected(&x))]);
}

#[test]
fn shapes_change_from_run_to_run() {
    let mut session = session(&scaled_square()).unwrap();
    for rows in [4, 1, 0, 7, 4, 300, 1] {
        let x: Vec<f32> = (0..rows * 3).map(|i| i as f32 - 5.0).collect();
        let y = run(&mut session, &[("x", &[rows, 3], &x)]).unwrap();
        assert_eq!(y, [(vec![rows, 3], expected(&x))]);
    }
}

#[test]
fn special_values_pass_through() {
    let x = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let y = run(&mut session(&scaled_square()).unwrap(), &[("x", &[1, 3], &x)]).unwrap();
    assert!(y[0].1[0].is_nan());
    assert_eq!(y[0].1[1..], [f32::NEG_INFINITY, f32::INFINITY]);
}

#[test]
fn a_wrong_rank_or_shape_is_an_error() {
    let mut session = session(&scaled_square()).unwrap();
    assert!(run(&mut session, &[("x", &[3], &[1.0; 3])]).is_err());
    assert!(run(&mut session, &[("x", &[1, 4], &[1.0; 4])]).is_err());
    let y = run(&mut session, &[("x", &[1, 3], &[1.0; 3])]).unwrap();
    assert_eq!(y[0].1, expected(&[1.0; 3]), "the session still runs");
}

#[test]
fn a_failing_run_names_node_and_operator() {
    let model = onnx::model(GraphProto {
        name: "mismatch".into(),
        input: vec![value("a", FLOAT, "n"), value("b", FLOAT, "m")],
        output: vec![value("y", FLOAT, "?")],
        node: vec![node("Mul", &["a", "b"], &["y"])],
        ..GraphProto::default()
    });
    let mut session = session(&model).unwrap();
    let error = run(&mut session, &[("a", &[2], &[1.0; 2]), ("b", &[3], &[1.0; 3])]).unwrap_err();
    assert!(error.to_string().contains("'Mul_y' (Mul)"), "{error}");
}

/// Bytes with room to place floats one byte past an aligned address.
struct Unaligned(Vec<f32>);

impl Unaligned {
    fn new(data: &[f32]) -> Self {
        let mut this = Self(vec![0.0; data.len() + 1]);
        // SAFETY: the vector has room for one more byte than `data` has.
        unsafe { this.pointer().copy_from(data.as_ptr().cast(), size_of_val(data)) };
        this
    }

    fn pointer(&mut self) -> *mut u8 {
        // SAFETY: the vector is not empty.
        unsafe { self.0.as_mut_ptr().cast::<u8>().add(1) }
    }

    fn tensor(&mut self, dims: &[i64]) -> TensorRefMut<'_, f32> {
        // SAFETY: the buffer holds the elements and outlives the tensor; ONNX Runtime asks for no alignment.
        unsafe { TensorRefMut::from_raw(MemoryInfo::default(), self.pointer().cast(), Shape::from(dims)) }.unwrap()
    }

    fn floats(&mut self) -> Vec<f32> {
        let count = self.0.len() - 1;
        // SAFETY: the buffer holds `count` floats after the first byte.
        (0..count).map(|i| unsafe { self.pointer().cast::<f32>().add(i).read_unaligned() }).collect()
    }
}

#[test]
fn buffers_need_no_alignment() {
    let session = session(&scaled_square()).unwrap();
    for round in 0..3 {
        let x: Vec<f32> = (0..6).map(|i| (i + round) as f32).collect();
        let (mut input, mut output) = (Unaligned::new(&x), Unaligned::new(&[0.0; 6]));
        let (x_tensor, y_tensor) = (input.tensor(&[2, 3]), output.tensor(&[2, 3]));
        // SAFETY: both tensors are live and only used here.
        unsafe { run_raw(&session, x_tensor.ptr(), &mut y_tensor.ptr().cast_mut()) }.unwrap();
        drop((x_tensor, y_tensor));
        assert_eq!(output.floats(), expected(&x));
    }
}

#[test]
fn an_initializer_that_is_an_input_can_be_overridden() {
    let model = onnx::model(GraphProto {
        name: "overridable".into(),
        input: vec![value("x", FLOAT, "3"), value("w", FLOAT, "3")],
        output: vec![value("y", FLOAT, "3")],
        initializer: vec![floats("w", &[3], &[2.0, 2.0, 2.0])],
        node: vec![node("Mul", &["x", "w"], &["y"])],
        ..GraphProto::default()
    });
    let mut session = session(&model).unwrap();
    let x = [1.0, 2.0, 3.0];
    assert_eq!(run(&mut session, &[("x", &[3], &x)]).unwrap()[0].1, [2.0, 4.0, 6.0]);
    let y = run(&mut session, &[("x", &[3], &x), ("w", &[3], &[1.0, 10.0, 100.0])]).unwrap();
    assert_eq!(y[0].1, [1.0, 20.0, 300.0]);
}

/// Optional inputs left out in turn; the CPU provider is the reference. Without a required input ONNX Runtime itself
/// may crash at load, before any provider sees the graph.
#[test]
fn optional_inputs_may_be_missing() {
    for (op, missing) in [("Clip", 1), ("Clip", 2), ("Gemm", 2)] {
        let mut inputs = ["x", "w", "w"];
        inputs[missing] = "";
        let w = match op {
            "Clip" => floats("w", &[], &[2.5]),
            _ => floats("w", &[2, 2], &[1.0, -1.0, 0.5, 3.0]),
        };
        let model = onnx::model(GraphProto {
            name: op.into(),
            input: vec![value("x", FLOAT, "2,2")],
            output: vec![value("y", FLOAT, "2,2")],
            initializer: vec![w],
            node: vec![node(op, &inputs, &["y"])],
            ..GraphProto::default()
        });
        let x: &[(&str, &[i64], &[f32])] = &[("x", &[2, 2], &[1.0, 2.0, 3.0, 4.0])];
        let ours = builder(&[("claim", "all")]).unwrap().commit_from_memory(&model).unwrap();
        let [ours, theirs] = [ours, reference(&model).unwrap()].map(|mut session| run(&mut session, x).unwrap());
        assert_eq!(ours[0].0, theirs[0].0);
        for (ours, theirs) in ours[0].1.iter().zip(&theirs[0].1) {
            assert!((ours - theirs).abs() <= 1e-5, "{op} without input {missing}: {ours} {theirs}");
        }
    }
}

#[test]
fn strings_stay_on_the_cpu_provider() {
    let model = onnx::model(GraphProto {
        name: "strings".into(),
        input: vec![value("x", STRING, "n")],
        output: vec![value("y", STRING, "m")],
        node: vec![NodeProto { attribute: vec![int("axis", 0)], ..node("Concat", &["x", "x"], &["y"]) }],
        ..GraphProto::default()
    });
    let mut session = builder(&[("claim", "all")]).unwrap().commit_from_memory(&model).unwrap();
    let x = Tensor::from_string_array(([2_usize], &["a", "b"][..])).unwrap();
    let outputs = session.run(ort::inputs!["x" => x]).unwrap();
    let (_, strings) = outputs[0].try_extract_strings().unwrap();
    assert_eq!(strings, ["a", "b", "a", "b"]);
}
