//! `CausalConvWithState` of ONNX 27 and of com.microsoft. The latter also knows dilation, channels at the end and a window
//! of states.

use kernels::ops::causal_conv::CausalConv as Driver;
use kernels::ops::unary::{Unary, UnaryOp};
use kernels::tensor::{DType, Dims, elements};

use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

const ROW: OpRow = OpRow {
    domain: "",
    name: "CausalConvWithState",
    versions: 27..=28,
    inputs: 2..=4,
    outputs: 1..=2,
    attrs: &["activation"],
    work: Work::Heavy,
    lower,
};

pub const ROWS: &[OpRow] = &[
    ROW,
    OpRow {
        domain: MICROSOFT,
        versions: 1..=1,
        attrs: &[
            "activation",
            "channels_last",
            "dilation",
            "input_channel_offset",
            "input_channels",
            "ndim",
            "state_channels_last",
            "state_length",
            "state_update_capacity",
            "state_window",
        ],
        ..ROW
    },
];

const INPUT: usize = 0;
const WEIGHT: usize = 1;
const BIAS: usize = 2;
const PAST: usize = 3;

struct CausalConv {
    dtype: DType,
    silu: bool,
    dilation: usize,
    channels_last: bool,
    /// 0: the states have no axis for the window.
    window: usize,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.float_input(INPUT)?;
    for index in [WEIGHT, BIAS, PAST].into_iter().filter(|&index| index == WEIGHT || cx.has_input(index)) {
        cx.dtype_in(index, &[dtype])?;
    }
    let silu = match cx.attr_str("activation", "none")? {
        "none" => false,
        "silu" | "swish" => true,
        other => return Err(Decline::new(Code::Attribute, format!("activation '{other}' is not known"))),
    };
    let within = |name: &str, default: i64, range: std::ops::RangeInclusive<i64>| {
        let value = cx.attr_int(name, default)?;
        match range.contains(&value) {
            true => Ok(value as usize),
            false => Err(Decline::new(Code::Attribute, format!("'{name}' is {value}, not in {range:?}"))),
        }
    };
    within("ndim", 1, 1..=1)?;
    // What only another provider has is off by these values.
    within("state_channels_last", -1, -1..=-1)?;
    for name in ["input_channel_offset", "input_channels", "state_length", "state_update_capacity"] {
        within(name, 0, 0..=0)?;
    }
    Ok(Box::new(CausalConv {
        dtype,
        silu,
        dilation: within("dilation", 1, 1..=i64::from(i32::MAX))?,
        channels_last: cx.attr_bool("channels_last", false)?,
        window: within("state_window", 0, 0..=8)?,
    }))
}

impl CausalConv {
    /// Sizes of the driver, from the shapes of input and weight.
    fn sizes(&self, b: &Bind<'_>) -> Result<Driver, BindError> {
        let (x, w) = (b.dims(INPUT)?, b.dims(WEIGHT)?);
        let wrong = || BindError::new(format!("a weight of shape {w:?} does not fit an input of shape {x:?}"));
        let &[channels, 1, taps] = w.as_slice() else { return Err(wrong()) };
        let (batch, own, len) = match (x.as_slice(), self.channels_last) {
            (&[batch, len, ref own @ ..], true) if !own.is_empty() => (batch, elements(own), len),
            (&[batch, own, len], false) => (batch, own, len),
            _ => return Err(wrong()),
        };
        if own != channels || taps == 0 || (taps - 1).checked_mul(self.dilation).is_none() {
            return Err(wrong());
        }
        let (dilation, slots, channels_last) = (self.dilation, self.window.max(1), self.channels_last);
        let (bias, past) = (b.has_input(BIAS), b.has_input(PAST));
        Ok(Driver { batch, channels, len, taps, dilation, bias, past, slots, channels_last })
    }
}

impl Op for CausalConv {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let driver = self.sizes(b)?;
        let dims = b.dims(INPUT)?;
        let mut slot = dims.clone();
        slot[if self.channels_last { 1 } else { 2 }] = (driver.taps - 1) * self.dilation;
        let states: Dims = (self.window > 0).then_some(self.window).into_iter().chain(slot).collect();
        let mut inputs = vec![b.input_f32(INPUT)?, b.input_f32(WEIGHT)?];
        for (index, expected) in [(BIAS, &[driver.channels][..]), (PAST, &states)] {
            if b.has_input(index) {
                let given = b.dims(index)?;
                if given.as_slice() != expected {
                    return Err(BindError::new(format!("input {index} has shape {given:?}, not {expected:?}")));
                }
                inputs.push(b.input_f32(index)?);
            }
        }
        let y = b.output_f32(0, self.dtype, &dims)?;
        let state = match b.has_output(1) {
            true => b.output_f32(1, self.dtype, &states)?,
            false => b.temp(DType::F32, elements(&states))?,
        };
        let len = elements(&dims);
        if self.silu {
            let sums = b.temp(DType::F32, len)?;
            b.step(driver, &inputs, &[sums, state]);
            b.step(Unary::new(UnaryOp::Swish { alpha: 1.0 }, len), &[sums], &[y]);
        } else {
            b.step(driver, &inputs, &[y, state]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::Error;
    use crate::ir::Attr;
    use crate::ops::attention_testing::value;
    use crate::testing::{Model, Value};

    /// Output and state for an input, a weight, no bias and a past of these shapes.
    fn run(domain: &'static str, dims: [&[usize]; 3], attrs: Vec<(&str, Attr<'static>)>) -> Result<Vec<Value>, Error> {
        let mut model = Model::new();
        for (name, dims) in ["x", "w", "past"].iter().zip(dims) {
            model.input::<f32>(name, dims);
        }
        model.domain(domain).version(if domain.is_empty() { 27 } else { 1 });
        model.node("CausalConvWithState", &["x", "w", "", "past"], &["y", "state"], attrs);
        model.output("y").output("state");
        model.run(&[value(dims[0], 1), value(dims[1], 2), value(dims[2], 3)])
    }

    #[test]
    fn goes_on_from_the_past() {
        let silu = vec![("activation", Attr::Str("silu".into()))];
        let outputs = run("", [&[1, 1, 2], &[1, 1, 3], &[1, 1, 2]], silu).unwrap();
        let (x, w, past) = (value(&[2], 1), value(&[3], 2), value(&[2], 3));
        let line: Vec<f32> = [past.values::<f32>(), x.values()].concat();
        for t in 0..2 {
            let sum: f64 = (0..3).map(|j| f64::from(line[t + j]) * f64::from(w.values::<f32>()[j])).sum();
            let y = sum / (1.0 + (-sum).exp());
            assert!((f64::from(outputs[0].values::<f32>()[t]) - y).abs() < 1e-6);
        }
        assert_eq!(outputs[1], Value::new(&[1, 1, 2], &line[2..]));
    }

    #[test]
    fn microsoft_knows_more_layouts() {
        let last = || vec![("channels_last", Attr::Int(1)), ("dilation", Attr::Int(2)), ("state_window", Attr::Int(2))];
        let outputs = run("com.microsoft", [&[2, 3, 2, 2], &[4, 1, 3], &[2, 2, 4, 2, 2]], last()).unwrap();
        assert_eq!([&outputs[0].dims[..], &outputs[1].dims[..]], [&[2, 3, 2, 2][..], &[2, 2, 4, 2, 2]]);
        let fails = |attrs, text: &str| {
            let error = run("com.microsoft", [&[1, 1, 2], &[1, 1, 3], &[1, 1, 3]], attrs).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        };
        fails(vec![], "input 3 has shape");
        fails(vec![("ndim", Attr::Int(2))], "'ndim' is 2");
        fails(vec![("state_length", Attr::Int(5))], "'state_length' is 5");
    }
}
