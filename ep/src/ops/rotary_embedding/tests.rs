use crate::ir::Attr;
use crate::ops::attention_testing::{run, value, wave};
use crate::testing::Value;

const ONNX: (&str, &str, i32) = ("", "RotaryEmbedding", 23);
const MICROSOFT: (&str, &str, i32) = ("com.microsoft", "RotaryEmbedding", 1);
const MULTIMODAL: (&str, &str, i32) = ("com.microsoft", "MRotaryEmbedding", 1);

fn ints(list: &[(&'static str, i64)]) -> Vec<(&'static str, Attr<'static>)> {
    list.iter().map(|&(name, value)| (name, Attr::Int(value))).collect()
}

/// The row that pair `pair` of token (b, s) turns by.
fn turned(x: &[f32], pairs: usize, interleaved: bool, angle: impl Fn(usize) -> (f32, f32)) -> Vec<f32> {
    let mut y = x.to_vec();
    for pair in 0..pairs {
        let (i, j) = if interleaved { (2 * pair, 2 * pair + 1) } else { (pair, pair + pairs) };
        let (cos, sin) = angle(pair);
        (y[i], y[j]) = (x[i] * cos - x[j] * sin, x[i] * sin + x[j] * cos);
    }
    y
}

fn assert_close(actual: &Value, expected: &[f32]) {
    let actual = actual.values::<f32>();
    assert_eq!(actual.len(), expected.len());
    assert!(actual.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{actual:?} instead of {expected:?}");
}

#[test]
fn both_domains_turn_both_layouts() {
    let (x, cos, sin) = (value(&[2, 3, 12], 1), value(&[9, 2], 2), value(&[9, 2], 3));
    let ids = [4i64, 0, 8, 1, 1, 2];
    let positions = Value::new(&[2, 3], &ids);
    let (c, s) = (wave(18, 2), wave(18, 3));
    for interleaved in [false, true] {
        let rows = x.values::<f32>().chunks(6).enumerate();
        let expected: Vec<f32> = rows
            .flat_map(|(row, x)| {
                let at = ids[row / 2] as usize * 2;
                turned(x, 2, interleaved, |pair| (c[at + pair], s[at + pair]))
            })
            .collect();
        let attrs = ints(&[("num_heads", 2), ("rotary_embedding_dim", 4), ("interleaved", interleaved.into())]);
        let [x, cos, sin, ids] = [&x, &cos, &sin, &positions].map(|value| Some(value.clone()));
        let inputs = [x.clone(), cos.clone(), sin.clone(), ids.clone()];
        assert_close(&run(ONNX, &inputs, &[], attrs.clone()).unwrap(), &expected);
        assert_close(&run(MICROSOFT, &[x, ids, cos, sin], &[], attrs).unwrap(), &expected);
    }
}

#[test]
fn three_positions_by_sections() {
    let (x, cos, sin) = (value(&[1, 2, 8], 1), value(&[9, 4], 2), value(&[9, 4], 3));
    let ids = [0i64, 1, 2, 3, 4, 5];
    let (c, s) = (wave(36, 2), wave(36, 3));
    for (layout, sections) in [(0, [0usize, 0, 1, 2]), (1, [0, 1, 2, 0])] {
        let rows = x.values::<f32>().chunks(8).enumerate();
        let expected: Vec<f32> = rows
            .flat_map(|(row, x)| {
                let at = |pair: usize| ids[sections[pair] * 2 + row] as usize * 4 + pair;
                turned(x, 4, false, |pair| (c[at(pair)], s[at(pair)]))
            })
            .collect();
        let mut attrs = ints(&[("num_heads", 1), ("mrope_layout", layout)]);
        attrs.push(("mrope_section", Attr::Ints(vec![2, 1, 1])));
        let positions = Some(Value::new(&[3, 1, 2], &ids));
        let inputs = [Some(x.clone()), positions, Some(cos.clone()), Some(sin.clone())];
        assert_close(&run(MULTIMODAL, &inputs, &[], attrs).unwrap(), &expected);
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let (x, cos) = (Some(value(&[2, 3, 12], 1)), Some(value(&[9, 2], 2)));
    let ids = |dims: &[usize]| Some(Value::new(dims, &vec![0i64; dims.iter().product()]));
    let error = |inputs: &[Option<Value>], attrs: &[(&'static str, i64)]| {
        run(MICROSOFT, inputs, &[], ints(attrs)).unwrap_err().to_string()
    };
    let inputs = |positions: &[usize]| [x.clone(), ids(positions), cos.clone(), cos.clone()];
    assert!(error(&inputs(&[3, 2]), &[]).contains("positions of shape [3, 2]"));
    assert!(error(&inputs(&[1]), &[("num_heads", 2)]).contains("does not fit caches"));
    assert!(error(&inputs(&[1]), &[("is_packed_batching", 1)]).contains("is_packed_batching"));
    let differing = [x.clone(), ids(&[1]), cos.clone(), Some(value(&[8, 2], 2))];
    assert!(error(&differing, &[]).contains("differ"));
    let beyond = [x.clone(), Some(Value::new(&[1], &[7i64])), cos.clone(), cos.clone()];
    assert!(error(&beyond, &[]).contains("position 9 is not in the 9 rows"));
    let error = run(MULTIMODAL, &inputs(&[3, 2, 3]), &[], vec![]).unwrap_err().to_string();
    assert!(error.contains("mrope_section"));
}
