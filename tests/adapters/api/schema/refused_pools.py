"""Pools and claims that break a rule, and the field that must be named. Reading refuses them too."""

from __future__ import annotations

from typing import Final

from tests.adapters.api.builders import node_pool_tree
from tests.adapters.api.schema.trees import (
    KWOK,
    LONG,
    TAINT,
    Tree,
    annotated,
    asking,
    budget,
    claim,
    labelled,
    machine,
    only,
    pool,
)

_SPEC: Final = "spec.template.spec"
_FIRST: Final = f"{_SPEC}.requirements[0]"
_LABELS: Final = "spec.template.metadata.labels"

REFUSED_POOLS: Final[dict[str, tuple[Tree, str]]] = {
    # NodePool
    "unknown operator": (pool(**asking("a", "Is", "b")), f"{_FIRST}.operator"),
    "malformed key": (pool(**asking("a b", "Exists")), f"{_FIRST}.key"),
    "malformed domain": (pool(**asking("A.com/b", "Exists")), f"{_FIRST}.key"),
    "long key": (pool(**asking("a" * 64, "Exists")), f"{_FIRST}.key"),
    "key of every node": (pool(**asking("kubernetes.io/hostname", "In", "a")), f"{_FIRST}.key"),
    "key of the old pool": (pool(**asking("karpenter.sh/provisioner-name", "Exists")), f"{_FIRST}.key"),
    "key of Karpenter": (pool(**asking("karpenter.sh/registered", "Exists")), f"{_FIRST}.key"),
    "key below Karpenter": (pool(**asking("a.karpenter.sh/b", "Exists")), f"{_FIRST}.key"),
    "key that AWS lacks": (pool(**asking("karpenter.k8s.aws/instance-colour", "Exists")), f"{_FIRST}.key"),
    "malformed value": (pool(**asking("a", "In", "b c")), f"{_FIRST}.values[0]"),
    "long value": (pool(**asking("a", "NotIn", "b" * 64)), f"{_FIRST}.values[0]"),
    "no value": (pool(**asking("a", "In")), f"{_FIRST}.values"),
    "no values": (pool(requirements=[{"key": "a", "operator": "In"}]), f"{_FIRST}.values"),
    "no bound": (pool(requirements=[{"key": "a", "operator": "Gt"}]), f"{_FIRST}.values"),
    "two bounds": (pool(**asking("a", "Lt", "1", "2")), f"{_FIRST}.values"),
    "bound that is text": (pool(**asking("a", "Gte", "many")), f"{_FIRST}.values"),
    "bound below zero": (pool(**asking("a", "Lte", "-1")), f"{_FIRST}.values"),
    "bound beyond 64 bits": (pool(**asking("a", "Gt", "9" * 20)), _FIRST),
    "too few values": (pool(**asking("a", "In", "b", minValues=2)), f"{_FIRST}.minValues"),
    "minValues of 0": (pool(**asking("a", "In", "b", minValues=0)), f"{_FIRST}.minValues"),
    "minValues of 51": (pool(**asking("a", "Exists", minValues=51)), f"{_FIRST}.minValues"),
    "no capacity type": (pool(**asking("karpenter.sh/capacity-type", "In", "x")), f"{_FIRST}.values"),
    "too many requirements": (
        pool(requirements=asking("a", "Exists")["requirements"] * 101),
        f"{_SPEC}.requirements",
    ),
    "no requirements": (
        only(node_pool_tree(), template={"spec": {"nodeClassRef": KWOK}}),
        f"{_SPEC}.requirements",
    ),
    "no template": (only(node_pool_tree()), "spec.template"),
    "no spec": ({k: v for k, v in node_pool_tree().items() if k != "spec"}, "spec"),
    "label of Karpenter": (labelled(**{"karpenter.sh/x": "a"}), _LABELS),
    "label of the pool": (labelled(**{"karpenter.sh/nodepool": "a"}), _LABELS),
    "label of AWS": (labelled(**{"karpenter.k8s.aws/x": "a"}), _LABELS),
    "malformed label": (labelled(**{"a b": "a"}), _LABELS),
    "malformed value of a label": (labelled(a="b c"), f"{_LABELS}.a"),
    "malformed annotation": (annotated("a b"), "spec.template.metadata.annotations"),
    "malformed taint": (pool(taints=[{**TAINT, "key": "a/b/c"}]), f"{_SPEC}.taints[0].key"),
    "malformed value of a taint": (pool(taints=[{**TAINT, "value": "a/b"}]), f"{_SPEC}.taints[0].value"),
    "unknown effect": (pool(taints=[{**TAINT, "effect": "Never"}]), f"{_SPEC}.taints[0].effect"),
    "taint without key": (pool(taints=[{"effect": "NoSchedule"}]), f"{_SPEC}.taints[0].key"),
    "taint twice": (pool(taints=[TAINT, {**TAINT, "value": "b"}]), f"{_SPEC}.taints"),
    "startup taint twice": (pool(startupTaints=[TAINT, TAINT]), f"{_SPEC}.startupTaints"),
    "taint at startup too": (pool(taints=[TAINT], startupTaints=[TAINT]), f"{_SPEC}.startupTaints"),
    "foreign node class": (
        pool(nodeClassRef={**KWOK, "group": "karpenter.azure.com", "kind": "AKSNodeClass"}),
        f"{_SPEC}.nodeClassRef",
    ),
    "kind of another group": (pool(nodeClassRef={**KWOK, "kind": "EC2NodeClass"}), f"{_SPEC}.nodeClassRef"),
    "group with a version": (pool(nodeClassRef={**KWOK, "group": "a/v1"}), f"{_SPEC}.nodeClassRef.group"),
    "malformed name": (pool(nodeClassRef={**KWOK, "name": "A"}), f"{_SPEC}.nodeClassRef.name"),
    "endless grace": (pool(terminationGracePeriod="Never"), f"{_SPEC}.terminationGracePeriod"),
    "grace of 11,000 years": (pool(terminationGracePeriod=LONG), f"{_SPEC}.terminationGracePeriod"),
    "age in days": (pool(expireAfter="30d"), f"{_SPEC}.expireAfter"),
    "age of 11,000 years": (pool(expireAfter=LONG), f"{_SPEC}.expireAfter"),
    "fraction of a duration": (
        node_pool_tree(disruption={"consolidateAfter": "1.5h"}),
        "spec.disruption.consolidateAfter",
    ),
    "long duration": (
        node_pool_tree(disruption={"consolidateAfter": LONG}),
        "spec.disruption.consolidateAfter",
    ),
    "unknown policy": (
        node_pool_tree(disruption={"consolidationPolicy": "WhenUnderutilized"}),
        "spec.disruption.consolidationPolicy",
    ),
    "too many budgets": (node_pool_tree(disruption={"budgets": [{}] * 51}), "spec.disruption.budgets"),
    "budget over everything": (budget(nodes="101%"), "spec.disruption.budgets[0].nodes"),
    "unknown reason": (budget(reasons=["Expired"]), "spec.disruption.budgets[0].reasons[0]"),
    "half a cron schedule": (budget(schedule="* * *", duration="1h"), "spec.disruption.budgets[0].schedule"),
    "budget for seconds": (budget(schedule="@daily", duration="30s"), "spec.disruption.budgets[0].duration"),
    "duration without schedule": (budget(duration="1h"), "spec.disruption.budgets[0]"),
    "limit below zero": (node_pool_tree(limits={"cpu": -1}), "spec.limits.cpu"),
    "limit that is none": (node_pool_tree(limits={"cpu": "1 core"}), "spec.limits.cpu"),
    "limit beyond 64 bits": (node_pool_tree(limits={"memory": "10E"}), "spec.limits[memory]"),
    "weight of 0": (node_pool_tree(weight=0), "spec.weight"),
    "weight of 101": (node_pool_tree(weight=101), "spec.weight"),
    "replicas below zero": (node_pool_tree(replicas=-1), "spec.replicas"),
    "weight of a static pool": (node_pool_tree(replicas=1, weight=1), "spec.weight"),
    "limit of a static pool": (node_pool_tree(replicas=1, limits={"nodes": 1, "cpu": 1}), "spec.limits"),
    # NodeClaim and Machine
    "malformed bound of a claim": (claim(**asking("a", "Gt", "-b")), "spec.requirements[0].values"),
    "malformed key of a claim": (claim(**asking("-a", "Exists")), "spec.requirements[0].key"),
    "taint twice on a claim": (claim(taints=[TAINT], startupTaints=[TAINT]), "spec.startupTaints"),
    "absurd request": (claim(resources={"requests": {"memory": "10P"}}), "spec.resources.requests[memory]"),
    "negative request": (claim(resources={"requests": {"cpu": "-1"}}), "spec.resources.requests.cpu"),
    "claim without class": (only(claim(), requirements=[]), "spec.nodeClassRef"),
    "claim of a foreign class": (claim(nodeClassRef={**KWOK, "kind": "X"}), "spec.nodeClassRef"),
    "operator of a later version": (machine(**asking("a", "Gte", "1")), "spec.requirements[0].operator"),
    "malformed bound of a machine": (machine(**asking("a", "Gt")), "spec.requirements[0].values"),
    "taint twice on a machine": (machine(taints=[TAINT, TAINT]), "spec.taints"),
    "machine of a foreign kind": (
        machine(machineTemplateRef={"name": "a", "kind": "X"}),
        "spec.machineTemplateRef",
    ),
}
