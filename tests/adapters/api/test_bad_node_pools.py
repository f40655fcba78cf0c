from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.api.builders import (
    node_pool_tree,
    problem_of,
)


def requiring(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"requirements": [{"key": key, "operator": operator, "values": list(values)}]}


def tainted(key: str, effect: str, value: str = "") -> dict[str, str]:
    return {"key": key, "effect": effect, "value": value}


def annotated(key: str, written: str) -> dict[str, Any]:
    """A pool with an annotation of our own."""
    metadata = {"name": "default", "annotations": {f"treenail.sh/{key}": written}}
    return {**node_pool_tree(), "metadata": metadata}


NODE_POOLS = {
    "bad duration": (
        node_pool_tree(disruption={"consolidateAfter": "5 minutes"}),
        (
            'spec.disruption.consolidateAfter: "5 minutes" is not a duration'
            " (such as 30s, 15m, 1h30m or 720h) or Never"
        ),
    ),
    "absurd duration": (
        node_pool_tree({"terminationGracePeriod": "999999999h"}),
        'spec.template.spec.terminationGracePeriod: "999999999h" is no duration of less than 292 years',
    ),
    "bad taint key": (
        node_pool_tree({"taints": [tainted("a b", "NoSchedule")]}),
        'spec.template.spec.taints[0].key: "a b" is not a label key (such as team or example.com/team)',
    ),
    "taint without effect": (
        node_pool_tree({"startupTaints": [{"key": "a"}]}),
        "spec.template.spec.startupTaints[0].effect: is missing",
    ),
    "the pool's own label": (
        node_pool_tree(requiring("karpenter.sh/nodepool", "In", "x")),
        (
            'spec.template.spec.requirements[0].key: "karpenter.sh/nodepool" is restricted:'
            " it is given to every node by itself"
        ),
    ),
    "unknown capacity type": (
        node_pool_tree(requiring("karpenter.sh/capacity-type", "In", "on-sale")),
        "spec.template.spec.requirements[0].values: none of them is one of on-demand, reserved, spot",
    ),
    "more values asked for than listed": (
        node_pool_tree({"requirements": [{"key": "t", "operator": "In", "values": ["a"], "minValues": 2}]}),
        "spec.template.spec.requirements[0].minValues: 2 is more than the 1 value(s) listed",
    ),
    "budget that is none": (
        node_pool_tree(disruption={"budgets": [{"nodes": "10 %"}]}),
        'spec.disruption.budgets[0].nodes: "10 %" is not a number of nodes or a percentage ("10%")',
    ),
    "budget as a number": (
        node_pool_tree(disruption={"budgets": [{"nodes": 10}]}),
        "spec.disruption.budgets[0].nodes: expected text, got the number 10 (put it in quotes)",
    ),
    "schedule without duration": (
        node_pool_tree(disruption={"budgets": [{"schedule": "@daily"}]}),
        "spec.disruption.budgets[0]: needs schedule and duration, or neither",
    ),
    "schedule that is none": (
        node_pool_tree(disruption={"budgets": [{"schedule": "daily", "duration": "8h"}]}),
        "spec.disruption.budgets[0].schedule: is not a cron schedule (such as '0 9 * * 1-5' or @daily)",
    ),
    "cost of nodes that is no amount": (
        annotated("node-overhead-cost", "free"),
        (
            'metadata.annotations[treenail.sh/node-overhead-cost]: "free" is not an amount of US dollars '
            "an hour between 0 and 1000, such as 0.02"
        ),
    ),
    "cost of nodes below zero": (
        annotated("node-overhead-cost", "-0.02"),
        (
            'metadata.annotations[treenail.sh/node-overhead-cost]: "-0.02" is not an amount of US dollars '
            "an hour between 0 and 1000, such as 0.02"
        ),
    ),
    "payback that never comes": (
        annotated("payback", "Never"),
        (
            'metadata.annotations[treenail.sh/payback]: "Never" is not a duration'
            " longer than 0, such as 30m or 2h"
        ),
    ),
    "payback at once": (
        annotated("payback", "0s"),
        (
            'metadata.annotations[treenail.sh/payback]: "0s" is not a duration'
            " longer than 0, such as 30m or 2h"
        ),
    ),
    "payback below zero": (
        annotated("payback", "-2h"),
        (
            'metadata.annotations[treenail.sh/payback]: "-2h" is not a duration'
            " longer than 0, such as 30m or 2h"
        ),
    ),
    "return without a percent sign": (
        annotated("return", "20"),
        'metadata.annotations[treenail.sh/return]: "20" is not a percentage from 0% to 100%',
    ),
    "return for too much": (
        annotated("return", "101%"),
        'metadata.annotations[treenail.sh/return]: "101%" is not a percentage from 0% to 100%',
    ),
    "static pool with a weight": (
        node_pool_tree(replicas=3, weight=5),
        "spec.weight: cannot stand beside spec.replicas",
    ),
    "static pool with a limit of CPU": (
        node_pool_tree(replicas=3, limits={"cpu": 5}),
        "spec.limits: may only name nodes beside spec.replicas",
    ),
    "reference without group": (
        node_pool_tree({"nodeClassRef": {"kind": "EC2NodeClass", "name": "default"}}),
        "spec.template.spec.nodeClassRef.group: is missing",
    ),
    "reference to no node class": (
        node_pool_tree({"nodeClassRef": {"group": "apps", "kind": "Deployment", "name": "default"}}),
        (
            'spec.template.spec.nodeClassRef: "Deployment" of "apps" is no node class; known are'
            " EC2NodeClass of karpenter.k8s.aws, AWSNodeTemplate of karpenter.k8s.aws,"
            " KWOKNodeClass of karpenter.kwok.sh, Provisioner of karpenter.sh"
        ),
    ),
    "missing node class": (
        node_pool_tree(),
        "spec.template.spec.nodeClassRef: there is no EC2NodeClass default",
    ),
}


@pytest.mark.parametrize("case", sorted(NODE_POOLS))
def test_a_bad_node_pool_is_refused_in_one_line_with_field_and_problem(case: str) -> None:
    tree, line = NODE_POOLS[case]

    assert problem_of(tree) == f"NodePool default: {line}"
