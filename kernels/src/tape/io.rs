use std::marker::PhantomData;
use std::ops::Range;

use super::{Bases, Place, Step, Tape};
use crate::tensor::Element;

/// The operands of one step, as a driver sees them.
pub struct Io<'a> {
    pub(super) tape: &'a Tape,
    pub(super) step: &'a Step,
    pub(super) bases: &'a Bases,
}

impl<'a> Io<'a> {
    /// Elements of input `index` of the step.
    pub(crate) fn input<T: Element>(&self, index: usize) -> &'a [T] {
        let buffer = &self.tape.buffers[self.step.inputs[index]];
        let data = match &buffer.place {
            Place::Input(input) => self.bases.inputs[*input].expect("the driver handles shared memory"),
            Place::Output(output) => self.bases.outputs[*output].cast_const(),
            // SAFETY: `Tape::run` reserved the area up to `offset + bytes`.
            Place::Work(offset) => unsafe { self.bases.work.add(*offset).cast_const() },
            Place::Const(bytes) => bytes.as_ptr(),
        };
        let len = buffer.bytes / size_of::<T>();
        if len == 0 {
            return &[];
        }
        assert!(data.cast::<T>().is_aligned(), "operand is not aligned to its element");
        // SAFETY: the place holds `bytes` initialised bytes for the run; `Tape::new` made sure that no output of
        // this step overlaps it, and puts a barrier between steps of which one writes what the other touches. `T` is
        // plain data.
        unsafe { std::slice::from_raw_parts(data.cast(), len) }
    }

    /// Input `index`, which [`Driver::in_place`] names; `None` where it is the memory of the output named with it, which
    /// holds the contents then.
    ///
    /// [`Driver::in_place`]: crate::driver::Driver::in_place
    pub(crate) fn separate_input<T: Element>(&self, index: usize) -> Option<&'a [T]> {
        match self.tape.buffers[self.step.inputs[index]].place {
            Place::Input(input) if self.bases.inputs[input].is_none() => None,
            _ => Some(self.input(index)),
        }
    }

    /// Number of inputs of the step.
    pub(crate) fn inputs(&self) -> usize {
        self.step.inputs.len()
    }

    /// Output `index` of the step, shared by all ranks.
    pub(crate) fn output<T: Element>(&self, index: usize) -> SharedOut<'a, T> {
        let buffer = &self.tape.buffers[self.step.outputs[index]];
        let data = match &buffer.place {
            Place::Output(output) => self.bases.outputs[*output],
            // SAFETY: `Tape::run` reserved the area up to `offset + bytes`.
            Place::Work(offset) => unsafe { self.bases.work.add(*offset) },
            Place::Input(_) | Place::Const(_) => unreachable!("`Tape::new` rejects outputs in inputs and constants"),
        };
        let len = buffer.bytes / size_of::<T>();
        let data = if len == 0 { std::ptr::NonNull::<T>::dangling().as_ptr() } else { data.cast::<T>() };
        assert!(data.is_aligned(), "operand is not aligned to its element");
        SharedOut { data, len, _borrow: PhantomData }
    }
}

/// An output that all ranks write at the same time, each its own part.
#[derive(Clone, Copy)]
pub(crate) struct SharedOut<'a, T> {
    data: *mut T,
    len: usize,
    _borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: access goes through `range`, whose contract keeps ranks apart.
unsafe impl<T: Send> Send for SharedOut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SharedOut<'_, T> {}

impl<'a, T: Element> SharedOut<'a, T> {
    /// The elements of `range`. They may hold anything; write before reading.
    ///
    /// # Safety
    /// Between two barriers no other rank may call this with an overlapping range, and the caller may not hold two
    /// overlapping slices at once.
    ///
    /// # Panics
    /// When `range` is out of bounds.
    pub unsafe fn range(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "output range out of bounds");
        // SAFETY: in bounds by the assertion; exclusive by this function's contract and `Tape::new`.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(range.start), range.len()) }
    }

    /// The first element of `range`, which may be written under the contract of [`SharedOut::range`].
    ///
    /// # Panics
    /// When `range` is out of bounds.
    pub fn pointer(&self, range: Range<usize>) -> *mut T {
        assert!(range.start <= range.end && range.end <= self.len, "output range out of bounds");
        // SAFETY: in bounds by the assertion.
        unsafe { self.data.add(range.start) }
    }
}
