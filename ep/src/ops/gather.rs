//! Operators that pick elements by index.

use kernels::ops::gather as drivers;
use kernels::ops::gather_elements::GatherElements as ElementsDriver;
use kernels::ops::gather_nd::GatherNd as NdDriver;
use kernels::tensor::{DType, Dims, elements};

use super::axes;
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: "",
        name: "Gather",
        versions: 1..=28,
        inputs: 2..=2,
        outputs: 1..=1,
        attrs: &["axis"],
        work: Work::Glue,
        lower: gather,
    },
    OpRow {
        domain: "",
        name: "GatherElements",
        versions: 11..=28,
        inputs: 2..=2,
        outputs: 1..=1,
        attrs: &["axis"],
        work: Work::Glue,
        lower: gather_elements,
    },
    OpRow {
        domain: "",
        name: "GatherND",
        versions: 11..=28,
        inputs: 2..=2,
        outputs: 1..=1,
        attrs: &["batch_dims"],
        work: Work::Glue,
        lower: gather_nd,
    },
];

struct Gather {
    dtype: DType,
    index: DType,
    axis: i64,
}

fn gather(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let index = cx.dtype_in(1, &[DType::I32, DType::I64])?;
    Ok(Box::new(Gather { dtype: cx.dtype(0)?, index, axis: cx.attr_int("axis", 0)? }))
}

impl Op for Gather {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (data, indices) = (b.dims(0)?, b.dims(1)?);
        let axis = axes::resolve(self.axis, data.len())?;
        let (outer, inner) = (&data[..axis], &data[axis + 1..]);
        let out: Dims = outer.iter().chain(&indices).chain(inner).copied().collect();
        let driver = drivers::Gather {
            dtype: self.dtype,
            index: self.index,
            outer: elements(outer),
            axis: data[axis],
            inner: elements(inner),
            count: elements(&indices),
        };
        pick(b, self.dtype, &out, driver)
    }
}

struct GatherElements {
    dtype: DType,
    index: DType,
    axis: i64,
}

fn gather_elements(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let index = cx.dtype_in(1, &[DType::I32, DType::I64])?;
    Ok(Box::new(GatherElements { dtype: cx.dtype(0)?, index, axis: cx.attr_int("axis", 0)? }))
}

impl Op for GatherElements {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (data, indices) = (b.dims(0)?, b.dims(1)?);
        let axis = axes::resolve(self.axis, data.len())?;
        check_index_shape(&data, &indices, axis)?;
        let driver = ElementsDriver::new(self.dtype, self.index, &data, &indices, axis);
        pick(b, self.dtype, &indices, driver)
    }
}

/// Whether indices of shape `indices` stay within data of shape `data` on every axis but `axis`.
pub(super) fn check_index_shape(data: &[usize], indices: &[usize], axis: usize) -> Result<(), BindError> {
    let within = |(other, (&index, &data)): (usize, (&usize, &usize))| other == axis || index <= data;
    match data.len() == indices.len() && indices.iter().zip(data).enumerate().all(within) {
        true => Ok(()),
        false => Err(BindError::new(format!("indices of shape {indices:?} do not fit data of shape {data:?}"))),
    }
}

struct GatherNd {
    dtype: DType,
    batch_dims: usize,
}

fn gather_nd(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype_in(1, &[DType::I64])?;
    let batch_dims = cx.attr_int("batch_dims", 0)?;
    let negative = |_| Decline::new(Code::Attribute, format!("batch_dims is {batch_dims}"));
    Ok(Box::new(GatherNd { dtype: cx.dtype(0)?, batch_dims: batch_dims.try_into().map_err(negative)? }))
}

impl Op for GatherNd {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (data, indices, batch) = (b.dims(0)?, b.dims(1)?, self.batch_dims);
        let fits = || {
            let (&tuple, places) = indices.split_last()?;
            let alike = data.get(..batch)? == places.get(..batch)? && batch + tuple <= data.len();
            alike.then_some((tuple, places))
        };
        let (tuple, places) = fits().ok_or_else(|| {
            let shapes = (indices.as_slice(), data.as_slice());
            BindError::new(format!("indices of shape {:?} do not fit data of shape {:?}", shapes.0, shapes.1))
        })?;
        let (bounds, inner) = data[batch..].split_at(tuple);
        let out: Dims = places.iter().chain(inner).copied().collect();
        let driver = NdDriver {
            dtype: self.dtype,
            batch: elements(&data[..batch]),
            bounds: Dims::from_slice(bounds),
            inner: elements(inner),
            count: elements(&places[batch..]),
        };
        pick(b, self.dtype, &out, driver)
    }
}

/// Output 0 of shape `dims` as `driver` picks it from data and indices.
fn pick(
    b: &mut Bind<'_>,
    dtype: DType,
    dims: &[usize],
    driver: impl kernels::driver::Driver + 'static,
) -> Result<(), BindError> {
    let (data, indices, y) = (b.input(0)?, b.input(1)?, b.output(0, dtype, dims)?);
    if elements(dims) != 0 {
        b.step(driver, &[data, indices], &[y]);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
