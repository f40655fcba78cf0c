"""Claims as manifests: NodeClaims, or Machines where their generation is the old one."""

from __future__ import annotations

from collections.abc import Iterator

from treenail.adapters.api.karpenter.claims import MACHINE_CONDITIONS
from treenail.adapters.api.written.parts import Tree, conditions, metadata, quantities, said, taints, time
from treenail.domain.model import labels
from treenail.domain.model.durations import format_duration
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import FOREVER, NodeClaim
from treenail.domain.model.requirements import Operator, Requirement

_PROVIDER_VERSION = "v1alpha1"


def claim_manifest(claim: NodeClaim) -> Tree:
    """Write a claim, in the kind and version of its generation."""
    old = claim.generation is Generation.V1ALPHA5
    return {
        "apiVersion": f"karpenter.sh/{claim.generation.value}",
        "kind": claim.generation.claim_kind,
        "metadata": metadata(claim, uid=claim.uid, finalizers=list(claim.finalizers)),
        "spec": _spec(claim, old=old),
        **said(status=_status(claim, old=old)),
    }


def _spec(claim: NodeClaim, *, old: bool) -> Tree:
    period = claim.termination_grace_period
    ref = claim.node_class
    return {
        "requirements": [
            line for r in claim.requirements.in_order() for line in _requirement(r, claim, old=old)
        ],
        **said(
            resources=said(requests=quantities(claim.requests)),
            taints=taints(claim.taints),
            startupTaints=taints(claim.startup_taints),
            terminationGracePeriod=None if period is None else format_duration(period),
            expireAfter=_life(claim),
        ),
        **({"machineTemplateRef": _template(ref)} if old else {"nodeClassRef": _node_class(ref)}),
    }


def _life(claim: NodeClaim) -> str | None:
    life = claim.expire_after
    return life if life is None else "Never" if life == FOREVER else format_duration(life)


def _node_class(ref: NodeClassRef) -> Tree:
    return {"group": ref.group, "kind": ref.kind, "name": ref.name}


def _template(ref: NodeClassRef) -> Tree:
    inline = ref.kind == Generation.V1ALPHA5.pool_kind
    version = Generation.V1ALPHA5.value if inline else _PROVIDER_VERSION
    return {"apiVersion": f"{ref.group}/{version}", "kind": ref.kind, "name": ref.name}


def _requirement(requirement: Requirement, claim: NodeClaim, *, old: bool) -> Iterator[Tree]:
    least = requirement.min_values
    for operator, values in requirement.written():
        written, listed = _bound(operator, values, old=old)
        if requirement.key == labels.INSTANCE_TYPE and set(listed) == set(claim.instance_types):
            listed = claim.instance_types
        yield {"key": requirement.key, "operator": written.value} | said(values=list(listed), minValues=least)
        least = None


def _bound(operator: Operator, values: tuple[str, ...], *, old: bool) -> tuple[Operator, tuple[str, ...]]:
    """Write bounds with Gt and Lt, which every version knows, where the bound then is not negative."""
    match operator:
        case Operator.LTE:
            return Operator.LT, (str(int(values[0]) + 1),)
        case Operator.GTE if old or int(values[0]) > 0:
            return Operator.GT, (str(int(values[0]) - 1),)
        case _:
            return operator, values


def _status(claim: NodeClaim, *, old: bool) -> Tree:
    return said(
        nodeName=claim.node_name,
        providerID=claim.provider_id,
        imageID=claim.image_id,
        capacity=quantities(claim.capacity),
        allocatable=quantities(claim.allocatable),
        conditions=conditions(claim.conditions, MACHINE_CONDITIONS if old else None),
        lastPodEventTime=None if old else time(claim.last_pod_event_at),
    )
