"""The definition of Machine."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.karpenter.v1alpha5_machine import MachineModel, MachineStatusModel
from treenail.adapters.api.schema.constraints import below
from treenail.adapters.api.schema.definitions import Column, Definition, Version, label
from treenail.adapters.api.schema.rules import claims
from treenail.adapters.api.schema.rules.kubelet import kubelet
from treenail.adapters.api.schema.rules.references import provider_ref
from treenail.domain.model import labels
from treenail.domain.model.node_pools import Generation

_V1ALPHA5: Final = Version(
    name="v1alpha5",
    model=MachineModel,
    status=MachineStatusModel,
    constraints=below(
        "",
        claims.claim(generation=Generation.V1ALPHA5),
        below("spec", kubelet("kubelet"), provider_ref("machineTemplateRef")),
    ),
    columns=claims.columns(
        label("Provisioner", labels.PROVISIONER, wide=True),
        Column("Template", ".spec.machineTemplateRef.name", wide=True),
    ),
)

MACHINES: Final = Definition(group="karpenter.sh", kind="Machine", plural="machines", versions=(_V1ALPHA5,))
