//! The JSON that tells what was claimed and what was not, and why.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernels::rt::{RankCore, Team};
use serde_json::{Value, json};

use crate::claim::Partition;
use crate::ir::{Graph, Node, NodeId};
use crate::{Error, Target};

/// Collects the partitions of all graphs of a session: the main graph and the bodies of control-flow nodes.
#[derive(Default)]
pub(crate) struct Report {
    graphs: Mutex<BTreeMap<Key, Entry>>,
    /// Where the session's workers are now, by rank.
    cores: Mutex<Vec<RankCore>>,
}

/// Name and outputs: bodies of control-flow nodes may share a name.
type Key = (String, Vec<String>);

/// What became of the nodes of one graph.
#[derive(Default)]
struct Entry {
    graph: String,
    groups: Vec<Vec<Claim>>,
    /// Nodes that run as registered kernels.
    kernels: Vec<Claim>,
    declines: Vec<Declined>,
}

struct Claim {
    node: Named,
    /// The operator after fusion.
    runs_as: String,
}

struct Declined {
    node: Named,
    code: &'static str,
    reason: String,
}

#[derive(Clone, PartialEq, Eq)]
struct Named {
    name: String,
    domain: String,
    op: String,
}

impl Named {
    fn of(node: &Node<'_>) -> Self {
        Self { name: node.name.clone(), domain: node.domain.clone(), op: node.op_type.clone() }
    }
}

/// The model's nodes by origin, as they were before fusion.
pub(crate) struct Origins(BTreeMap<usize, Named>);

impl Origins {
    pub fn of(graph: &Graph<'_>) -> Self {
        Self(graph.nodes().filter_map(|(_, node)| Some((*node.origins.first()?, Named::of(node)))).collect())
    }

    fn of_node(&self, node: &Node<'_>) -> Vec<Named> {
        node.origins.iter().filter_map(|origin| self.0.get(origin).cloned()).collect()
    }
}

impl Report {
    /// Writes the report with the partition of one more graph.
    pub fn write(&self, path: &Path, target: &Target, partition: &Partition<'_>, names: &Origins) -> Result<(), Error> {
        let mut graphs = lock(&self.graphs);
        let graph = &partition.graph;
        let outputs = graph.outputs().iter().map(|&id| graph.value(id).name.clone()).collect();
        let entry = graphs.entry((graph.name.clone(), outputs)).or_default();
        *entry = Entry::of(partition, names).after(std::mem::take(entry), graph);
        self.save(path, target, &graphs)
    }

    /// Writes the report with the cores of the team that the session now has.
    pub fn write_team(&self, path: &Path, target: &Target, team: &Team) -> Result<(), Error> {
        *lock(&self.cores) = team.cores();
        self.save(path, target, &lock(&self.graphs))
    }

    fn save(&self, path: &Path, target: &Target, graphs: &BTreeMap<Key, Entry>) -> Result<(), Error> {
        let text = format!("{:#}\n", to_json(target, &lock(&self.cores), graphs.values()));
        std::fs::write(path, text).map_err(|error| Error::Option {
            key: "report".into(),
            reason: format!("'{}' cannot be written: {error}", path.display()),
        })
    }
}

impl Entry {
    fn of(partition: &Partition<'_>, names: &Origins) -> Self {
        let node = |id: &NodeId| partition.graph.node(*id);
        let claims = |node: &Node<'_>| -> Vec<Claim> {
            let runs_as = node.qualified_op();
            names.of_node(node).into_iter().map(|node| Claim { node, runs_as: runs_as.clone() }).collect()
        };
        let groups = partition.groups.iter().map(|ids| ids.iter().filter_map(node).flat_map(claims).collect());
        let kernels = partition.kernels.iter().filter_map(node).flat_map(claims).collect();
        let declines = partition.declines.iter().flat_map(|(id, decline)| {
            let nodes = node(id).map_or_else(Vec::new, |node| names.of_node(node));
            nodes.into_iter().map(|node| Declined { node, code: decline.code.name(), reason: decline.reason.clone() })
        });
        let (groups, declines) = (groups.collect(), declines.collect());
        Self { graph: partition.graph.name.clone(), groups, kernels, declines }
    }

    /// This entry when `earlier` tells of the same graph before its functions were inlined: earlier claims stand, and
    /// earlier declines as far as the nodes are still there.
    fn after(mut self, mut earlier: Self, graph: &Graph<'_>) -> Self {
        let mut taken: Vec<&Node<'_>> =
            graph.nodes().filter(|&(id, _)| graph.is_taken(id)).map(|(_, node)| node).collect();
        if taken.is_empty() {
            return self;
        }
        earlier.declines.retain(|declined| {
            let same = |node: &&Node<'_>| node.name == declined.node.name && node.op_type == declined.node.op;
            taken.iter().position(same).map(|at| taken.swap_remove(at)).is_some()
        });
        earlier.groups.append(&mut self.groups);
        earlier.kernels.append(&mut self.kernels);
        earlier.declines.append(&mut self.declines);
        Self { graph: self.graph, ..earlier }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn to_json<'a>(target: &Target, cores: &[RankCore], entries: impl Iterator<Item = &'a Entry>) -> Value {
    let (mut groups, mut claims, mut declines) = (Vec::new(), Vec::new(), Vec::new());
    let claim = |Claim { node: Named { name, domain, op }, runs_as }: &Claim, group: Option<usize>| json!({"node": name, "op": op, "domain": domain, "group": group, "runs_as": runs_as});
    for entry in entries {
        claims.extend(entry.kernels.iter().map(|kernel| claim(kernel, None)));
        for group in &entry.groups {
            claims.extend(group.iter().map(|member| claim(member, Some(groups.len()))));
            let members: Vec<&str> = group.iter().map(|claim| claim.node.name.as_str()).collect();
            groups.push(json!({"graph": entry.graph, "nodes": members}));
        }
        for Declined { node: Named { name, domain, op }, code, reason } in &entry.declines {
            declines.push(json!({"node": name, "op": op, "domain": domain, "code": code, "reason": reason}));
        }
    }
    let core = |RankCore { core, isa, scratchpad }: &RankCore| {
        json!({
            "cpu": core.cpu,
            "kind": format!("{:?}", core.kind),
            "vlen": isa.vlen,
            "ime1": isa.ime1,
            "ime2": isa.ime2,
            "scratchpad": scratchpad,
        })
    };
    json!({
        "provider": "Spacemit",
        "version": env!("CARGO_PKG_VERSION"),
        "target": target.name(),
        "workers": target.workers,
        "cores": cores.iter().map(core).collect::<Vec<_>>(),
        "groups": groups,
        "claims": claims,
        "declines": declines,
    })
}
