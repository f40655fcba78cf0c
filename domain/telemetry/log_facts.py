"""Fields of log lines about objects, in the words of the generation they are of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from treenail.domain.model.claims import promised_pods
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.resources import total
from treenail.domain.model.taints import untolerated

_MOST_NAMED: Final = 5


def named(claim: NodeClaim) -> dict[str, str]:
    """Return the fields that name a claim and its pool: a machine has a provisioner."""
    old = claim.generation is Generation.V1ALPHA5
    pool = "provisioner" if old else "nodepool"
    return {claim.generation.claim_kind.lower(): claim.name, pool: claim.pool}


def life_logger(claim: NodeClaim, stage: str) -> str:
    """Return which logger tells of a stage in a claim's life, as controller.machine.lifecycle."""
    return f"controller.{claim.generation.claim_kind.lower()}.{stage}"


def shortened(names: Sequence[str]) -> str:
    """Return names as a line has room for them: "a, b, c, d, e and 12 other(s)"."""
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} other(s)" if more > 0 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedAlike:
    """Claims of one decision that are of one pool and offer the same instance types."""

    pool: str
    claims: int
    pods: int
    instance_types: tuple[str, ...]


def packed_alike(claims: Iterable[NodeClaim]) -> tuple[PackedAlike, ...]:
    """Group claims by pool and instance types, in the order of the first of each."""
    groups: dict[tuple[str, tuple[str, ...]], list[NodeClaim]] = {}
    for claim in claims:
        groups.setdefault((claim.pool, claim.instance_types), []).append(claim)
    return tuple(
        PackedAlike(
            pool=pool,
            claims=len(members),
            pods=sum(len(promised_pods(claim)) for claim in members),
            instance_types=types,
        )
        for (pool, types), members in groups.items()
    )


def filled_by_system(
    pool: NodePool, types: Iterable[InstanceType], daemons: Iterable[PodSpec]
) -> tuple[str, ...]:
    """Return the types whose nodes kubelet, system and the daemons that run everywhere leave no room on.

    Daemons that ask for certain nodes are left out, as are those that the pool's taints keep off.
    """
    everywhere = (
        one.requests
        for one in daemons
        if not one.node_selector
        and not one.node_affinity.required
        and untolerated(pool.taints, one.tolerations) is None
    )
    load = total(everywhere)
    return tuple(t.name for t in types if not load.plus({"pods": 1}).fits(t.allocatable))
