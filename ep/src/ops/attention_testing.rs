//! What the tests of the attention operators share.

use kernels::reference;
use kernels::tensor::DType;

use crate::Error;
use crate::ir::{Attr, Dim};
use crate::testing::{Model, Value};

/// Deterministic values in -1..1.
pub fn wave(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|index| ((index * 37 + seed * 101) % 53) as f32 / 26.5 - 1.0).collect()
}

pub fn value(dims: &[usize], seed: usize) -> Value {
    Value::new(dims, &wave(dims.iter().product(), seed))
}

/// Runs one node and gives its first output; see [`run_all`].
pub fn run(
    op: (&'static str, &str, i32),
    inputs: &[Option<Value>],
    constants: &[usize],
    attrs: Vec<(&'static str, Attr<'static>)>,
) -> Result<Value, Error> {
    Ok(run_all(op, inputs, constants, attrs, &[DType::F32])?.remove(0))
}

/// Runs one node with outputs of these types; `None` leaves an input out, a number in `constants` makes that input an
/// initializer.
pub fn run_all(
    (domain, op, version): (&'static str, &str, i32),
    inputs: &[Option<Value>],
    constants: &[usize],
    attrs: Vec<(&'static str, Attr<'static>)>,
    outputs: &[DType],
) -> Result<Vec<Value>, Error> {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"];
    let mut model = Model::new();
    let mut given = Vec::new();
    for (index, value) in inputs.iter().enumerate() {
        match value {
            Some(value) if constants.contains(&index) => {
                model.constant(names[index], &value.dims, value.values::<f32>());
            }
            Some(value) => {
                let shape = value.dims.iter().map(|&dim| Dim::Known(dim)).collect();
                model.input_of(names[index], value.dtype, shape);
                given.push(value.clone());
            }
            None => {}
        }
    }
    let names: Vec<&str> = inputs.iter().zip(names).map(|(value, name)| value.as_ref().map_or("", |_| name)).collect();
    let results = &["y", "y1", "y2", "y3"][..outputs.len()];
    for (name, &dtype) in results.iter().zip(outputs) {
        model.typed_only(name, dtype);
    }
    model.domain(domain).version(version).node(op, &names, results, attrs);
    results.iter().for_each(|name| _ = model.output(name));
    model.run(&given)
}

/// An attention in f64 over `[batch, heads, rows, cols]` operands that functions describe.
pub struct Expected<'a> {
    /// Batch, heads, queries, keys.
    pub sizes: [usize; 4],
    /// Width of a query and of a value.
    pub widths: [usize; 2],
    pub scale: f64,
    pub q: &'a dyn Fn([usize; 4]) -> f32,
    pub k: &'a dyn Fn([usize; 4]) -> f32,
    pub v: &'a dyn Fn([usize; 4]) -> f32,
    pub bias: &'a dyn Fn([usize; 4]) -> f64,
}

impl Expected<'_> {
    /// Asserts that `y` is the result in the order `[batch, query, head, column]`, or with heads before queries.
    pub fn check(&self, y: &Value, heads_first: bool) {
        let [batch, heads, queries, keys] = self.sizes;
        let [width, value_width] = self.widths;
        let y = y.values::<f32>();
        assert_eq!(y.len(), batch * heads * queries * value_width);
        for (b, h) in (0..batch).flat_map(|b| (0..heads).map(move |h| (b, h))) {
            let gather = |at: &dyn Fn([usize; 4]) -> f32, rows: usize, cols: usize| -> Vec<f32> {
                (0..rows * cols).map(|index| at([b, h, index / cols, index % cols])).collect()
            };
            let (q, k, v) =
                (gather(self.q, queries, width), gather(self.k, keys, width), gather(self.v, keys, value_width));
            let bias: Vec<f64> =
                (0..queries * keys).map(|index| (self.bias)([b, h, index / keys, index % keys])).collect();
            let sizes = [queries, keys, width, value_width];
            let expected = reference::attention::attention(&q, &k, &v, &bias, sizes, self.scale);
            for (index, expected) in expected.iter().enumerate() {
                let (s, c) = (index / value_width, index % value_width);
                let row = if heads_first { (b * heads + h) * queries + s } else { (b * queries + s) * heads + h };
                let actual = y[row * value_width + c];
                let close = (f64::from(actual) - expected).abs() < 3e-6;
                assert!(close, "b={b} h={h} s={s} c={c}: {actual} instead of {expected}");
            }
        }
    }
}
