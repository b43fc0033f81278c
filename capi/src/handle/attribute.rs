//! What nodes say about themselves.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use ort_sys::{OrtOpAttr, OrtOpAttrType};

use super::{OwnedTensor, call, text};
use crate::host::Host;
use crate::status::Error;

/// A node attribute.
#[derive(Clone, Copy)]
pub(crate) struct Attribute<'a> {
    host: Host,
    raw: *const OrtOpAttr,
    owner: PhantomData<&'a OrtOpAttr>,
}

/// What an attribute holds.
pub(crate) enum AttributeValue {
    Int(i64),
    Float(f32),
    String(String),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Strings(Vec<String>),
    Tensor(OwnedTensor),
    Graph,
    /// A kind this crate does not read, for example a type or a sparse tensor.
    Other,
}

impl<'a> Attribute<'a> {
    /// # Safety
    /// `raw` is a live attribute for `'a`.
    pub(super) unsafe fn new(host: Host, raw: *const OrtOpAttr) -> Self {
        Self { host, raw, owner: PhantomData }
    }

    pub(crate) fn name(self) -> Result<&'a str, Error> {
        text!(self, OpAttr_GetName)
    }

    /// What the attribute holds. One that the host itself cannot read, such as an empty one, is of kind `Other`.
    pub(crate) fn value(self) -> AttributeValue {
        self.read().unwrap_or(AttributeValue::Other)
    }

    fn read(self) -> Result<AttributeValue, Error> {
        use OrtOpAttrType::*;
        let mut kind = 0_i32;
        call!(self.host, OpAttr_GetType(self.raw, (&raw mut kind).cast()))?;
        let is = |expected: OrtOpAttrType| kind == expected as i32;
        Ok(if is(ORT_OP_ATTR_INT) {
            self.array(ORT_OP_ATTR_INT)?.first().map_or(AttributeValue::Other, |&i| AttributeValue::Int(i))
        } else if is(ORT_OP_ATTR_FLOAT) {
            self.array(ORT_OP_ATTR_FLOAT)?.first().map_or(AttributeValue::Other, |&f| AttributeValue::Float(f))
        } else if is(ORT_OP_ATTR_INTS) {
            AttributeValue::Ints(self.array(ORT_OP_ATTR_INTS)?)
        } else if is(ORT_OP_ATTR_FLOATS) {
            AttributeValue::Floats(self.array(ORT_OP_ATTR_FLOATS)?)
        } else if is(ORT_OP_ATTR_STRING) {
            let strings = split(self.array(ORT_OP_ATTR_STRING)?);
            strings.map_or(AttributeValue::Other, |parts| AttributeValue::String(parts.concat()))
        } else if is(ORT_OP_ATTR_STRINGS) {
            split(self.array(ORT_OP_ATTR_STRINGS)?).map_or(AttributeValue::Other, AttributeValue::Strings)
        } else if is(ORT_OP_ATTR_TENSOR) {
            let mut value = ptr::null_mut();
            call!(self.host, OpAttr_GetTensorAttributeAsOrtValue(self.raw, &mut value))?;
            // SAFETY: the function gives ownership.
            AttributeValue::Tensor(unsafe { OwnedTensor::new(self.host, value) })
        } else if is(ORT_OP_ATTR_GRAPH) {
            AttributeValue::Graph
        } else {
            AttributeValue::Other
        })
    }

    /// The elements of an attribute of the plain type `T`, which is the one `kind` stands for.
    fn array<T: Copy + Default>(self, kind: OrtOpAttrType) -> Result<Vec<T>, Error> {
        let mut bytes = 0;
        // Asks for the size only: a failure means that nothing fits into no bytes.
        let _ = call!(self.host, ReadOpAttr(self.raw, kind, ptr::null_mut(), 0, &mut bytes));
        let mut items = vec![T::default(); bytes.div_ceil(size_of::<T>())];
        if bytes > 0 {
            let data = items.as_mut_ptr().cast::<c_void>();
            call!(self.host, ReadOpAttr(self.raw, kind, data, bytes, &mut bytes))?;
        }
        Ok(items)
    }
}

/// NUL-terminated strings, one after the other; `None` if one is not UTF-8.
fn split(bytes: Vec<u8>) -> Option<Vec<String>> {
    let text = String::from_utf8(bytes).ok()?;
    Some(text.split_terminator('\0').map(str::to_owned).collect())
}
