//! Drivers beside matrix products, on activations of MiniLM's size.

use kernels::driver::Driver;
use kernels::isa::isa_of_this_thread;
use kernels::ops::arithmetic::{Arithmetic, ArithmeticOp};
use kernels::ops::norm::{Norm, NormKind};
use kernels::ops::quantize::{DynamicQuantize, MinMax};
use kernels::ops::softmax::Softmax;
use kernels::ops::unary::{Unary, UnaryOp};
use kernels::table::QUANTIZE_F32_I8;
use kernels::tensor::DType;
use kernels::ukr::quantize_f32_i8;

use crate::item::{From, Items, Unit as Work, buffer, floats};
use crate::mark;

const ROWS: usize = 32;
const WIDTH: usize = 384;
const LEN: usize = ROWS * WIDTH;

pub fn all(items: &mut Items) {
    let x = || buffer(&floats(LEN));
    let work = (LEN, Work::Element);
    let unary = |items: &mut Items, name: &str, driver: Box<dyn Driver>| {
        items.driver(name, work, From::L2, || (driver, vec![x()], vec![4 * LEN]));
    };
    for (name, op) in [
        ("unary_relu", UnaryOp::Relu),
        ("unary_gelu", UnaryOp::Gelu),
        ("unary_gelu_tanh", UnaryOp::GeluTanh),
        ("unary_silu", UnaryOp::Swish { alpha: 1.0 }),
        ("unary_sigmoid", UnaryOp::Sigmoid),
        ("unary_tanh", UnaryOp::Tanh),
        ("unary_erf", UnaryOp::Erf),
        ("unary_exp", UnaryOp::Exp),
    ] {
        unary(items, name, Box::new(Unary::new(op, LEN)));
    }
    unary(items, "softmax", Box::new(Softmax::new(ROWS, WIDTH, 1, false)));
    items.driver("arithmetic_add", work, From::L2, || {
        let dims = [ROWS, WIDTH];
        let driver = Arithmetic::new(ArithmeticOp::Add, DType::F32, &dims, &dims);
        (Box::new(driver), vec![x(), x()], vec![4 * LEN])
    });
    for (name, kind) in [("norm_layer", NormKind::Layer), ("norm_rms", NormKind::Rms)] {
        items.driver(name, work, From::L2, || {
            let driver = Norm::new(kind, ROWS, WIDTH, 1e-5);
            (Box::new(driver), vec![x(), buffer(&floats(WIDTH))], vec![4 * LEN])
        });
    }
    items.driver("quantize_min_max", work, From::L2, || {
        (Box::new(MinMax::new(LEN)), vec![x()], vec![4 * MinMax::extremes(LEN)])
    });
    items.driver("quantize_dynamic", work, From::L2, || {
        let extremes: Vec<f32> = (0..MinMax::extremes(LEN)).map(|index| [-1.0, 1.0][index % 2]).collect();
        (Box::new(DynamicQuantize::new(LEN)), vec![x(), buffer(&extremes)], vec![LEN, 4, 1])
    });
    quantize_groups(items);
}

/// The kernel that quantises activations in groups of 32.
fn quantize_groups(items: &mut Items) {
    const GROUP: usize = 32;
    let x = buffer(&floats(LEN));
    let (mut y, mut scales, mut sums) = (vec![0i8; LEN], vec![0f32; LEN / GROUP], vec![0f32; LEN / GROUP]);
    let args = quantize_f32_i8::Args {
        x: x.as_ptr().cast(),
        y: y.as_mut_ptr(),
        scales: scales.as_mut_ptr(),
        sums: sums.as_mut_ptr(),
        len: LEN,
        group: GROUP,
    };
    let rows = QUANTIZE_F32_I8.iter().filter(|row| row.needs.met_by(isa_of_this_thread()));
    for run in rows.filter_map(|row| row.run) {
        items.measure("quantize_groups", LEN, Work::Element, From::L2, |_| {
            mark::begin();
            // SAFETY: the buffers have the sizes that the contract wants, and the core meets the needs of the row.
            unsafe { run(&args) };
            mark::end();
        });
    }
}
