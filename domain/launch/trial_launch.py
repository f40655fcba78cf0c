"""The launch by which it is tried whether a node class may be launched from: as those of its pools are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from treenail.domain.launch.launch_options import LaunchOptions
from treenail.domain.launch.launching import launches
from treenail.domain.model.fleets import FleetRequest
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_class_status import VALIDATED
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Condition, NodeClaim, Status
from treenail.domain.scheduling.new_claims import with_own_labels

# The actions that a launch takes, in the order they are tried, with what Karpenter calls their refusal.
REFUSALS: Final[Mapping[str, str]] = {
    "CreateLaunchTemplate": "CreateLaunchTemplateAuthCheckFailed",
    "CreateFleet": "CreateFleetAuthCheckFailed",
    "RunInstances": "RunInstancesAuthCheckFailed",
}
_NAME: Final = "dry-run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    """One of the `REFUSALS`: the controller may not do what a launch from a node class takes."""

    action: str
    why: str

    @property
    def reason(self) -> str:
        """The reason of the condition that shows the refusal."""
        return REFUSALS[self.action]

    @property
    def message(self) -> str:
        """The message of the condition that shows the refusal."""
        return f"The controller is not authorized to call ec2:{self.action}: {self.why}"

    @property
    def condition(self) -> Condition:
        """The condition of the node class that says so."""
        return Condition(VALIDATED, Status.FALSE, self.reason, self.message)


def trial_launch(
    node_class: NodeClass,
    pools: Iterable[NodePool],
    types: tuple[InstanceType, ...],
    *,
    cluster_name: str,
    tags: Mapping[str, str],
    now: datetime,
) -> FleetRequest | None:
    """Return the launch of one instance for the first of the pools by name that can buy something.

    It is of the type whose name comes first: permissions may name types, but prices change. None where no
    pool can buy anything.
    """
    by_name = {one.name: one for one in types}
    for pool in sorted(pools, key=lambda one: one.name):
        claim = NodeClaim(
            name=_NAME,
            generation=pool.generation,
            pool=pool.name,
            node_class=pool.node_class,
            labels=pool.node_labels,
            taints=pool.taints,
            startup_taints=pool.startup_taints,
            requirements=with_own_labels(pool.template_requirements(), pool),
            instance_types=_suited(pool, by_name),
            created_at=now,
        )
        calls, _ = launches(
            [claim],
            pool=pool,
            node_class=node_class,
            buyable=LaunchOptions(types),
            cluster_name=cluster_name,
            tags=tags,
        )
        for call in calls:
            first = min(one.instance_type for one in call.request.overrides)
            overrides = tuple(one for one in call.request.overrides if one.instance_type == first)
            return replace(call.request, overrides=overrides)
    return None


def _suited(pool: NodePool, types: Mapping[str, InstanceType]) -> tuple[str, ...]:
    wanted = pool.template_requirements()
    return tuple(name for name in sorted(types) if wanted.intersects(types[name].requirements))
