use kernels::ops::split::Split as Driver;
use kernels::tensor::{DType, elements};

use super::axes::{self, IntList};
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Split",
    versions: 2..=28,
    inputs: 1..=2,
    outputs: 1..=usize::MAX,
    attrs: &["axis", "split", "num_outputs"],
    work: Work::Glue,
    lower,
}];

struct Split {
    dtype: DType,
    axis: i64,
    sizes: IntList,
    outputs: usize,
    /// Without sizes, the last part may be smaller than the others.
    uneven: bool,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let (dtype, outputs, uneven) = (cx.dtype(0)?, cx.outputs(), cx.version() >= 18);
    let sizes = IntList::lower(cx, "split", 1, 13)?;
    let count = cx.attr_int("num_outputs", outputs as i64)?;
    if count != outputs as i64 {
        return Err(Decline::new(Code::Attribute, format!("num_outputs is {count} but there are {outputs} outputs")));
    }
    Ok(Box::new(Split { dtype, axis: cx.attr_int("axis", 0)?, sizes, outputs, uneven }))
}

impl Split {
    fn parts(&self, b: &Bind<'_>, len: usize) -> Result<Vec<usize>, BindError> {
        let Some(sizes) = self.sizes.get(b)? else { return self.equal_parts(len) };
        let parts: Option<Vec<usize>> = sizes.iter().map(|&size| usize::try_from(size).ok()).collect();
        let sum = |parts: &Vec<usize>| parts.iter().try_fold(0usize, |sum, &part| sum.checked_add(part));
        parts.filter(|parts| parts.len() == self.outputs && sum(parts) == Some(len)).ok_or_else(|| {
            BindError::new(format!("sizes {sizes:?} do not split an axis of {len} into {} outputs", self.outputs))
        })
    }

    fn equal_parts(&self, len: usize) -> Result<Vec<usize>, BindError> {
        let part = len.div_ceil(self.outputs);
        let last = part.checked_mul(self.outputs - 1).and_then(|others| len.checked_sub(others));
        let last = last.filter(|&last| self.uneven || last == part);
        let wrong = || BindError::new(format!("an axis of {len} does not split into {} outputs", self.outputs));
        let mut parts = vec![part; self.outputs - 1];
        parts.push(last.ok_or_else(wrong)?);
        Ok(parts)
    }
}

impl Op for Split {
    fn shape_inputs(&self) -> &[usize] {
        &[1]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let mut dims = b.dims(0)?;
        let axis = axes::resolve(self.axis, dims.len())?;
        let parts = self.parts(b, dims[axis])?;
        if self.outputs == 1 {
            return b.alias(0, 0, &dims);
        }
        let (total, outer, inner) = (elements(&dims), elements(&dims[..axis]), elements(&dims[axis + 1..]));
        let mut outputs = Vec::with_capacity(parts.len());
        for (index, &part) in parts.iter().enumerate() {
            dims[axis] = part;
            outputs.push(b.output(index, self.dtype, &dims)?);
        }
        if total != 0 {
            let parts: Vec<usize> = parts.iter().map(|part| part * inner).collect();
            let x = b.input(0)?;
            b.step(Driver::new(self.dtype, outer, &parts), &[x], &outputs);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    /// Splits a `[2, len]` tensor of 0, 1, .. on axis 1.
    fn split(
        version: i32,
        len: usize,
        outputs: usize,
        sizes: Option<&[i64]>,
        mut attrs: Vec<(&str, Attr<'static>)>,
    ) -> Result<Vec<Value>, String> {
        let names: Vec<String> = (0..outputs).map(|i| format!("y{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        attrs.push(("axis", Attr::Int(-1)));
        let mut model = Model::new();
        model.version(version).input::<i32>("x", &[2, len]);
        match sizes {
            Some(sizes) if version >= 13 => {
                model.constant("sizes", &[sizes.len()], sizes).node("Split", &["x", "sizes"], &names, attrs)
            }
            Some(sizes) => {
                attrs.push(("split", Attr::Ints(sizes.to_vec())));
                model.node("Split", &["x"], &names, attrs)
            }
            None => model.node("Split", &["x"], &names, attrs),
        };
        names.iter().for_each(|name| {
            model.output(name);
        });
        let values: Vec<i32> = (0..2 * len as i32).collect();
        model.run(&[Value::new(&[2, len], &values)]).map_err(|error| error.to_string())
    }

    fn check(parts: &[usize], got: Vec<Value>) {
        let len = parts.iter().sum::<usize>() as i32;
        let mut first = 0;
        for (&part, value) in parts.iter().zip(&got) {
            let want: Vec<i32> = (0..2).flat_map(|row| (0..part as i32).map(move |i| row * len + first + i)).collect();
            assert_eq!(*value, Value::new(&[2, part], &want));
            first += part as i32;
        }
    }

    #[test]
    fn by_sizes_and_in_equal_parts() {
        for version in [2, 11, 13, 18] {
            check(&[1, 0, 4], split(version, 5, 3, Some(&[1, 0, 4]), vec![]).unwrap());
            check(&[2, 2, 2], split(version, 6, 3, None, vec![]).unwrap());
            check(&[4], split(version, 4, 1, None, vec![]).unwrap());
        }
        check(&[3, 3, 1], split(18, 7, 3, None, vec![("num_outputs", Attr::Int(3))]).unwrap());
        check(&[0, 0], split(18, 0, 2, None, vec![("num_outputs", Attr::Int(2))]).unwrap());
    }

    #[test]
    fn what_does_not_split_is_an_error() {
        assert!(split(13, 7, 3, None, vec![]).unwrap_err().contains("axis of 7"));
        assert!(split(18, 4, 5, Some(&[1, 1, 1, 1]), vec![]).unwrap_err().contains("5 outputs"));
        assert!(split(18, 4, 2, Some(&[5, -1]), vec![]).unwrap_err().contains("[5, -1]"));
        assert!(split(18, 4, 2, None, vec![("num_outputs", Attr::Int(3))]).unwrap_err().contains("num_outputs is 3"));
    }
}
