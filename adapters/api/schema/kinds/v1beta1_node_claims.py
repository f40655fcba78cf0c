"""NodeClaim in v1beta1."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.karpenter.v1_node_claim import NodeClaimStatusModel
from treenail.adapters.api.karpenter.v1beta1_node_claim import BetaNodeClaimModel
from treenail.adapters.api.schema.constraints import below
from treenail.adapters.api.schema.definitions import Column, Version, label
from treenail.adapters.api.schema.rules import claims
from treenail.adapters.api.schema.rules.kubelet import kubelet
from treenail.adapters.api.schema.rules.references import node_class_by_version
from treenail.domain.model import labels

NODE_CLAIMS_V1BETA1: Final = Version(
    name="v1beta1",
    model=BetaNodeClaimModel,
    status=NodeClaimStatusModel,
    constraints=below(
        "", claims.claim(), below("spec", kubelet("kubelet"), node_class_by_version("nodeClassRef"))
    ),
    columns=claims.columns(
        label("NodePool", labels.NODEPOOL, wide=True),
        Column("NodeClass", ".spec.nodeClassRef.name", wide=True),
    ),
)
