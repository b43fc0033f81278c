use half::f16;
use kernels::tensor::Element;

use crate::ir::Attr;
use crate::testing::{Model, Value};

/// A product of 3 rows with a weight of `bits` bits, whose zero points are packed.
struct Case {
    k: usize,
    n: usize,
    bits: usize,
    block: usize,
}

impl Case {
    fn blocks(&self) -> usize {
        self.k.div_ceil(self.block)
    }

    fn codes(&self) -> Vec<u8> {
        (0..self.n * self.blocks() * self.block * self.bits / 8).map(|i| (i * 37 + i / 5) as u8).collect()
    }

    fn zero_points(&self) -> Vec<u8> {
        (0..self.n * (self.blocks() * self.bits).div_ceil(8)).map(|i| (i * 91 + 3) as u8).collect()
    }

    fn scales(&self) -> Vec<f32> {
        (0..self.n * self.blocks()).map(|i| (i % 7) as f32 / 32.0 - 0.0625).collect()
    }

    fn rows(&self) -> Vec<f32> {
        (0..3 * self.k).map(|i| (i * 13 % 17) as f32 / 8.0 - 1.0).collect()
    }

    fn bias(&self) -> Vec<f32> {
        (0..self.n).map(|i| i as f32 / 4.0).collect()
    }

    /// The element at `index` of a stream of codes.
    fn code(&self, bytes: &[u8], index: usize) -> f64 {
        let bit = index * self.bits;
        f64::from(bytes[bit / 8] >> (bit % 8) & (u8::MAX >> (8 - self.bits)))
    }

    fn expected(&self) -> Vec<f64> {
        let (codes, zero_points, scales, rows) = (self.codes(), self.zero_points(), self.scales(), self.rows());
        let blocks = self.blocks();
        let zero_row = (blocks * self.bits).div_ceil(8);
        let mut y = Vec::new();
        for row in rows.chunks(self.k) {
            for column in 0..self.n {
                let product = |(depth, x): (usize, &f32)| {
                    let block = depth / self.block;
                    let zero_point = self.code(&zero_points[column * zero_row..], block);
                    let code = self.code(&codes, column * blocks * self.block + depth);
                    f64::from(*x) * (code - zero_point) * f64::from(scales[column * blocks + block])
                };
                y.push(row.iter().enumerate().map(product).sum::<f64>() + column as f64 / 4.0);
            }
        }
        y
    }

    fn attrs(&self, level: i64) -> Vec<(&'static str, Attr<'static>)> {
        let int = |value: usize| Attr::Int(value as i64);
        let (k, n, bits, block) = (int(self.k), int(self.n), int(self.bits), int(self.block));
        vec![("K", k), ("N", n), ("bits", bits), ("block_size", block), ("accuracy_level", Attr::Int(level))]
    }

    fn model<T: Element>(&self, convert: fn(f32) -> T, level: i64) -> Model {
        let (blocks, n) = (self.blocks(), self.n);
        let convert = |values: Vec<f32>| values.into_iter().map(convert).collect::<Vec<T>>();
        let mut model = Model::new();
        model.input::<T>("a", &[1, 3, self.k]);
        model.constant("b", &[n, blocks, self.block * self.bits / 8], &self.codes());
        model.constant("scales", &[n, blocks], &convert(self.scales()));
        model.constant("zero_points", &[n, (blocks * self.bits).div_ceil(8)], &self.zero_points());
        model.constant("bias", &[n], &convert(self.bias()));
        let inputs = ["a", "b", "scales", "zero_points", "", "bias"];
        model.domain("com.microsoft").version(1).node("MatMulNBits", &inputs, &["y"], self.attrs(level));
        model.output("y");
        model
    }
}

const CASE: Case = Case { k: 40, n: 5, bits: 4, block: 32 };

#[test]
fn all_widths_and_levels_give_the_product() {
    for (bits, block) in [(2, 16), (4, 32), (8, 64), (4, 512)] {
        let case = Case { bits, block, ..CASE };
        // Terms of at most 0.125 times 2^bits.
        let largest = 0.125 * f64::from(1u32 << bits);
        for level in 0..=4 {
            let y = case.model(|x| x, level).run(&[Value::new(&[1, 3, case.k], &case.rows())]).unwrap();
            assert_eq!(y[0].dims[..], [1, 3, case.n]);
            // 1/254 of each term when the rows go through int8, else the rounding of the sums.
            let bound = case.k as f64 * largest * if level == 4 { 1.0 / 254.0 } else { 1e-6 };
            for (y, expected) in y[0].values::<f32>().iter().zip(case.expected()) {
                assert!((f64::from(*y) - expected).abs() <= bound, "{bits} bits, level {level}: {y} is not {expected}");
            }
        }
    }
}

#[test]
fn f16_is_rounded_once() {
    let half: Vec<f16> = CASE.rows().into_iter().map(f16::from_f32).collect();
    let y = CASE.model(f16::from_f32, 0).run(&[Value::new(&[1, 3, CASE.k], &half)]).unwrap();
    for (y, expected) in y[0].values::<f16>().iter().zip(CASE.expected()) {
        assert!((y.to_f64() - expected).abs() <= expected.abs() / 2048.0 + 1e-3, "{y} is not {expected}");
    }
}

#[test]
fn what_is_not_known_is_declined() {
    let declined = |inputs: &[&str], attrs: Vec<(&str, Attr<'static>)>, reason: &str| {
        let mut model = Model::new();
        let blocks = CASE.blocks();
        model.input::<f32>("a", &[3, CASE.k]).input::<f32>("variable", &[CASE.n, blocks]);
        model.constant("b", &[CASE.n, blocks, 16], &CASE.codes());
        model.constant("scales", &[CASE.n, blocks], &CASE.scales());
        model.constant("short", &[CASE.n], &CASE.bias()).constant("order", &[CASE.k], &[0i32; CASE.k]);
        model.domain("com.microsoft").version(1).node("MatMulNBits", inputs, &["y"], attrs).output("y");
        let inputs = [Value::new(&[3, CASE.k], &CASE.rows()), Value::new(&[CASE.n, blocks], &CASE.scales())];
        let error = model.run(&inputs).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    let with = |name: &'static str, value: i64| {
        let mut attrs = CASE.attrs(0);
        attrs.retain(|(known, _)| *known != name);
        attrs.push((name, Attr::Int(value)));
        attrs
    };
    let plain = ["a", "b", "scales"];
    declined(&plain, with("bits", 3), "3 bits");
    declined(&plain, with("block_size", 48), "blocks of 48");
    declined(&plain, with("block_size", 8), "blocks of 8");
    declined(&plain, with("accuracy_level", 5), "accuracy_level 5");
    declined(&plain, with("weight_prepacked", 1), "packed for another provider");
    declined(&plain, with("K", 0), "'K' is 0");
    declined(&plain, with("N", 6), "are not those of");
    declined(&["a", "b", "short"], CASE.attrs(0), "are not those of");
    declined(&["a", "b", "scales", "short"], CASE.attrs(0), "are not those of");
    declined(&["a", "b", "variable"], CASE.attrs(0), "input 2 is not constant");
    declined(&["a", "b", "scales", "", "order"], CASE.attrs(0), "g_idx");
}

#[test]
fn a_left_hand_side_of_another_depth_is_an_error() {
    let error = CASE.model(|x| x, 0).run(&[Value::new(&[1, 3, 39], &[0f32; 3 * 39])]).unwrap_err().to_string();
    assert!(error.contains("does not fit a weight of 40 x 5"), "{error}");
}

#[test]
fn the_option_accuracy_asks_for_int8_like_the_attribute() {
    let rows = [Value::new(&[1, 3, CASE.k], &CASE.rows())];
    let run = |level, accuracy| CASE.model(|x| x, level).run_with(&[("accuracy", accuracy)], &rows).unwrap();
    assert_eq!(run(0, "int8"), run(4, "fp32"));
    assert_eq!(run(0, "fp16"), run(0, "fp32"));
    assert_ne!(run(0, "int8"), run(0, "fp32"));
}
