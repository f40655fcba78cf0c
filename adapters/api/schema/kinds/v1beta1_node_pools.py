"""NodePool in v1beta1."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.amounts import MOST_IN_ALL
from treenail.adapters.api.karpenter.v1_node_pool import EXPIRE_AFTER
from treenail.adapters.api.karpenter.v1beta1_node_pool import BetaNodePoolModel
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule, below
from treenail.adapters.api.schema.definitions import AGE, Column, Version, condition
from treenail.adapters.api.schema.rules import forms, label_keys, requirements, taints
from treenail.adapters.api.schema.rules.budgets import budgets
from treenail.adapters.api.schema.rules.kubelet import kubelet
from treenail.adapters.api.schema.rules.references import node_class_by_version
from treenail.adapters.api.schema.statuses import NodePoolStatusModel
from treenail.domain.model.node_pools import Generation

_POLICY: Final = "WhenUnderutilized"
_WHEN_EMPTY: Final = "has(self.consolidationPolicy) && self.consolidationPolicy == 'WhenEmpty'"

_TOGETHER: Final = (
    Rule(
        f"!({_WHEN_EMPTY}) || has(self.consolidateAfter)",
        "is missing: consolidationPolicy WhenEmpty needs it",
        "consolidateAfter",
    ),
    Rule(
        f"({_WHEN_EMPTY}) || !has(self.consolidateAfter) || self.consolidateAfter == 'Never'",
        "may only be Never beside consolidationPolicy WhenUnderutilized",
        "consolidateAfter",
    ),
)

_DISRUPTION: Final[Constraints] = {
    "": Constraint(_TOGETHER).otherwise({"consolidationPolicy": _POLICY, "expireAfter": EXPIRE_AFTER}),
    "consolidateAfter": forms.duration_or_never(),
    "consolidationPolicy": Constraint().otherwise(_POLICY),
    "expireAfter": forms.duration_or_never().otherwise(EXPIRE_AFTER),
    **budgets("budgets"),
}
_TEMPLATE: Final[Constraints] = {
    **label_keys.own_labels("metadata.labels", Generation.V1BETA1),
    **label_keys.own_annotations("metadata.annotations"),
    "spec": Constraint(taints.differ()),
    **taints.both("spec"),
    **requirements.of_pool("spec.requirements", Generation.V1BETA1),
    **node_class_by_version("spec.nodeClassRef"),
    **kubelet("spec.kubelet"),
}

NODE_POOLS_V1BETA1: Final = Version(
    name="v1beta1",
    model=BetaNodePoolModel,
    status=NodePoolStatusModel,
    constraints=below(
        "spec",
        forms.amounts("limits", most=MOST_IN_ALL),
        below("disruption", _DISRUPTION),
        below("template", _TEMPLATE),
    ),
    columns=(
        Column("NodeClass", ".spec.template.spec.nodeClassRef.name"),
        condition("Ready"),
        AGE,
        Column("Weight", ".spec.weight", "integer", wide=True),
    ),
)
