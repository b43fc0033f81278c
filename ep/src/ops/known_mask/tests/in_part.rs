//! Masks whose causal part follows from shapes, while another part depends on inputs.

use super::*;
use kernels::reference;

const B: usize = 2;

/// Adds nodes that compute `mask`.
type Make = fn(&mut Model);

/// An attention to one head of width 1 by an operator, with `mask` as its mask.
struct Form {
    name: &'static str,
    dtype: DType,
    /// Dimensions of q, k and v between the batch and the element, with their length as this symbol.
    shape: fn(&str) -> Vec<Dim>,
    add: Make,
}

fn with_heads(length: &str) -> Vec<Dim> {
    vec![Dim::Known(B), Dim::Known(1), Dim::Symbol(length.into()), Dim::Known(1)]
}

fn without_heads(length: &str) -> Vec<Dim> {
    vec![Dim::Known(B), Dim::Symbol(length.into()), Dim::Known(1)]
}

const SDPA: Form = Form {
    name: "Sdpa",
    dtype: DType::F32,
    shape: with_heads,
    add: |model| {
        let mut attrs =
            ["q_order", "k_order", "v_order", "out_order"].map(|name| (name, Attr::Str("bnsh".into()))).to_vec();
        attrs.push(("nan_rows_to_zero", Attr::Int(1)));
        model.domain("spacemit").version(1).node("Sdpa", &["q", "k", "v", "mask"], &["y"], attrs);
    },
};

const ATTENTION: Form = Form {
    name: "Attention",
    dtype: DType::F32,
    shape: with_heads,
    add: |model| _ = model.version(23).node("Attention", &["q", "k", "v", "mask"], &["y"], vec![]),
};

const MULTI_HEAD: Form = Form {
    name: "MultiHeadAttention",
    dtype: DType::F32,
    shape: without_heads,
    add: |model| {
        let inputs = ["q", "k", "v", "", "", "mask"];
        model.domain("com.microsoft").version(1);
        model.node("MultiHeadAttention", &inputs, &["y"], vec![("num_heads", Attr::Int(1))]);
    },
};

/// The model of a form, whose mask `make` computes from `causal` `[s, t]`, which follows from shapes, `padding`
/// `[b, 1, 1, t]`, an input, and some constants.
fn model(form: &Form, make: Make) -> Model {
    let mut model = Model::new();
    for (name, length) in [("q", "s"), ("k", "t"), ("v", "t")] {
        model.input_of(name, form.dtype, (form.shape)(length));
    }
    let padding = [Dim::Known(B), Dim::Known(1), Dim::Known(1), Dim::Symbol("t".into())];
    model.input_of("padding", DType::Bool, padding.to_vec());
    model.constant("zero", &[], &[0f32]).constant("hidden", &[], &[f32::NEG_INFINITY]).constant(
        "low",
        &[],
        &[f32::MIN],
    );
    model.constant("zero16", &[], &[f16::ZERO]).constant("hidden16", &[], &[f16::NEG_INFINITY]);
    model.constant("batch_axis", &[1], &[B as i64]).constant("head_axis", &[1], &[1i64]);
    lengths(&mut model, (form.shape)("").len() - 2);
    seen(&mut model);
    for (name, dtype) in [("both", DType::Bool), ("wide", DType::Bool), ("term", form.dtype), ("mask", form.dtype)] {
        model.typed_only(name, dtype);
    }
    make(&mut model);
    (form.add)(&mut model);
    model.output("y");
    model
}

/// The form of torch's exporter: `Where(And(causal, padding), 0, -inf)`.
fn exported(model: &mut Model) {
    model.node("And", &["seen", "padding"], &["both"], vec![]);
    model.node("Where", &["both", "zero", "hidden"], &["mask"], vec![]);
}

/// The same as transformers write it: a conjunction with all that is true first, then expanded to the batch.
fn expanded(model: &mut Model) {
    let one = Attr::Tensor(Tensor::borrowed(DType::Bool, &[1], &[1]).into_owned());
    for name in ["all", "inner"] {
        model.typed_only(name, DType::Bool);
    }
    for length in ["queries", "keys"] {
        model.node("Unsqueeze", &[length, "first"], &[&format!("{length}_axis")], vec![]);
    }
    model.node("ConstantOfShape", &["head_axis"], &["all"], vec![("value", one)]);
    model.node("And", &["padding", "all"], &["inner"], vec![]).node("And", &["inner", "seen"], &["both"], vec![]);
    model.node(
        "Concat",
        &["batch_axis", "head_axis", "queries_axis", "keys_axis"],
        &["shape"],
        vec![("axis", Attr::Int(0))],
    );
    model.node("Expand", &["both", "shape"], &["wide"], vec![]);
    model.node("Where", &["wide", "zero", "hidden"], &["mask"], vec![]);
}

/// A mask of padding that is hidden once more by position.
fn hidden_again(model: &mut Model) {
    model.node("Where", &["padding", "zero", "hidden"], &["term"], vec![]);
    model.node("Where", &["seen", "term", "hidden"], &["mask"], vec![]);
}

/// Bools, as ai.onnx Attention takes them.
fn flags(model: &mut Model) {
    model.typed_only("mask", DType::Bool).node("And", &["padding", "seen"], &["mask"], vec![]);
}

/// Where padding and both lengths leave the first query of sequence 1 no key.
fn inputs(form: &Form, queries: usize, keys: usize) -> Vec<Value> {
    let dims = |length: usize| -> Vec<usize> {
        let known = |dim: Dim| if let Dim::Known(dim) = dim { dim } else { length };
        (form.shape)("").into_iter().map(known).collect()
    };
    let value = |(&length, seed): (&usize, u64)| {
        let (dims, values) = (dims(length), noise(seed, &dims(length)));
        match form.dtype {
            DType::F16 => Value::new(&dims, &values.into_iter().map(f16::from_f32).collect::<Vec<_>>()),
            _ => Value::new(&dims, &values),
        }
    };
    let mut inputs: Vec<Value> = [queries, keys, keys].iter().zip(1..).map(value).collect();
    let padding: Vec<u8> = (0..B * keys).map(|at| u8::from(at < keys || at % keys > keys - queries)).collect();
    inputs.push(Value::new(&[B, 1, 1, keys], &padding).into_bool());
    inputs
}

fn is_bounded(model: &Model, inputs: &[Value]) -> bool {
    let steps = model.steps(inputs);
    steps.lines().find(|line| line.contains(": attention")).expect(&steps).contains(" causal")
}

#[test]
fn the_part_that_follows_from_shapes_bounds_attention() {
    let cases: [(&Form, &[Make]); 3] = [
        (&SDPA, &[exported, expanded, hidden_again, flags]),
        (&ATTENTION, &[exported, expanded, hidden_again, flags]),
        (&MULTI_HEAD, &[exported, expanded, hidden_again]),
    ];
    for (form, makes) in cases {
        for make in makes {
            let model = model(form, *make);
            for (queries, keys) in [(1, 1), (4, 4), (3, 7), (1, 6), (70, 300)] {
                let inputs = inputs(form, queries, keys);
                assert_eq!(is_bounded(&model, &inputs), queries > 1, "{}", form.name);
                check(&model.run(&inputs).unwrap()[0], &inputs, [queries, keys], form.name);
            }
        }
    }
}

#[test]
fn what_is_known_as_a_whole_is_not_read() {
    for form in [&SDPA, &ATTENTION, &MULTI_HEAD] {
        let model = model(form, |model| _ = model.node("Where", &["seen", "zero", "hidden"], &["mask"], vec![]));
        for (queries, keys) in [(1, 3), (4, 4), (3, 7)] {
            let mut inputs = inputs(form, queries, keys);
            inputs[3] = Value::new(&[B, 1, 1, keys], &vec![1u8; B * keys]).into_bool();
            let steps = model.steps(&inputs);
            assert!(
                steps.lines().any(|line| line.contains(": attention") && line.contains("| in0 in1 in2 ->")),
                "{steps}"
            );
            assert_eq!(is_bounded(&model, &inputs), queries > 1, "{}", form.name);
            check(&model.run(&inputs).unwrap()[0], &inputs, [queries, keys], form.name);
        }
    }
}

#[test]
fn halves_hide_as_well() {
    let form = Form { dtype: DType::F16, ..SDPA };
    let model = model(&form, |model| {
        model.node("And", &["seen", "padding"], &["both"], vec![]);
        model.node("Where", &["both", "zero16", "hidden16"], &["mask"], vec![]);
    });
    assert!(is_bounded(&model, &inputs(&form, 4, 4)));
}

/// Rows that see nothing are zero, or NaN for MultiHeadAttention.
fn check(y: &Value, inputs: &[Value], [queries, keys]: [usize; 2], op: &str) {
    let [q, k, v] = [0, 1, 2].map(|at: usize| inputs[at].values::<f32>());
    let padding = inputs[3].values::<u8>();
    for (b, y) in y.values::<f32>().chunks_exact(queries).enumerate() {
        let sees = |s: usize, t: usize| t + queries <= s + keys && padding[b * keys + t] != 0;
        let bias: Vec<f64> =
            (0..queries * keys).map(|at| if sees(at / keys, at % keys) { 0.0 } else { f64::NEG_INFINITY }).collect();
        let (q, k, v) = (&q[b * queries..][..queries], &k[b * keys..][..keys], &v[b * keys..][..keys]);
        let want = reference::attention::attention(q, k, v, &bias, [queries, keys, 1, 1], 1.0);
        for (s, (y, want)) in y.iter().zip(want).enumerate() {
            let hidden = (0..keys).all(|t| !sees(s, t));
            let right = match hidden {
                true if op == "MultiHeadAttention" => y.is_nan(),
                true => *y == 0.0,
                false => (f64::from(*y) - want).abs() < 3e-6,
            };
            assert!(right, "{op}: batch {b}, query {s} of {queries}, {keys} keys: {y} instead of {want}");
        }
    }
}

#[test]
fn near_misses_are_not_bounded() {
    let makes: [(&str, Make); 5] = [
        ("a row that sees nothing is uniform over all keys", |model| {
            model.node("And", &["seen", "padding"], &["both"], vec![]);
            model.node("Where", &["both", "zero", "low"], &["mask"], vec![]);
        }),
        ("padding is seen wherever it is", |model| {
            model.node("Or", &["seen", "padding"], &["both"], vec![]);
            model.node("Where", &["both", "zero", "hidden"], &["mask"], vec![]);
        }),
        ("what is behind is seen", |model| {
            model.node("And", &["seen", "padding"], &["both"], vec![]);
            model.node("Where", &["both", "hidden", "zero"], &["mask"], vec![]);
        }),
        ("the negation is seen", |model| {
            model.node("And", &["seen", "padding"], &["both"], vec![]).node("Not", &["both"], &["wide"], vec![]);
            model.node("Where", &["wide", "zero", "hidden"], &["mask"], vec![]);
        }),
        ("queries and keys change places", |model| {
            model.node("And", &["seen", "padding"], &["both"], vec![]);
            model.node("Transpose", &["both"], &["wide"], vec![("perm", Attr::Ints(vec![0, 1, 3, 2]))]);
            model.node("Where", &["wide", "zero", "hidden"], &["mask"], vec![]);
        }),
    ];
    for (why, make) in makes {
        assert!(!is_bounded(&model(&SDPA, make), &inputs(&SDPA, 4, 4)), "{why}");
    }
}
