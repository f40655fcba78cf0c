"""Ways for nodes to leave, and moments of each to kill the controller at."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, TypeAlias

from tests.real.parts.objects import MERGE
from tests.real.system.checkpoint import Checkpoint
from tests.real.system.moments import BUYING, AtCall, AtRequest, Reached, around
from tests.real.system.scene import Scene

POOL: Final = "/apis/karpenter.sh/v1/nodepools/default"
# From the first sign to the last: a new machine, a drain that settles for five seconds, an end.
_WHOLE_SECONDS: Final = 12.0


@dataclass(frozen=True, slots=True)
class DisruptionCandidate:
    """A way for nodes to leave. `begin` starts it, and returns the ids of the instances that must go."""

    name: str
    begin: Callable[[Scene], set[str]]
    cause: str


def _delete_claim(scene: Scene) -> set[str]:
    claim = scene.cluster.claims()[0]
    scene.cluster.delete("karpenter.sh/v1", "NodeClaim", claim["metadata"]["name"])
    return {claim["status"]["providerID"].rpartition("/")[2]}


def _delete_node(scene: Scene) -> set[str]:
    node = scene.cluster.nodes()[0]
    scene.cluster.delete("v1", "Node", node["metadata"]["name"])
    return {node["spec"]["providerID"].rpartition("/")[2]}


def _warn(scene: Scene) -> set[str]:
    oldest = scene.instances()[0]["InstanceId"]
    scene.lab.spot_warning(oldest)
    return {oldest}


def _change_pool(scene: Scene) -> set[str]:
    there = {i["InstanceId"] for i in scene.instances()}
    told = {"changed": str(time.time_ns())}
    change = {"spec": {"template": {"metadata": {"annotations": told}}}}
    status, answer = scene.cluster.plane.request("PATCH", POOL, change, MERGE)
    assert status == 200, answer
    return there


CLAIM_DELETED: Final = DisruptionCandidate("kubectl delete nodeclaim", _delete_claim, "deleted")
NODE_DELETED: Final = DisruptionCandidate("kubectl delete node", _delete_node, "deleted")
WARNED: Final = DisruptionCandidate("spot warning", _warn, "spot_interrupted")
DRIFTED: Final = DisruptionCandidate("drift of all", _change_pool, "drifted")


@dataclass(frozen=True, slots=True)
class AfterBeginning:
    """So many seconds after a departure began."""

    seconds: float

    @property
    def name(self) -> str:
        return f"after {self.seconds:.2f} s"

    def arm(self, _: Scene, __: Checkpoint) -> Reached:
        began = time.monotonic()
        return lambda: time.monotonic() - began >= self.seconds


Moment: TypeAlias = AtRequest | AtCall | AfterBeginning

_NODE: Final = "/nodes/[^/]+$"
_CLAIM: Final = "/nodeclaims/[^/]+$"
CORDON = around("the mark of leaving", "PATCH", _NODE, '"karpenter.sh/disrupted"')
_CAUSE = around("the cause", "PATCH", _CLAIM, '"treenail.sh/cause"')
CLAIM_GOES = around("the claim's deletion", "DELETE", _CLAIM)
_NODE_GOES = around("the node's deletion", "DELETE", _NODE)
FIRST_EVICTION = around("the first eviction", "POST", "/eviction$")
_LATER_EVICTION = around("the third eviction", "POST", "/eviction$", skip=2)
TERMINATING = AtCall("TerminateInstances is on its way", ("TerminateInstances",))
NODE_FREED = around("the node's finalizer", "PATCH", _NODE, "deleteFromPrimitiveList/finalizers")
_CLAIM_FREED = around("the claim's finalizer", "PATCH", _CLAIM, '"finalizers"')
NEW_CLAIM = around("the new claim", "POST", "/nodeclaims$")
NEW_ID = around("the new provider id", "PATCH", "/nodeclaims/[^/]+/status$", '"providerID"')
NEW_READY = around("the new claim's initialization", "PATCH", "/nodeclaims/[^/]+/status$", '"Initialized"')

# The most telling first, for a run of a few.
_EXACT: Final[tuple[tuple[DisruptionCandidate, Moment], ...]] = (
    (WARNED, CORDON[0]),
    (DRIFTED, CORDON[1]),
    (CLAIM_DELETED, _LATER_EVICTION[1]),
    (WARNED, BUYING),
    (NODE_DELETED, TERMINATING),
    (DRIFTED, NEW_CLAIM[1]),
    (WARNED, CORDON[1]),
    (WARNED, _CAUSE[1]),
    (WARNED, CLAIM_GOES[1]),
    (DRIFTED, NEW_READY[0]),
    (DRIFTED, CLAIM_GOES[0]),
    (WARNED, _NODE_GOES[1]),
    (CLAIM_DELETED, CORDON[1]),
    (NODE_DELETED, FIRST_EVICTION[0]),
    (WARNED, NODE_FREED[1]),
    (DRIFTED, _CLAIM_FREED[0]),
    (DRIFTED, _CAUSE[0]),
    (WARNED, NEW_ID[0]),
    (CLAIM_DELETED, _CLAIM_FREED[1]),
    (NODE_DELETED, CORDON[0]),
)
_WAYS: Final = (WARNED, DRIFTED, CLAIM_DELETED)
_RANDOM_EVERY: Final = 5


def departure(seed: int) -> tuple[DisruptionCandidate, Moment]:
    """Return a seed's (from 1 on) way and moment: every fifth moment is random, the others are exact."""
    if seed % _RANDOM_EVERY == 0:
        way = _WAYS[seed // _RANDOM_EVERY % len(_WAYS)]
        return way, AfterBeginning(round(Random(seed).uniform(0, _WHOLE_SECONDS), 3))
    turn = seed - 1 - seed // _RANDOM_EVERY
    return _EXACT[turn % len(_EXACT)]
