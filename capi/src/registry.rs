//! The provider's operators in ONNX Runtime's kernel registry: one kernel definition for each row of the operator table.
//!
//! A definition names an operator and its versions. It has no type constraints: ONNX Runtime looks a kernel up only for a
//! node that the provider has claimed, and the claim knows more of a node than its types.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use ep::Provider;
use ep::ops::{FUSED, OpRow, rows};
use ort_sys::{OrtKernelInfo, OrtStatusPtr};

use crate::factory::NAME;
use crate::guard;
use crate::handle::KernelInfo;
use crate::host::Host;
use crate::kernel::Kernel;
use crate::log::Logger;
use crate::status::{Error, c_string};
use crate::sys::{OrtEpApi24, OrtKernelDef, OrtKernelDefBuilder, OrtKernelImpl, OrtKernelRegistry};

/// A registry of the host, which this side owns.
pub(crate) struct Registry {
    api: *const OrtEpApi24,
    raw: *mut OrtKernelRegistry,
    /// The state that the definitions refer to.
    _operators: Box<[Operator]>,
}

/// What the kernels of a definition are made with.
struct Operator {
    host: Host,
    logger: Logger,
    provider: Arc<Provider>,
    row: &'static OpRow,
}

// SAFETY: the host's registry is written only while it is made; the tables are immutable static data.
unsafe impl Send for Registry {}
// SAFETY: as above.
unsafe impl Sync for Registry {}

impl Registry {
    /// Registers every operator that a model can have. `api` is the host's.
    pub(crate) fn new(
        host: Host,
        api: *const OrtEpApi24,
        logger: Logger,
        provider: &Arc<Provider>,
    ) -> Result<Self, Error> {
        let operator = |row| Operator { host, logger, provider: Arc::clone(provider), row };
        let operators: Box<[Operator]> = rows().filter(|row| row.domain != FUSED).map(operator).collect();
        let mut raw = ptr::null_mut();
        // SAFETY: the function exists from 1.24 on, as `api` says.
        host.check(unsafe { ((*api).CreateKernelRegistry)(&mut raw) })?;
        let registry = Self { api, raw, _operators: operators };
        for operator in &registry._operators {
            let definition = Definition::new(host, api, operator.row)?;
            let state = ptr::from_ref(operator).cast_mut().cast::<c_void>();
            // SAFETY: live objects; the registry copies the definition, and the state lives as long as the registry.
            let status =
                unsafe { ((*api).KernelRegistry_AddKernel)(registry.raw, definition.raw, create_kernel, state) };
            host.check(status)?;
        }
        Ok(registry)
    }

    pub(crate) fn raw(&self) -> *const OrtKernelRegistry {
        self.raw
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // SAFETY: owned, and released only here.
        unsafe { ((*self.api).ReleaseKernelRegistry)(self.raw) };
    }
}

struct Definition {
    api: *const OrtEpApi24,
    raw: *mut OrtKernelDef,
}

struct Builder {
    api: *const OrtEpApi24,
    raw: *mut OrtKernelDefBuilder,
}

impl Definition {
    fn new(host: Host, api: *const OrtEpApi24, row: &OpRow) -> Result<Self, Error> {
        let (mut builder, mut raw) = (Builder { api, raw: ptr::null_mut() }, ptr::null_mut());
        let (name, domain) = (c_string(row.name), c_string(row.domain));
        // SAFETY: the functions exist from 1.24 on, as `api` says; the builder is live, and the strings are copied.
        unsafe {
            host.check(((*api).CreateKernelDefBuilder)(&mut builder.raw))?;
            host.check(((*api).KernelDefBuilder_SetOperatorType)(builder.raw, name.as_ptr()))?;
            host.check(((*api).KernelDefBuilder_SetDomain)(builder.raw, domain.as_ptr()))?;
            let (first, last) = (*row.versions.start(), *row.versions.end());
            host.check(((*api).KernelDefBuilder_SetSinceVersion)(builder.raw, first, last))?;
            host.check(((*api).KernelDefBuilder_SetExecutionProvider)(builder.raw, NAME.as_ptr()))?;
            host.check(((*api).KernelDefBuilder_Build)(builder.raw, &mut raw))?;
        }
        Ok(Self { api, raw })
    }
}

impl Drop for Definition {
    fn drop(&mut self) {
        // SAFETY: owned, and released only here.
        unsafe { ((*self.api).ReleaseKernelDef)(self.raw) };
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: owned, and released only here; the host takes NULL.
        unsafe { ((*self.api).ReleaseKernelDefBuilder)(self.raw) };
    }
}

/// Called for each node that was claimed as a kernel, when the session is created.
unsafe extern "system" fn create_kernel(
    state: *mut c_void,
    info: *const OrtKernelInfo,
    kernel: *mut *mut OrtKernelImpl,
) -> OrtStatusPtr {
    // SAFETY: `state` is what `Registry::new` registered; `info` is live during the call, `kernel` an out pointer.
    let (operator, info, kernel) = unsafe {
        let operator = &*state.cast::<Operator>();
        (operator, KernelInfo::new(operator.host, info), &mut *kernel)
    };
    guard::status(operator.host, operator.logger, || {
        *kernel = Kernel::create(operator.host, operator.logger, &operator.provider, operator.row, info)?;
        Ok(())
    })
}
