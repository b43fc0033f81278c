//! ONNX Runtime's profiler: from 1.25 on it takes the steps of our groups beside its own events.

use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ep::{Slice, Slices};
use ort_sys::OrtStatusPtr;

use crate::guard;
use crate::host::Host;
use crate::log::Logger;
use crate::status::{Error, c_string};
use crate::sys::{OrtEpProfilerImpl, OrtProfilingEvent, OrtProfilingEventsContainer, PROFILER_VERSION};

/// `OrtProfilingEventCategory_KERNEL`
const KERNEL: i32 = 2;

/// Owned by ONNX Runtime, which may keep it longer than the provider.
#[repr(C)]
pub(crate) struct Profiler {
    callbacks: OrtEpProfilerImpl,
    host: Host,
    logger: Logger,
    slices: Arc<Slices>,
    /// When ONNX Runtime's own events start to count.
    start: Mutex<Instant>,
}

impl Profiler {
    pub(crate) fn create(host: Host, logger: Logger, slices: Arc<Slices>) -> *mut OrtEpProfilerImpl {
        let callbacks = OrtEpProfilerImpl {
            ort_version_supported: PROFILER_VERSION,
            Release: release,
            StartProfiling: start_profiling,
            StartEvent: start_event,
            StopEvent: stop_event,
            EndProfiling: end_profiling,
        };
        let start = Mutex::new(Instant::now());
        Box::into_raw(Box::new(Self { callbacks, host, logger, slices, start })).cast()
    }

    /// # Safety
    /// `this` is from [`Profiler::create`] and alive for `'a`.
    unsafe fn from_raw<'a>(this: *const OrtEpProfilerImpl) -> &'a Self {
        // SAFETY: `callbacks` is the first field of a `Profiler`; it is only ever shared.
        unsafe { &*this.cast::<Self>() }
    }

    /// Hands one slice over.
    ///
    /// # Safety
    /// `container` is the one of a running call of EndProfiling.
    unsafe fn add(
        &self,
        start: Instant,
        slice: &Slice,
        container: *mut OrtProfilingEventsContainer,
    ) -> Result<(), Error> {
        let Some(api) = self.host.ep25() else {
            return Err(Error::fail("Spacemit: this ONNX Runtime takes no events"));
        };
        let us = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let (name, process) = (c_string(&slice.name), i32::try_from(std::process::id()).unwrap_or(0));
        let args: Vec<(CString, CString)> = slice
            .args
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            .chain([("kind", slice.kind.to_owned()), ("provider", "Spacemit".to_owned())])
            .map(|(key, value)| (c_string(key), c_string(&value)))
            .collect();
        let (keys, values): (Vec<*const c_char>, Vec<*const c_char>) =
            args.iter().map(|(key, value)| (key.as_ptr(), value.as_ptr())).unzip();
        let mut event: *mut OrtProfilingEvent = ptr::null_mut();
        // SAFETY: the table is of a host that has the functions; they copy the strings and the event.
        unsafe {
            let made = ((*api).CreateProfilingEvent)(
                KERNEL,
                process,
                slice.thread,
                name.as_ptr(),
                us(slice.start.saturating_duration_since(start)),
                us(slice.end.saturating_duration_since(slice.start)),
                keys.as_ptr(),
                values.as_ptr(),
                args.len(),
                &mut event,
            );
            self.host.check(made)?;
            let added = ((*api).ProfilingEventsContainer_AddEvents)(container, &event.cast_const(), 1);
            ((*api).ReleaseProfilingEvent)(event);
            self.host.check(added)
        }
    }
}

/// `offset` nanoseconds after ONNX Runtime began to count.
unsafe extern "system" fn start_profiling(this: *mut OrtEpProfilerImpl, offset: i64) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live profiler.
    let this = unsafe { Profiler::from_raw(this) };
    guard::status(this.host, this.logger, || {
        let offset = Duration::from_nanos(u64::try_from(offset).unwrap_or(0));
        let now = Instant::now();
        *this.start.lock().unwrap_or_else(PoisonError::into_inner) = now.checked_sub(offset).unwrap_or(now);
        this.slices.keep();
        Ok(())
    })
}

unsafe extern "system" fn end_profiling(
    this: *mut OrtEpProfilerImpl,
    container: *mut OrtProfilingEventsContainer,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live profiler.
    let this = unsafe { Profiler::from_raw(this) };
    guard::status(this.host, this.logger, || {
        let start = *this.start.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the container is live during this call.
        this.slices.take().iter().try_for_each(|slice| unsafe { this.add(start, slice, container) })
    })
}

/// Our events have their own times.
unsafe extern "system" fn start_event(_: *mut OrtEpProfilerImpl, _correlation: u64) -> OrtStatusPtr {
    OrtStatusPtr::default()
}

unsafe extern "system" fn stop_event(
    _: *mut OrtEpProfilerImpl,
    _correlation: u64,
    _event: *const OrtProfilingEvent,
) -> OrtStatusPtr {
    OrtStatusPtr::default()
}

unsafe extern "system" fn release(this: *mut OrtEpProfilerImpl) {
    if this.is_null() {
        return;
    }
    // SAFETY: `this` is from `create` and is released once.
    let profiler = unsafe { Box::from_raw(this.cast::<Profiler>()) };
    // The session's logger may be gone already.
    // SAFETY: a NULL logger writes nothing.
    let silent = unsafe { Logger::new(profiler.host, ptr::null()) };
    guard::infallible(silent, || drop(profiler));
}
