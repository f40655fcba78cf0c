"""karpenter.sh/v1beta1 NodeClaim. It is converted to v1, and means the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from msgspec import Meta, field

from treenail.adapters.api.amounts import duration_or_never
from treenail.adapters.api.karpenter.claims import ClaimSpecModel, claim
from treenail.adapters.api.karpenter.references import NodeClassByVersionModel
from treenail.adapters.api.karpenter.requirements import BetaRequirementModel
from treenail.adapters.api.karpenter.v1_node_claim import NodeClaimStatusModel
from treenail.adapters.api.karpenter.v1_node_pool import EXPIRE_AFTER
from treenail.adapters.api.kubelet import KubeletModel
from treenail.adapters.api.metadata import StrictObject
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.node_pools import Generation


class BetaNodeClaimSpecModel(ClaimSpecModel, kw_only=True):
    """The spec of a NodeClaim of v1beta1."""

    requirements: Annotated[tuple[BetaRequirementModel, ...], Meta(max_length=100)]
    node_class_ref: NodeClassByVersionModel
    kubelet: KubeletModel | None = None


class BetaNodeClaimModel(StrictObject, kw_only=True):
    """karpenter.sh/v1beta1 NodeClaim."""

    spec: BetaNodeClaimSpecModel
    status: NodeClaimStatusModel = field(default_factory=NodeClaimStatusModel)


def beta_node_claim(model: BetaNodeClaimModel, reading: Reading) -> Translation:
    """Return the claim; FieldError says what is wrong with it."""
    spec, status = model.spec, model.status
    if spec.kubelet is not None:
        spec.kubelet.value("spec.kubelet")
    own = claim(
        model.metadata,
        spec,
        status,
        reading,
        generation=Generation.V1,
        node_class=spec.node_class_ref.value("spec.nodeClassRef"),
        requirements=spec.requirements,
        conditions=tuple(c.value() for c in status.conditions),
    )
    own = replace(own, last_pod_event_at=status.last_pod_event_time)
    if own.stands_alone:
        own = replace(own, expire_after=duration_or_never(EXPIRE_AFTER, "spec.expireAfter"))
    kubelet = ("spec.kubelet",) if spec.kubelet else ()
    return Translation(objects=(own,), not_acted_on=(*kubelet, *spec.dated_taints()))
