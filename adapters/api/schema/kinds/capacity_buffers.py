"""The definition of CapacityBuffer, which other autoscalers may have brought: then theirs is as good."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.autoscaling.capacity_buffer import STRATEGY, CapacityBufferModel
from treenail.adapters.api.schema.constraints import Constraint, Rule, below
from treenail.adapters.api.schema.definitions import AGE, Column, Definition, Version
from treenail.adapters.api.schema.statuses import CapacityBufferStatusModel

_V1BETA1: Final = Version(
    name="v1beta1",
    model=CapacityBufferModel,
    status=CapacityBufferStatusModel,
    constraints=below(
        "",
        {
            "spec": Constraint(
                (
                    Rule(
                        "!(has(self.podTemplateRef) && has(self.scalableRef))",
                        "cannot stand beside spec.podTemplateRef",
                        "scalableRef",
                    ),
                    Rule(
                        "!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",
                        "needs spec.replicas or spec.limits beside it",
                        "podTemplateRef",
                    ),
                )
            ),
            "spec.provisioningStrategy": Constraint(keywords={"default": STRATEGY}),
        },
    ),
    columns=(
        Column("Strategy", ".spec.provisioningStrategy"),
        Column("PodTemplate", ".status.podTemplateRef.name"),
        Column("Replicas", ".status.replicas", "integer"),
        Column("Ready", '.status.conditions[?(@.type=="Provisioning")].status'),
        Column("Why", '.status.conditions[?(@.type=="Provisioning")].reason'),
        AGE,
    ),
)

CAPACITY_BUFFERS: Final = Definition(
    group="autoscaling.x-k8s.io",
    kind="CapacityBuffer",
    plural="capacitybuffers",
    short_names=("cb",),
    category="autoscaling",
    namespaced=True,
    versions=(_V1BETA1,),
)
