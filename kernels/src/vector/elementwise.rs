use super::find;
use crate::rt::Worker;
use crate::table::{Armed, BINARY_F32, COMPARE_F32, SELECT, UNARY_F32};
use crate::ukr::binary_f32::{self, BinaryF32};
use crate::ukr::compare_f32::{self, CompareF32, Relation};
use crate::ukr::select;
use crate::ukr::unary_f32::{self, UnaryF32};

/// Which operands of these lengths repeat for `len` results.
///
/// # Panics
/// When one has neither one number nor as many as there are results.
fn repeat<const N: usize>(lens: [usize; N], len: usize) -> [bool; N] {
    assert!(lens.iter().all(|&one| one == len || one == 1));
    lens.map(|one| one != len)
}

/// `y = function(x)`
pub(crate) struct Unary<'w> {
    kernel: Armed<'w, UnaryF32>,
    parameters: [f32; 2],
}

impl<'w> Unary<'w> {
    pub fn new(worker: &Worker<'w>, function: unary_f32::Function, parameters: [f32; 2]) -> Option<Self> {
        if function == unary_f32::Function::Swish && !unary_f32::ALPHAS.contains(&parameters[0]) {
            return None;
        }
        find(worker, UNARY_F32, function).map(|kernel| Self { kernel, parameters })
    }

    /// # Panics
    /// When the lengths differ.
    pub fn map(&self, x: &[f32], y: &mut [f32]) {
        assert_eq!(x.len(), y.len());
        self.call(x.as_ptr(), y);
    }

    pub fn map_in_place(&self, y: &mut [f32]) {
        self.call(y.as_ptr(), y);
    }

    fn call(&self, x: *const f32, y: &mut [f32]) {
        let [alpha, beta] = self.parameters;
        let args = unary_f32::Args { x, y: y.as_mut_ptr(), len: y.len(), alpha, beta };
        // SAFETY: both callers pass as many numbers of `x` as `y` has.
        unsafe { self.kernel.call(&args) }
    }
}

/// `y = function(a, b)`, where an operand of one number repeats.
pub(crate) struct Binary<'w>(Armed<'w, BinaryF32>);

impl<'w> Binary<'w> {
    pub fn new(worker: &Worker<'w>, function: binary_f32::Function) -> Option<Self> {
        find(worker, BINARY_F32, function).map(Self)
    }

    /// # Panics
    /// When an operand has neither one number nor as many as `y`, or both have one and `y` more.
    pub fn map(&self, a: &[f32], b: &[f32], y: &mut [f32]) {
        let len = y.len();
        let [a_repeats, b_repeats] = repeat([a.len(), b.len()], len);
        assert!(!(a_repeats && b_repeats));
        let (a, b, y) = (a.as_ptr(), b.as_ptr(), y.as_mut_ptr());
        // SAFETY: the assertions make the operands as long as `Args` wants them.
        unsafe { self.0.call(&binary_f32::Args { a, b, y, len, a_repeats, b_repeats }) }
    }

    /// `y = function(y, b)`
    ///
    /// # Panics
    /// When `b` has neither one number nor as many as `y`.
    pub fn map_in_place(&self, y: &mut [f32], b: &[f32]) {
        let len = y.len();
        let [b_repeats] = repeat([b.len()], len);
        let args =
            binary_f32::Args { a: y.as_ptr(), b: b.as_ptr(), y: y.as_mut_ptr(), len, a_repeats: false, b_repeats };
        // SAFETY: as above; `y` may be an operand.
        unsafe { self.0.call(&args) }
    }
}

/// `y = relation(a, b)` as 1 or 0, where an operand of one number repeats.
pub(crate) struct Compare<'w>(Armed<'w, CompareF32>);

impl<'w> Compare<'w> {
    pub fn new(worker: &Worker<'w>, relation: Relation) -> Option<Self> {
        find(worker, COMPARE_F32, relation).map(Self)
    }

    /// # Panics
    /// When an operand has neither one number nor as many as `y`, or both have one and `y` more.
    pub fn map(&self, a: &[f32], b: &[f32], y: &mut [u8]) {
        let len = y.len();
        let [a_repeats, b_repeats] = repeat([a.len(), b.len()], len);
        assert!(!(a_repeats && b_repeats));
        let (a, b, y) = (a.as_ptr(), b.as_ptr(), y.as_mut_ptr());
        // SAFETY: the assertions make the operands as long as `Args` wants them.
        unsafe { self.0.call(&compare_f32::Args { a, b, y, len, a_repeats, b_repeats }) }
    }
}

/// `y = condition ? a : b` for elements of some width, where an operand of one element repeats.
pub(crate) struct Select<'w>(Armed<'w, select::Select>, usize);

impl<'w> Select<'w> {
    /// For elements of `size` bytes.
    pub fn new(worker: &Worker<'w>, size: usize) -> Option<Self> {
        find(worker, SELECT, size).map(|kernel| Self(kernel, size))
    }

    /// # Panics
    /// When the elements are of another width, `condition` has not as many as `y`, or an operand neither one nor as many.
    pub fn map<T: bytemuck::Pod>(&self, condition: &[u8], a: &[T], b: &[T], y: &mut [T]) {
        let len = y.len();
        assert_eq!((size_of::<T>(), condition.len()), (self.1, len));
        let [a_repeats, b_repeats] = repeat([a.len(), b.len()], len);
        let (a, b, y) = (a.as_ptr().cast(), b.as_ptr().cast(), y.as_mut_ptr().cast());
        let args = select::Args { condition: condition.as_ptr(), a, b, y, len, a_repeats, b_repeats };
        // SAFETY: the assertions make the operands as long as `Args` wants them.
        unsafe { self.0.call(&args) }
    }
}
