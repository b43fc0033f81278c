//! The execution provider: one per session.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ep::Provider;
use ort_sys::{OrtGraph, OrtNode, OrtStatusPtr};

use crate::capability;
use crate::factory::{Factory, NAME};
use crate::fused::NodeCompute;
use crate::guard;
use crate::handle::{Graph, Node, SessionOptions, ValueInfo};
use crate::host::{Host, text};
use crate::import::import;
use crate::log::Logger;
use crate::profiler::Profiler;
use crate::registry::Registry;
use crate::status::Error;
use crate::sys::{OrtEp, OrtEpGraphSupportInfo, OrtEpProfilerImpl, OrtKernelRegistry, OrtNodeComputeInfo};

/// What ONNX Runtime puts before the keys of this provider's options.
const OPTION_PREFIX: &str = "ep.spacemit.";

#[repr(C)]
pub(crate) struct EpInstance {
    callbacks: OrtEp,
    host: Host,
    logger: Logger,
    provider: Arc<Provider>,
    /// The operators that nodes can run by themselves with, on hosts that can do that.
    registry: Option<Registry>,
    /// Whether a graph was claimed from, on hosts where that can happen only once.
    claimed: AtomicBool,
    /// ONNX Runtime releases this instance through its factory, even after the registration has ended.
    _factory: Arc<Factory>,
}

impl EpInstance {
    /// Makes a provider from the session's options; fails on unknown keys and bad values, naming the key, and when a
    /// compiled model is asked for.
    pub(crate) fn create(
        host: Host,
        logger: Logger,
        factory: Arc<Factory>,
        options: SessionOptions<'_>,
    ) -> Result<*mut OrtEp, Error> {
        let entries = options.config_entries()?;
        if entries.pairs().contains(&("ep.context_enable", "1")) {
            return Err(Error::not_implemented("Spacemit: ep.context_enable: there are no compiled models to save"));
        }
        let own = entries.pairs().into_iter();
        let own = own.filter_map(|(key, value)| Some((key.strip_prefix(OPTION_PREFIX)?, value)));
        let options = ep::Options::parse_with(own, |name| std::env::var(name).ok());
        let options = options.and_then(|options| match host.ep24() {
            Some(_) => Ok(options),
            None => options.without_kernels(),
        });
        let provider = options.and_then(Provider::new);
        let provider = provider.map_err(|error| Error::invalid_argument(format!("Spacemit: {error}")))?;
        let provider = Arc::new(provider);
        let registry = host.ep24().map(|api| Registry::new(host, api, logger, &provider)).transpose()?;
        let callbacks = OrtEp {
            ort_version_supported: host.ep_version(),
            GetName: get_name,
            GetCapability: get_capability,
            Compile: compile,
            ReleaseNodeComputeInfos: release_node_compute_infos,
            GetPreferredDataLayout: ptr::null(),
            ShouldConvertDataLayoutForOp: ptr::null(),
            SetDynamicOptions: set_dynamic_options,
            OnRunStart: ptr::null(),
            OnRunEnd: ptr::null(),
            CreateAllocator: ptr::null(),
            CreateSyncStreamForDevice: ptr::null(),
            GetCompiledModelCompatibilityInfo: ptr::null(),
            GetKernelRegistry: get_kernel_registry,
            IsConcurrentRunSupported: ptr::null(),
            Sync: ptr::null(),
            CreateProfiler: create_profiler,
        };
        let claimed = AtomicBool::new(false);
        let instance = Self { callbacks, host, logger, provider, registry, claimed, _factory: factory };
        Ok(Box::into_raw(Box::new(instance)).cast())
    }

    /// # Safety
    /// `this` is from [`EpInstance::create`] and not used afterwards.
    pub(crate) unsafe fn release(this: *mut OrtEp) {
        // SAFETY: by the contract.
        drop(unsafe { Box::from_raw(this.cast::<Self>()) });
    }

    /// # Safety
    /// `this` is from [`EpInstance::create`] and alive for `'a`.
    unsafe fn from_raw<'a>(this: *const OrtEp) -> &'a Self {
        // SAFETY: `callbacks` is the first field of an `EpInstance`; it is only ever shared.
        unsafe { &*this.cast::<Self>() }
    }

    fn claim(&self, graph: Graph<'_>, info: *mut OrtEpGraphSupportInfo) -> Result<(), Error> {
        if self.host.repeats_fused_names() && (graph.parent()?.is_some() || self.claimed.load(Relaxed)) {
            tracing::info!(
                graph = graph.name()?,
                "left to other providers: ONNX Runtime 1.23 fuses nodes of one graph"
            );
            return Ok(());
        }
        if graph.is_in_function()? {
            // A group would not survive the inlining of the function: its operator has no operator set there.
            tracing::debug!(graph = graph.name()?, "left alone until its function is inlined");
            return Ok(());
        }
        let imported = import(graph)?;
        let claims = self.provider.claim(&imported.graph)?;
        self.claimed.fetch_or(!claims.groups.is_empty(), Relaxed);
        capability::offer(self.host, &imported, &claims, info)
    }

    fn compile(&self, graph: Graph<'_>, fused: Node<'_>) -> Result<Box<NodeCompute>, Error> {
        let mut imported = import(graph)?;
        let inputs = fused.inputs()?.into_iter().flatten().map(ValueInfo::name).collect::<Result<Vec<_>, _>>()?;
        imported.graph.lend(inputs);
        let group = self.provider.compile(&imported.graph)?;
        NodeCompute::new(self.host, self.logger, group, fused)
    }
}

unsafe extern "system" fn get_name(_: *const OrtEp) -> *const c_char {
    NAME.as_ptr()
}

/// The registry lives as long as the provider.
unsafe extern "system" fn get_kernel_registry(
    this: *mut OrtEp,
    registry: *mut *const OrtKernelRegistry,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live provider and an out pointer.
    let (this, registry) = unsafe { (EpInstance::from_raw(this), &mut *registry) };
    guard::status(this.host, this.logger, || {
        *registry = this.registry.as_ref().map_or(ptr::null(), Registry::raw);
        Ok(())
    })
}

/// Called for each graph and each body of a control flow node, and again after function inlining.
unsafe extern "system" fn get_capability(
    this: *mut OrtEp,
    graph: *const OrtGraph,
    info: *mut OrtEpGraphSupportInfo,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live provider, and a graph that is live during the call.
    let (this, graph) = unsafe {
        let this = EpInstance::from_raw(this);
        (this, Graph::new(this.host, graph))
    };
    guard::status(this.host, this.logger, || this.claim(graph, info))
}

unsafe extern "system" fn compile(
    this: *mut OrtEp,
    graphs: *mut *const OrtGraph,
    fused_nodes: *mut *const OrtNode,
    count: usize,
    infos: *mut *mut OrtNodeComputeInfo,
    _ep_context_nodes: *mut *mut OrtNode,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live provider.
    let this = unsafe { EpInstance::from_raw(this) };
    guard::status(this.host, this.logger, || {
        let mut nodes = Vec::with_capacity(count);
        for index in 0..count {
            // SAFETY: both arrays hold `count` objects that are live during the call.
            let (graph, fused) = unsafe {
                let graph = Graph::new(this.host, *graphs.add(index));
                (graph, Node::new(this.host, *fused_nodes.add(index)))
            };
            nodes.push(this.compile(graph, fused)?);
        }
        // Only now that nothing can fail: what is in the array is ONNX Runtime's to release.
        for (index, node) in nodes.into_iter().enumerate() {
            // SAFETY: the array has room for `count` pointers.
            unsafe { *infos.add(index) = NodeCompute::into_raw(node) };
        }
        Ok(())
    })
}

unsafe extern "system" fn release_node_compute_infos(
    this: *mut OrtEp,
    infos: *mut *mut OrtNodeComputeInfo,
    count: usize,
) {
    // SAFETY: ONNX Runtime passes a live provider.
    let this = unsafe { EpInstance::from_raw(this) };
    guard::infallible(this.logger, || {
        for index in 0..count {
            // SAFETY: the array holds `count` pointers from `compile`, or NULL where that failed.
            unsafe { NodeCompute::release(*infos.add(index)) };
        }
    });
}

/// Keys are those of the session's configuration, with or without their prefix.
unsafe extern "system" fn set_dynamic_options(
    this: *mut OrtEp,
    keys: *const *const c_char,
    values: *const *const c_char,
    count: usize,
) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live provider.
    let this = unsafe { EpInstance::from_raw(this) };
    guard::status(this.host, this.logger, || {
        // SAFETY: both arrays hold `count` strings that are live during the call.
        let pair = |index| unsafe { (text(*keys.add(index)), text(*values.add(index))) };
        let own = (0..count).map(pair).map(|(key, value)| (key.strip_prefix(OPTION_PREFIX).unwrap_or(key), value));
        this.provider.change(own).map_err(|error| Error::invalid_argument(format!("Spacemit: {error}")))
    })
}

/// Called on hosts from 1.25 on.
unsafe extern "system" fn create_profiler(this: *mut OrtEp, profiler: *mut *mut OrtEpProfilerImpl) -> OrtStatusPtr {
    // SAFETY: ONNX Runtime passes a live provider.
    let this = unsafe { EpInstance::from_raw(this) };
    guard::status(this.host, this.logger, || {
        // SAFETY: an out pointer.
        unsafe { *profiler = Profiler::create(this.host, this.logger, this.provider.slices()) };
        Ok(())
    })
}
