"""Each rule of docs/fusions.md on a graph as exporters write it, and on one that is nearly so."""

from pathlib import Path

import pytest
from fusions import run
from fusions_attention import ATTENTION
from fusions_formulas import FORMULAS
from fusions_products import PRODUCTS

RULES = [*FORMULAS, *ATTENTION, *PRODUCTS]
IDS = [f"{rule.name}-{rule.nodes[-1].op_type}" for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_pattern_is_fused(rule):
    assert run(rule.nodes, rule.outputs) == rule.fused


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_near_miss_is_not_fused(rule):
    nodes = [rule.change.get(index, one) for index, one in enumerate(rule.nodes)]
    assert run(nodes, rule.outputs) == (rule.left or {one.op_type for one in nodes})


def test_every_documented_rule_is_here():
    lines = (Path(__file__).parents[2] / "docs" / "fusions.md").read_text().splitlines()
    rows = [line.split("|")[1].strip() for line in lines if line.startswith("|")]
    assert set(rows[2:]) == {rule.name for rule in RULES}
