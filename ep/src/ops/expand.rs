//! Operators that repeat elements: strides of 0 do it.

use kernels::ops::strided_copy::StridedCopy;
use kernels::tensor::{DType, Dims, elements, row_major_strides};

use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: "",
        name: "Expand",
        versions: 8..=28,
        inputs: 2..=2,
        outputs: 1..=1,
        attrs: &[],
        work: Work::Glue,
        lower: expand,
    },
    OpRow {
        domain: "",
        name: "Tile",
        versions: 6..=28,
        inputs: 2..=2,
        outputs: 1..=1,
        attrs: &[],
        work: Work::Glue,
        lower: tile,
    },
];

struct Expand(DType);

fn expand(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype_in(1, &[DType::I64])?;
    Ok(Box::new(Expand(cx.dtype(0)?)))
}

impl Op for Expand {
    fn shape_inputs(&self) -> &[usize] {
        &[1]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (from, request) = (b.dims(0)?, b.known_i64(1)?);
        let wrong =
            || BindError::new(format!("a tensor of shape {:?} does not expand to {request:?}", from.as_slice()));
        let rank = from.len().max(request.len());
        let strides = row_major_strides(&from);
        let (mut dims, mut out_strides) = (Dims::new(), Vec::with_capacity(rank));
        for axis in 0..rank {
            // Axes are matched from the last one.
            let own = (axis + from.len()).checked_sub(rank);
            let asked = (axis + request.len()).checked_sub(rank).map_or(1, |axis| request[axis]);
            let asked = usize::try_from(asked).map_err(|_| wrong())?;
            let size = own.map_or(1, |axis| from[axis]);
            if size != asked && size != 1 && asked != 1 {
                return Err(wrong());
            }
            dims.push(if size == 1 { asked } else { size });
            out_strides.push(own.filter(|_| size != 1).map_or(0, |axis| strides[axis] as isize));
        }
        repeat(b, self.0, &from, &dims, &dims, &out_strides)?;
        b.bound_output(0, b.upper_bound(0));
        Ok(())
    }
}

struct Tile(DType);

fn tile(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype_in(1, &[DType::I64])?;
    Ok(Box::new(Tile(cx.dtype(0)?)))
}

impl Op for Tile {
    fn shape_inputs(&self) -> &[usize] {
        &[1]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (from, repeats) = (b.dims(0)?, b.known_i64(1)?);
        let wrong = || BindError::new(format!("repeats {repeats:?} do not fit shape {:?}", from.as_slice()));
        if repeats.len() != from.len() {
            return Err(wrong());
        }
        // Each axis becomes two: the repetitions, then the elements.
        let (mut dims, mut split, mut strides) = (Dims::new(), Dims::new(), Vec::with_capacity(2 * from.len()));
        for ((&size, &count), stride) in from.iter().zip(&repeats).zip(row_major_strides(&from)) {
            let count = usize::try_from(count).map_err(|_| wrong())?;
            dims.push(size.checked_mul(count).ok_or_else(wrong)?);
            split.extend([count, size]);
            strides.extend([0, stride as isize]);
        }
        repeat(b, self.0, &from, &dims, &split, &strides)
    }
}

/// Output 0 of shape `dims` as a copy of input 0 with these strides for the finer shape `split`.
fn repeat(
    b: &mut Bind<'_>,
    dtype: DType,
    from: &[usize],
    dims: &[usize],
    split: &[usize],
    strides: &[isize],
) -> Result<(), BindError> {
    if elements(dims) == elements(from) {
        return b.alias(0, 0, dims);
    }
    let (x, y) = (b.input(0)?, b.output(0, dtype, dims)?);
    b.step(StridedCopy::new(dtype, split, strides, 0), &[x], &[y]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Model, Value};

    fn run(op: &str, dims: &[usize], list: &[i64]) -> Result<Value, String> {
        let mut model = Model::new();
        model.input::<i16>("x", dims).constant("list", &[list.len()], list);
        model.node(op, &["x", "list"], &["y"], vec![]).output("y");
        let values: Vec<i16> = (0..dims.iter().product::<usize>() as i16).collect();
        let outputs = model.run(&[Value::new(dims, &values)]).map_err(|error| error.to_string())?;
        Ok(outputs[0].clone())
    }

    #[test]
    fn expand_broadcasts_both_ways() {
        let value = |dims: &[usize], values: &[i16]| Value::new(dims, values);
        assert_eq!(
            run("Expand", &[3, 1], &[2, 1, 2]).unwrap(),
            value(&[2, 3, 2], &[0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2])
        );
        assert_eq!(run("Expand", &[2, 2], &[1]).unwrap(), value(&[2, 2], &[0, 1, 2, 3]));
        assert_eq!(run("Expand", &[2], &[1, 1]).unwrap(), value(&[1, 2], &[0, 1]));
        assert_eq!(run("Expand", &[], &[3]).unwrap(), value(&[3], &[0; 3]));
        assert_eq!(run("Expand", &[1, 2], &[0, 2]).unwrap(), value(&[0, 2], &[]));
        assert!(run("Expand", &[3], &[2]).unwrap_err().contains("[2]"));
        assert!(run("Expand", &[1], &[-1]).unwrap_err().contains("[-1]"));
    }

    #[test]
    fn tile_repeats_every_axis() {
        for (dims, repeats) in
            [([2, 3], [2, 2]), ([3, 1], [1, 4]), ([1, 3], [3, 1]), ([2, 2], [0, 3]), ([2, 2], [1, 1])]
        {
            let got = run("Tile", &dims, &repeats).unwrap();
            let out = [dims[0] * repeats[0] as usize, dims[1] * repeats[1] as usize];
            let want: Vec<i16> = (0..out[0] * out[1])
                .map(|at| (at / out[1] % dims[0] * dims[1] + at % out[1] % dims[1]) as i16)
                .collect();
            assert_eq!(got, Value::new(&out, &want));
        }
        assert!(run("Tile", &[2, 2], &[1]).unwrap_err().contains("[1]"));
        assert!(run("Tile", &[2], &[-1]).unwrap_err().contains("[-1]"));
    }

    #[test]
    fn memory_that_the_system_does_not_have_is_an_error() {
        let mut model = Model::new();
        model.input::<i16>("x", &[1]).constant("large", &[3], &[1i64 << 13, 1 << 13, 1 << 18]);
        model.node("Expand", &["x", "large"], &["y"], vec![]).constant("last", &[1], &[-1i64]);
        model.node("Gather", &["y", "last"], &["z"], vec![]).constant("end", &[1], &[i64::MAX]);
        model.constant("start", &[1], &[i64::MAX - 1]).constant("axis", &[1], &[1i64]);
        model.node("Slice", &["z", "start", "end", "axis"], &["w"], vec![]).output("w");
        let error = model.run(&[Value::new(&[1], &[1i16])]).unwrap_err().to_string();
        assert!(error.contains("bytes of memory"), "{error}");
    }

    #[test]
    fn a_shape_too_large_for_memory_is_an_error() {
        for op in ["Expand", "Tile"] {
            let error = run(op, &[1, 1, 1], &[1 << 31, 1 << 31, 1 << 31]).unwrap_err();
            assert!(error.contains("memory"), "{error}");
            assert_eq!(run(op, &[1, 1, 0], &[1 << 62, 1 << 62, 1]).unwrap().dims.as_slice(), [1 << 62, 1 << 62, 0]);
        }
    }
}
