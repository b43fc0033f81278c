//! A registered kernel: runs one node of a session, without a fused node around it.

use std::ffi::{c_int, c_void};

use ep::Provider;
use ep::ops::OpRow;
use ort_sys::{OrtAllocator, OrtKernelContext, OrtStatusPtr, OrtValue};

use crate::compute::Runner;
use crate::guard;
use crate::handle::{KernelContext, KernelInfo};
use crate::host::Host;
use crate::import::import_node;
use crate::log::Logger;
use crate::status::Error;
use crate::sys::{KERNEL_VERSION, OrtKernelImpl, OrtSharedPrePackedWeightCache};

#[repr(C)]
pub(crate) struct Kernel {
    callbacks: OrtKernelImpl,
    host: Host,
    logger: Logger,
    runner: Runner,
    /// Positions of the constant inputs, of which the group has all it needs.
    constants: Vec<usize>,
}

impl Kernel {
    /// The kernel of the node that `info` describes, whose operator is that of `row`.
    pub(crate) fn create(
        host: Host,
        logger: Logger,
        provider: &Provider,
        row: &OpRow,
        info: KernelInfo<'_>,
    ) -> Result<*mut OrtKernelImpl, Error> {
        let node = import_node(info, row)?;
        let runner = Runner::new(provider.compile(&node.graph)?, &node.inputs, &node.outputs)?;
        Ok(Self::into_raw(host, logger, runner, node.constants))
    }

    pub(crate) fn into_raw(host: Host, logger: Logger, runner: Runner, constants: Vec<usize>) -> *mut OrtKernelImpl {
        let callbacks = OrtKernelImpl {
            ort_version_supported: KERNEL_VERSION,
            flags: 0,
            Compute: compute,
            Release: release,
            PrePackWeight: pre_pack_weight,
            SetSharedPrePackedWeight: set_shared_pre_packed_weight,
        };
        Box::into_raw(Box::new(Self { callbacks, host, logger, runner, constants })).cast()
    }

    /// # Safety
    /// `this` is from [`Kernel::into_raw`] and alive for `'a`.
    unsafe fn from_raw<'a>(this: *const OrtKernelImpl) -> &'a Self {
        // SAFETY: `callbacks` is the first field of a `Kernel`; it is only ever shared.
        unsafe { &*this.cast::<Self>() }
    }
}

unsafe extern "system" fn compute(this: *mut OrtKernelImpl, context: *mut OrtKernelContext) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live kernel, and a context that is live during the call.
    let (kernel, context) = unsafe {
        let kernel = Kernel::from_raw(this);
        (kernel, KernelContext::new(kernel.host, context))
    };
    guard::status(kernel.host, kernel.logger, || kernel.runner.run(context))
}

unsafe extern "system" fn release(this: *mut OrtKernelImpl) {
    // SAFETY: ONNX Runtime passes a live kernel, and does not use it afterwards.
    let (logger, kernel) = unsafe { (Kernel::from_raw(this).logger, Box::from_raw(this.cast::<Kernel>())) };
    guard::infallible(logger, || drop(kernel));
}

/// Tells ONNX Runtime which constants it may free: what a kernel needs of them was packed when it was made, into the store
/// that all sessions of the process share.
///
/// A `cache` is for bytes that sessions share through ONNX Runtime, and it must not stay empty. Here it gets a byte that
/// stands for the weight in the store.
unsafe extern "system" fn pre_pack_weight(
    this: *mut OrtKernelImpl,
    _tensor: *const OrtValue,
    input: c_int,
    allocator: *mut OrtAllocator,
    cache: *mut OrtSharedPrePackedWeightCache,
    is_packed: *mut bool,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live kernel and an out pointer.
    let (kernel, is_packed) = unsafe { (Kernel::from_raw(this), &mut *is_packed) };
    guard::status(kernel.host, kernel.logger, || {
        *is_packed = false;
        if !usize::try_from(input).is_ok_and(|input| kernel.constants.contains(&input)) {
            return Ok(());
        }
        if !cache.is_null() {
            // SAFETY: ONNX Runtime passes a live cache and the allocator that goes with it.
            unsafe { store_stand_in(kernel.host, allocator, cache)? };
        }
        *is_packed = true;
        Ok(())
    })
}

/// # Safety
/// Both are live, and the cache frees with the allocator.
unsafe fn store_stand_in(
    host: Host,
    allocator: *mut OrtAllocator,
    cache: *mut OrtSharedPrePackedWeightCache,
) -> Result<(), Error> {
    // SAFETY: by the contract; the function exists from 1.24 on and takes the buffer over when it succeeds.
    unsafe {
        let functions = host.ep24().zip((*allocator).Alloc).zip((*allocator).Free);
        let ((api, alloc), free) = functions.ok_or_else(|| Error::fail("Spacemit: an allocator cannot allocate"))?;
        let mut buffer = alloc(allocator, STAND_IN.len());
        if buffer.is_null() {
            return Err(Error::fail("Spacemit: no memory for a packed weight"));
        }
        buffer.cast::<u8>().copy_from_nonoverlapping(STAND_IN.as_ptr(), STAND_IN.len());
        let status = ((*api).SharedPrePackedWeightCache_StoreWeightData)(cache, &mut buffer, &mut STAND_IN.len(), 1);
        host.check(status).inspect_err(|_| free(allocator, buffer))
    }
}

/// What the caches of ONNX Runtime get in place of packed weights.
const STAND_IN: [u8; 1] = [0];

/// The kernel's weight is in the process's store; the buffers are [`STAND_IN`].
unsafe extern "system" fn set_shared_pre_packed_weight(
    _: *mut OrtKernelImpl,
    _: *const *const c_void,
    _: *const usize,
    _: usize,
    _: c_int,
) -> OrtStatusPtr {
    OrtStatusPtr::default()
}
