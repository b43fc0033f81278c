//! The JSON that tells what was claimed and what was not, and why.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::claim::Partition;
use crate::ir::{Graph, NodeId};
use crate::{Error, Target};

/// Collects the partitions of all graphs of a session: the main graph and the bodies of control-flow nodes.
#[derive(Default)]
pub(crate) struct Report {
    graphs: Mutex<BTreeMap<String, Value>>,
}

/// Name and operator of the model's nodes, by origin, as they were before fusion.
pub(crate) struct Origins(BTreeMap<usize, (String, String, String)>);

impl Origins {
    pub fn of(graph: &Graph<'_>) -> Self {
        let entry = |node: &crate::ir::Node<'_>| {
            let origin = *node.origins.first()?;
            Some((origin, (node.name.clone(), node.domain.clone(), node.op_type.clone())))
        };
        Self(graph.nodes().filter_map(|(_, node)| entry(node)).collect())
    }

    fn describe(&self, origin: usize) -> (&str, &str, &str) {
        self.0.get(&origin).map_or(("", "", ""), |(name, domain, op)| (name, domain, op))
    }
}

impl Report {
    /// Writes the report with the partition of one more graph.
    pub fn write(&self, path: &Path, target: &Target, partition: &Partition<'_>, names: &Origins) -> Result<(), Error> {
        let mut graphs = self.graphs.lock().unwrap_or_else(PoisonError::into_inner);
        graphs.insert(partition.graph.name.clone(), describe(partition, names));
        let list = |key: &str| -> Vec<&Value> {
            graphs.values().filter_map(|graph| graph[key].as_array()).flatten().collect()
        };
        let report = json!({
            "provider": "Spacemit",
            "version": env!("CARGO_PKG_VERSION"),
            "target": target.name(),
            "workers": target.workers,
            "groups": list("groups"),
            "claims": list("claims"),
            "declines": list("declines"),
        });
        let text = format!("{report:#}\n");
        std::fs::write(path, text).map_err(|error| Error::Option {
            key: "report".into(),
            reason: format!("'{}' cannot be written: {error}", path.display()),
        })
    }
}

fn describe(partition: &Partition<'_>, names: &Origins) -> Value {
    let graph = &partition.graph;
    let origins = |id: &NodeId| graph.node(*id).map_or(&[][..], |node| &node.origins).to_vec();
    let (mut groups, mut claims, mut declines) = (Vec::new(), Vec::new(), Vec::new());
    for (index, nodes) in partition.groups.iter().enumerate() {
        let members: Vec<usize> = nodes.iter().flat_map(origins).collect();
        for id in nodes {
            let fused = graph.node(*id).map(|node| node.qualified_op());
            for origin in origins(id) {
                let (node, domain, op) = names.describe(origin);
                claims.push(json!({"node": node, "op": op, "domain": domain, "group": index, "runs_as": fused}));
            }
        }
        let members: Vec<&str> = members.into_iter().map(|origin| names.describe(origin).0).collect();
        groups.push(json!({"graph": graph.name, "nodes": members}));
    }
    for (id, decline) in &partition.declines {
        for origin in origins(id) {
            let (node, domain, op) = names.describe(origin);
            let (code, reason) = (decline.code.name(), &decline.reason);
            declines.push(json!({"node": node, "op": op, "domain": domain, "code": code, "reason": reason}));
        }
    }
    json!({"groups": groups, "claims": claims, "declines": declines})
}
