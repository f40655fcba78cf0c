"""The definition of NodePool."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.amounts import MOST_IN_ALL
from treenail.adapters.api.karpenter.v1_node_pool import EXPIRE_AFTER, NodePoolModel
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule, below
from treenail.adapters.api.schema.definitions import AGE, Column, Definition, Version, condition
from treenail.adapters.api.schema.kinds.v1beta1_node_pools import NODE_POOLS_V1BETA1
from treenail.adapters.api.schema.rules import forms, label_keys, requirements, taints
from treenail.adapters.api.schema.rules.budgets import budgets
from treenail.adapters.api.schema.rules.references import node_class_ref
from treenail.adapters.api.schema.statuses import NodePoolStatusModel
from treenail.domain.model.node_pools import Generation

_STATIC: Final = (
    Rule("!has(self.replicas) || !has(self.weight)", "cannot stand beside replicas", "weight"),
    Rule(
        "!has(self.replicas) || !has(self.limits) || self.limits.all(k, k == 'nodes')",
        "may only name nodes beside replicas",
        "limits",
    ),
    Rule(
        "has(self.replicas) == has(oldSelf.replicas)",
        "cannot be added or removed: a pool stays static or dynamic",
        "replicas",
    ),
)
_DISRUPTION: Final[Constraints] = {
    # The defaults of what is within are only written in where there is something to be within.
    "": Constraint().otherwise({"consolidateAfter": "0s"}),
    "consolidateAfter": forms.duration_or_never().otherwise("0s"),
    "consolidationPolicy": Constraint().otherwise("WhenEmptyOrUnderutilized"),
    **budgets("budgets"),
    "budgets[].reasons": Constraint(keywords={"x-kubernetes-list-type": "set"}),
}
_TEMPLATE: Final[Constraints] = {
    **label_keys.own_labels("metadata.labels", Generation.V1),
    **label_keys.own_annotations("metadata.annotations"),
    "spec": Constraint(taints.differ()),
    **taints.both("spec"),
    **requirements.of_pool("spec.requirements", Generation.V1),
    **node_class_ref("spec.nodeClassRef", lasting=True),
    "spec.expireAfter": forms.duration_or_never().otherwise(EXPIRE_AFTER),
    "spec.terminationGracePeriod": forms.duration(),
}

_V1: Final = Version(
    name="v1",
    model=NodePoolModel,
    status=NodePoolStatusModel,
    constraints=below(
        "spec",
        {"": Constraint(_STATIC)},
        forms.amounts("limits", most=MOST_IN_ALL),
        below("disruption", _DISRUPTION),
        below("template", _TEMPLATE),
    ),
    columns=(
        Column("NodeClass", ".spec.template.spec.nodeClassRef.name"),
        Column("Nodes", ".status.nodes"),
        condition("Ready"),
        AGE,
        Column("Weight", ".spec.weight", "integer", wide=True),
        Column("CPU", ".status.resources.cpu", wide=True),
        Column("Memory", ".status.resources.memory", wide=True),
    ),
    scale={"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.nodes"},
)

NODE_POOLS: Final = Definition(
    group="karpenter.sh", kind="NodePool", plural="nodepools", versions=(NODE_POOLS_V1BETA1, _V1)
)
