"""Where onnxruntime put the nodes of a session that records it."""


def assert_all_on_spacemit(session, report, but=(), groups=2):
    """Assert that our provider has every node, but those of the operators ``but``, in at most ``groups`` groups.

    ``report`` is the provider's own; it must give a reason for every node that it does not have.
    """
    assigned = session.get_provider_graph_assignment_info()
    rest = [node for group in assigned if group.ep_name != "Spacemit" for node in group.get_nodes()]
    reasons = {one["node"]: one["reason"] for one in report["declines"]}
    for node in rest:
        assert reasons.get(node.name), f"{node.op_type} {node.name} has no reason"
    unwanted = [f"{node.op_type} {node.name}: {reasons[node.name]}" for node in rest if node.op_type not in but]
    assert not unwanted, "\n".join(unwanted)
    assert 1 <= sum(group.ep_name == "Spacemit" for group in assigned) <= groups
