//! Operators that read nothing of a tensor but its shape.

use kernels::tensor::checked_elements;

use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: "",
        name: "Shape",
        versions: 1..=28,
        inputs: 1..=1,
        outputs: 1..=1,
        attrs: &["start", "end"],
        work: Work::Glue,
        lower: shape,
    },
    OpRow {
        domain: "",
        name: "Size",
        versions: 1..=28,
        inputs: 1..=1,
        outputs: 1..=1,
        attrs: &[],
        work: Work::Glue,
        lower: size,
    },
];

struct Shape {
    start: i64,
    end: i64,
}

fn shape(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype(0)?;
    Ok(Box::new(Shape { start: cx.attr_int("start", 0)?, end: cx.attr_int("end", i64::MAX)? }))
}

impl Op for Shape {
    fn reads_only_shapes(&self) -> bool {
        true
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let rank = dims.len() as i64;
        let clamp = |axis: i64| if axis < 0 { axis.saturating_add(rank) } else { axis }.clamp(0, rank) as usize;
        let (start, end) = (clamp(self.start), clamp(self.end));
        let dims: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
        let part = dims.get(start..end).unwrap_or_default();
        b.output_known(0, &[part.len()], part)
    }
}

struct Size;

fn size(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype(0)?;
    Ok(Box::new(Size))
}

impl Op for Size {
    fn reads_only_shapes(&self) -> bool {
        true
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let count = checked_elements(&b.dims(0)?).ok_or_else(|| BindError::new("the size overflows"))?;
        b.output_known(0, &[], &[count as i64])
    }
}

#[cfg(test)]
mod tests {
    use kernels::tensor::DType;

    use crate::ir::{Attr, Dim};
    use crate::testing::{Model, Value};

    #[test]
    fn shape_takes_a_part_and_size_counts() {
        let dims = [4usize, 0, 3];
        for start in -5..5i64 {
            for end in -5..5i64 {
                let mut model = Model::new();
                let attrs = vec![("start", Attr::Int(start)), ("end", Attr::Int(end))];
                model.input::<f32>("x", &dims).node("Shape", &["x"], &["y"], attrs).output("y");
                let place = |axis: i64| (if axis < 0 { axis + 3 } else { axis }).clamp(0, 3);
                let want: Vec<i64> = (place(start)..place(end)).map(|axis| dims[axis as usize] as i64).collect();
                let got = model.run(&[Value::new::<f32>(&dims, &[])]).unwrap();
                assert_eq!(got, [Value::new(&[want.len()], &want)]);
            }
        }
        let mut model = Model::new();
        model.input::<u8>("x", &[2, 3]).node("Size", &["x"], &["y"], vec![]).output("y");
        model.node("Shape", &["x"], &["z"], vec![]).output("z");
        let got = model.run(&[Value::new(&[2, 3], &[0u8; 6])]).unwrap();
        assert_eq!(got, [Value::new(&[], &[6i64]), Value::new(&[2], &[2i64, 3])]);
    }

    #[test]
    fn an_empty_part_of_a_shape_can_decide_a_shape() {
        let mut model = Model::new();
        for name in ["shape", "none", "ones"] {
            model.typed(name, DType::I64, vec![Dim::Unknown]);
        }
        model.input::<f32>("x", &[2, 3]).node("Shape", &["x"], &["shape"], vec![]);
        model.constant("zero", &[1], &[0i64]).constant("one", &[1], &[1i64]);
        model.node("Slice", &["shape", "zero", "zero"], &["none"], vec![]);
        model.node("Concat", &["none", "one"], &["ones"], vec![("axis", Attr::Int(0))]);
        model.node("ConstantOfShape", &["none"], &["scalar"], vec![]).output("scalar");
        model.node("Expand", &["scalar", "ones"], &["y"], vec![]).output("y");
        let got = model.run(&[Value::new(&[2, 3], &[0f32; 6])]).unwrap();
        assert_eq!(got, [Value::new(&[], &[0f32]), Value::new(&[1], &[0f32])]);
    }
}
