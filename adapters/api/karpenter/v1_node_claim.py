"""karpenter.sh/v1 NodeClaim."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from msgspec import Meta, field

from treenail.adapters.api.amounts import Duration, DurationOrNever, duration, duration_or_never
from treenail.adapters.api.karpenter.claims import ClaimSpecModel, ClaimStatusModel, claim
from treenail.adapters.api.karpenter.references import NodeClassRefModel
from treenail.adapters.api.karpenter.requirements import RequirementModel
from treenail.adapters.api.karpenter.v1_node_pool import EXPIRE_AFTER
from treenail.adapters.api.metadata import ConditionModel, StrictObject
from treenail.adapters.api.model import Time
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import FOREVER


class NodeClaimSpecModel(ClaimSpecModel, kw_only=True):
    """The spec of a NodeClaim."""

    requirements: Annotated[tuple[RequirementModel, ...], Meta(max_length=100)]
    node_class_ref: NodeClassRefModel
    termination_grace_period: Duration | None = None
    expire_after: DurationOrNever | None = None


class NodeClaimConditionModel(ConditionModel, kw_only=True, forbid_unknown_fields=True):
    """A condition of a NodeClaim."""

    observed_generation: int = 0


class NodeClaimStatusModel(ClaimStatusModel):
    """The status of a NodeClaim."""

    conditions: tuple[NodeClaimConditionModel, ...] = ()
    last_pod_event_time: Time | None = None


class NodeClaimModel(StrictObject, kw_only=True):
    """karpenter.sh/v1 NodeClaim."""

    spec: NodeClaimSpecModel
    status: NodeClaimStatusModel = field(default_factory=NodeClaimStatusModel)


def node_claim(model: NodeClaimModel, reading: Reading) -> Translation:
    """Return the claim; FieldError says what is wrong with it."""
    spec, status = model.spec, model.status
    period = spec.termination_grace_period
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
    if period is not None:
        own = replace(own, termination_grace_period=duration(period, "spec.terminationGracePeriod"))
    # The API server writes this default in; claims that pools make say it themselves.
    written = spec.expire_after or (EXPIRE_AFTER if own.stands_alone else None)
    if written is not None:
        life = duration_or_never(written, "spec.expireAfter")
        own = replace(own, expire_after=FOREVER if life is None else life)
    return Translation(objects=(own,), not_acted_on=tuple(spec.dated_taints()))
