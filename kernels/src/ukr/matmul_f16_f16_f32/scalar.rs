use super::Args;

/// The twin of every layout with panels of `P` columns in groups of `K`.
///
/// # Safety
/// The contract of [`Args`].
pub unsafe fn run<const P: usize, const K: usize>(args: &Args) {
    // SAFETY: the caller's promise.
    unsafe { crate::ukr::scalar::<_, _, _, P, K>(args, |sum, a, b| sum + a.to_f32() * b.to_f32()) }
}
