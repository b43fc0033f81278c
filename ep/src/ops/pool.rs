//! Poolings over the spatial axes of images `[N, C, spatial..]`.

use kernels::ops::pool::{Pool as Driver, PoolOp};
use kernels::ops::reduce::{Reduce, ReduceOp};
use kernels::ops::window::{Window, WindowAxis};
use kernels::tensor::{DType, Dims, elements};

use super::numeric::{self, computed, shared_dtype};
use super::window::WindowAttrs;
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

const ROW: OpRow = OpRow {
    domain: "",
    name: "MaxPool",
    versions: 1..=28,
    inputs: 1..=1,
    outputs: 1..=1,
    attrs: &["auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "storage_order", "strides"],
    work: Work::Heavy,
    lower: |cx| pool(cx, Kind::Max),
};

pub const ROWS: &[OpRow] = &[
    ROW,
    OpRow {
        name: "AveragePool",
        attrs: &["auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"],
        lower: |cx| {
            let padded = cx.attr_bool("count_include_pad", false)?;
            pool(cx, if padded { Kind::AveragePadded } else { Kind::Average })
        },
        ..ROW
    },
    OpRow { name: "GlobalMaxPool", attrs: &[], lower: |cx| global(cx, ReduceOp::Max), ..ROW },
    OpRow { name: "GlobalAveragePool", attrs: &[], lower: |cx| global(cx, ReduceOp::Mean), ..ROW },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Max,
    Average,
    AveragePadded,
}

struct Pool {
    dtype: DType,
    kind: Kind,
    window: WindowAttrs,
    kernel: Vec<usize>,
}

fn pool(cx: &Lower<'_, '_>, kind: Kind) -> Result<Box<dyn Op>, Decline> {
    let op = if kind == Kind::Max { PoolOp::Max } else { PoolOp::Average };
    let dtype = shared_dtype(cx, 1, |dtype| Driver::supports(op, dtype))?;
    let window = WindowAttrs::lower(cx)?;
    Ok(Box::new(Pool { dtype, kind, kernel: window.kernel()?.to_vec(), window }))
}

impl Op for Pool {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let &[batch, channels, ref image @ ..] = dims.as_slice() else {
            return Err(BindError::new(format!("an input of shape {dims:?} has no spatial axes")));
        };
        let (axes, pads): (Vec<WindowAxis>, Vec<usize>) = self.window.axes(image, &self.kernel)?.into_iter().unzip();
        let mut behind = [0; Window::MAX_AXES];
        behind[Window::MAX_AXES - pads.len()..].copy_from_slice(&pads);
        let op = match self.kind {
            Kind::Max => PoolOp::Max,
            Kind::Average => PoolOp::Average,
            Kind::AveragePadded => PoolOp::AveragePadded(behind),
        };
        let out: Dims = [batch, channels].into_iter().chain(axes.iter().map(|axis| axis.output)).collect();
        let (x, y) = (numeric::input(b, 0, self.dtype)?, numeric::output(b, self.dtype, &out)?);
        if elements(&out) != 0 {
            b.step(Driver::new(op, computed(self.dtype), batch * channels, Window::new(&axes)), &[x], &[y]);
        }
        Ok(())
    }
}

/// A pooling over all of the image.
struct Global {
    dtype: DType,
    op: ReduceOp,
}

fn global(cx: &Lower<'_, '_>, op: ReduceOp) -> Result<Box<dyn Op>, Decline> {
    Ok(Box::new(Global { dtype: cx.float_input(0)?, op }))
}

impl Op for Global {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let spatial = |axis: usize| axis >= 2;
        let out: Dims = dims.iter().enumerate().map(|(axis, &dim)| if spatial(axis) { 1 } else { dim }).collect();
        let reduced: Vec<bool> = (0..dims.len()).map(spatial).collect();
        let (x, y) = (b.input_f32(0)?, b.output_f32(0, self.dtype, &out)?);
        b.step(Reduce::new(self.op, DType::F32, &dims, &reduced), &[x], &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    type Attrs = Vec<(&'static str, Attr<'static>)>;

    fn ints(name: &'static str, values: &[i64]) -> (&'static str, Attr<'static>) {
        (name, Attr::Ints(values.to_vec()))
    }

    fn run(op: &str, x: &Value, attrs: Attrs) -> Result<Value, crate::Error> {
        let mut model = Model::new();
        model.input::<f32>("x", &x.dims).version(11).node(op, &["x"], &["y"], attrs).output("y");
        Ok(model.run(std::slice::from_ref(x))?.remove(0))
    }

    fn line() -> Value {
        Value::new(&[1, 1, 6], &[1f32, 5.0, 2.0, -3.0, 7.0, 4.0])
    }

    #[test]
    fn maxima_and_means() {
        let kernel = || ints("kernel_shape", &[3]);
        let check = |op, attrs: Attrs, expected: &[f32]| {
            let y = run(op, &line(), attrs).unwrap();
            assert_eq!(y, Value::new(&[1, 1, expected.len()], expected), "{op}");
        };
        check("MaxPool", vec![kernel()], &[5.0, 5.0, 7.0, 7.0]);
        check("MaxPool", vec![kernel(), ints("strides", &[2]), ints("pads", &[1, 0])], &[5.0, 5.0, 7.0]);
        check("MaxPool", vec![kernel(), ints("dilations", &[2])], &[7.0, 5.0]);
        check("AveragePool", vec![kernel()], &[8.0 / 3.0, 4.0 / 3.0, 2.0, 8.0 / 3.0]);
        let padded = || vec![kernel(), ints("pads", &[1, 1]), ints("strides", &[3])];
        check("AveragePool", padded(), &[3.0, 2.0]);
        let counted = padded().into_iter().chain([("count_include_pad", Attr::Int(1))]).collect();
        check("AveragePool", counted, &[2.0, 2.0]);
    }

    #[test]
    fn a_last_window_may_hang_over() {
        let attrs = |ceil| vec![ints("kernel_shape", &[2]), ints("strides", &[4]), ("ceil_mode", Attr::Int(ceil))];
        let x = Value::new(&[1, 1, 5], &[1f32, 2.0, 3.0, 4.0, 9.0]);
        assert_eq!(run("MaxPool", &x, attrs(0)).unwrap(), Value::new(&[1, 1, 1], &[2f32]));
        assert_eq!(run("MaxPool", &x, attrs(1)).unwrap(), Value::new(&[1, 1, 2], &[2f32, 9.0]));
        assert_eq!(run("AveragePool", &x, attrs(1)).unwrap(), Value::new(&[1, 1, 2], &[1.5f32, 9.0]));
        // The second window would begin behind the image.
        let behind = vec![ints("kernel_shape", &[1]), ints("strides", &[3]), ("ceil_mode", Attr::Int(1))];
        let x = Value::new(&[1, 1, 3], &[1f32, 2.0, 3.0]);
        assert_eq!(run("MaxPool", &x, behind).unwrap(), Value::new(&[1, 1, 1], &[1f32]));
    }

    #[test]
    fn over_all_of_the_image() {
        let x = Value::new(&[1, 2, 2, 2], &[1f32, 2.0, 3.0, 6.0, -1.0, -2.0, -3.0, -6.0]);
        assert_eq!(run("GlobalAveragePool", &x, vec![]).unwrap(), Value::new(&[1, 2, 1, 1], &[3f32, -3.0]));
        assert_eq!(run("GlobalMaxPool", &x, vec![]).unwrap(), Value::new(&[1, 2, 1, 1], &[6f32, -1.0]));
    }

    #[test]
    fn what_is_not_known_is_declined() {
        let fails = |x: &Value, attrs, text: &str| {
            let error = run("MaxPool", x, attrs).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        };
        fails(&line(), vec![], "'kernel_shape' is missing");
        fails(&line(), vec![ints("kernel_shape", &[2, 2])], "not 1 sizes");
        fails(&Value::new(&[6], &[0f32; 6]), vec![ints("kernel_shape", &[2])], "rank 1");
        fails(&line(), vec![ints("kernel_shape", &[7])], "7 taps");
    }
}
