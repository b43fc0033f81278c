#[cfg(not(debug_assertions))]
use rten_simd::{Isa, SimdOp};

/// Runs `job` compiled for the widest vectors of the machine: plain loops inside it use them by autovectorisation.
///
/// `job` and what it calls must be inlined into this function's callee to profit, hence closures are to be
/// `#[inline(always)]` or small.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub(crate) fn vectorised<R>(job: impl FnOnce() -> R) -> R {
    struct Job<F>(F);

    impl<R, F: FnOnce() -> R> SimdOp for Job<F> {
        type Output = R;

        #[inline(always)]
        fn eval<I: Isa>(self, _isa: I) -> R {
            (self.0)()
        }
    }

    Job(job).dispatch()
}

/// Runs `job`. Builds without autovectorisation gain nothing from a copy for each instruction set but compile time.
#[cfg(debug_assertions)]
#[inline(always)]
pub(crate) fn vectorised<R>(job: impl FnOnce() -> R) -> R {
    job()
}
