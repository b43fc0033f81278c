//! The answer to ONNX Runtime's question which nodes the provider takes.

use ep::Claims;

use crate::host::Host;
use crate::import::Imported;
use crate::status::Error;
use crate::sys::{EP_VERSION, OrtEpGraphSupportInfo, OrtNodeFusionOptions};

/// Tells the host which nodes become groups, and which run as kernels by themselves.
pub(crate) fn offer(
    host: Host,
    imported: &Imported<'_>,
    claims: &Claims,
    info: *mut OrtEpGraphSupportInfo,
) -> Result<(), Error> {
    let node = |&origin: &usize| {
        let node = imported.nodes.get(origin).map(|node| node.raw());
        node.ok_or_else(|| Error::fail("Spacemit: claimed a node that is not there"))
    };
    for (index, group) in claims.groups.iter().enumerate() {
        let options = OrtNodeFusionOptions {
            ort_version_supported: EP_VERSION,
            drop_constant_initializers: claims.lent != Some(index),
        };
        let nodes = group.iter().map(node).collect::<Result<Vec<_>, _>>()?;
        // SAFETY: nodes of the graph at hand; ONNX Runtime copies the options.
        let status =
            unsafe { ((*host.ep()).EpGraphSupportInfo_AddNodesToFuse)(info, nodes.as_ptr(), nodes.len(), &options) };
        host.check(status)?;
    }
    for origin in &claims.kernels {
        // SAFETY: a node of the graph at hand.
        let status = unsafe { ((*host.ep()).EpGraphSupportInfo_AddSingleNode)(info, node(origin)?) };
        host.check(status)?;
    }
    Ok(())
}
