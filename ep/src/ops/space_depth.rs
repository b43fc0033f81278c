//! Operators that move blocks of an image into its channels and back.

use kernels::ops::strided_copy::StridedCopy;
use kernels::tensor::{DType, elements};

use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

const ROW: OpRow = OpRow {
    domain: "",
    name: "DepthToSpace",
    versions: 1..=28,
    inputs: 1..=1,
    outputs: 1..=1,
    attrs: &["blocksize", "mode"],
    work: Work::Glue,
    lower: |cx| lower(cx, Direction::ToSpace),
};

pub const ROWS: &[OpRow] = &[ROW, OpRow { name: "SpaceToDepth", lower: |cx| lower(cx, Direction::ToDepth), ..ROW }];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToSpace,
    ToDepth,
}

struct SpaceDepth {
    dtype: DType,
    direction: Direction,
    block: usize,
    /// The channels of the small image change slower than the places in a block.
    channels_first: bool,
}

fn lower(cx: &Lower<'_, '_>, direction: Direction) -> Result<Box<dyn Op>, Decline> {
    let block = cx.attr_int("blocksize", 0)?;
    let positive = usize::try_from(block).ok().filter(|&block| block > 0);
    let block = positive.ok_or_else(|| Decline::new(Code::Attribute, format!("'blocksize' is {block}")))?;
    let channels_first = match cx.attr_str("mode", "DCR")? {
        "DCR" => false,
        "CRD" => true,
        other => return Err(Decline::new(Code::Attribute, format!("mode '{other}' is not known"))),
    };
    Ok(Box::new(SpaceDepth { dtype: cx.dtype(0)?, direction, block, channels_first }))
}

impl Op for SpaceDepth {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let block = self.block;
        let wrong = || BindError::new(format!("blocks of {block} do not fit an image of shape {dims:?}"));
        let &[n, c, h, w] = dims.as_slice() else { return Err(wrong()) };
        let area = block.checked_mul(block).ok_or_else(wrong)?;
        let (split, perm, out) = match self.direction {
            Direction::ToSpace if c.is_multiple_of(area) => {
                let (split, perm) = match self.channels_first {
                    true => ([n, c / area, block, block, h, w], [0, 1, 4, 2, 5, 3]),
                    false => ([n, block, block, c / area, h, w], [0, 3, 4, 1, 5, 2]),
                };
                (split, perm, [n, c / area, h * block, w * block])
            }
            Direction::ToDepth if h.is_multiple_of(block) && w.is_multiple_of(block) => {
                let split = [n, c, h / block, block, w / block, block];
                let perm = if self.channels_first { [0, 1, 3, 5, 2, 4] } else { [0, 3, 5, 1, 2, 4] };
                (split, perm, [n, c * area, h / block, w / block])
            }
            _ => return Err(wrong()),
        };
        let (x, y) = (b.input(0)?, b.output(0, self.dtype, &out)?);
        if elements(&out) != 0 {
            b.step(StridedCopy::transpose(self.dtype, &split, &perm), &[x], &[y]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn run(op: &str, mode: &str, x: &Value) -> Result<Value, crate::Error> {
        let mut model = Model::new();
        let attrs = vec![("blocksize", Attr::Int(2)), ("mode", Attr::Str(mode.into()))];
        model.input::<i32>("x", &x.dims).version(28).node(op, &["x"], &["y"], attrs).output("y");
        Ok(model.run(std::slice::from_ref(x))?.remove(0))
    }

    #[test]
    fn blocks_of_channels_become_pixels_and_come_back() {
        let x = Value::new(&[2, 8, 2, 3], &(0..96).collect::<Vec<i32>>());
        for mode in ["DCR", "CRD"] {
            let y = run("DepthToSpace", mode, &x).unwrap();
            assert_eq!(y.dims.as_slice(), [2, 2, 4, 6]);
            for (index, &y) in y.values::<i32>().iter().enumerate() {
                let (n, c, row, column) = (index / 48, index / 24 % 2, index / 6 % 4, index % 6);
                let place = row % 2 * 2 + column % 2;
                let channel = if mode == "DCR" { place * 2 + c } else { c * 4 + place };
                assert_eq!(y, (((n * 8 + channel) * 2 + row / 2) * 3 + column / 2) as i32, "{mode} {index}");
            }
            assert_eq!(run("SpaceToDepth", mode, &y).unwrap(), x);
        }
    }

    #[test]
    fn sizes_must_be_multiples() {
        let x = Value::new(&[1, 2, 3, 2], &[0i32; 12]);
        for op in ["DepthToSpace", "SpaceToDepth"] {
            assert!(run(op, "DCR", &x).unwrap_err().to_string().contains("blocks of 2"));
        }
    }
}
