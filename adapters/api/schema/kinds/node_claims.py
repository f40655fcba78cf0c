"""The definition of NodeClaim."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.karpenter.v1_node_claim import NodeClaimModel, NodeClaimStatusModel
from treenail.adapters.api.karpenter.v1_node_pool import EXPIRE_AFTER
from treenail.adapters.api.schema.constraints import Rule, below
from treenail.adapters.api.schema.definitions import AGE, Column, Definition, Version, condition, label
from treenail.adapters.api.schema.kinds.v1beta1_node_claims import NODE_CLAIMS_V1BETA1
from treenail.adapters.api.schema.rules import claims, forms
from treenail.adapters.api.schema.rules.references import node_class_ref
from treenail.domain.model import labels

_V1: Final = Version(
    name="v1",
    model=NodeClaimModel,
    status=NodeClaimStatusModel,
    constraints=below(
        "",
        claims.claim(Rule("self == oldSelf", "must not be changed")),
        below(
            "spec",
            node_class_ref("nodeClassRef", lasting=False),
            {
                "expireAfter": forms.duration_or_never().otherwise(EXPIRE_AFTER),
                "terminationGracePeriod": forms.duration(),
            },
        ),
    ),
    columns=(
        label("Type", labels.INSTANCE_TYPE),
        label("Capacity", labels.CAPACITY_TYPE),
        label("Zone", labels.ZONE),
        Column("Node", ".status.nodeName"),
        condition("Ready"),
        AGE,
        Column("ImageID", ".status.imageID", wide=True),
        Column("ID", ".status.providerID", wide=True),
        label("NodePool", labels.NODEPOOL, wide=True),
        Column("NodeClass", ".spec.nodeClassRef.name", wide=True),
        condition("Drifted", wide=True),
    ),
)

NODE_CLAIMS: Final = Definition(
    group="karpenter.sh", kind="NodeClaim", plural="nodeclaims", versions=(NODE_CLAIMS_V1BETA1, _V1)
)
