//! The wall between Rust and C: no panic and no error leaves a callback other than as an `OrtStatus`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ort_sys::OrtStatusPtr;

use crate::host::Host;
use crate::log::Logger;
use crate::status::Error;

/// Runs the body of a callback that answers with a status; events inside it go to `logger`.
pub(crate) fn status(host: Host, logger: Logger, body: impl FnOnce() -> Result<(), Error>) -> OrtStatusPtr {
    match catch(logger, body).unwrap_or_else(Err) {
        Ok(()) => OrtStatusPtr::default(),
        Err(error) => host.status(&error),
    }
}

/// Runs the body of a callback that cannot fail; a panic inside it is logged.
pub(crate) fn infallible(logger: Logger, body: impl FnOnce()) {
    if let Err(error) = catch(logger, body) {
        logger.error(&error.message);
    }
}

fn catch<T>(logger: Logger, body: impl FnOnce() -> T) -> Result<T, Error> {
    let _entered = logger.enter();
    // Whatever a panic leaves half done stays behind locks that report poisoning, or is dropped with its owner.
    catch_unwind(AssertUnwindSafe(|| {
        #[cfg(test)]
        crate::tests::panic_if_asked();
        body()
    }))
    .map_err(|payload| Error::fail(format!("Spacemit: internal error: {}", reason(&*payload))))
}

fn reason(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic")
}
