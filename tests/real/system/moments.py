"""Moments between a decision and the first bound pod, to kill the controller at."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeAlias

from tests.real.system.checkpoint import Checkpoint, Stop
from tests.real.system.scene import Scene

# Longer than it takes to see a call and to kill.
_HELD_SECONDS: Final = 2.0
# From the decision to the first bound pod: the launch, a boot of a second, the registration.
_WHOLE_SECONDS: Final = 2.5

Reached: TypeAlias = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class AtRequest:
    """When a request is on its way to the API server, or is carried out and not answered yet."""

    name: str
    stop: Stop

    def arm(self, _: Scene, checkpoint: Checkpoint) -> Reached:
        return checkpoint.stop_at(self.stop).is_set


@dataclass(frozen=True, slots=True)
class AtCall:
    """When a call to EC2, one of these actions, is on its way. It is carried out, whoever is killed."""

    name: str
    actions: tuple[str, ...]

    def arm(self, scene: Scene, _: Checkpoint) -> Reached:
        lab = scene.lab
        for action in self.actions:
            lab.fault("ec2", action, delay=_HELD_SECONDS)
        before = self._made(scene)
        return lambda: self._made(scene) > before

    def _made(self, scene: Scene) -> int:
        calls = scene.lab.calls()
        return sum(calls.get(f"ec2:{action}", 0) for action in self.actions)


@dataclass(frozen=True, slots=True)
class AtLostAnswer:
    """When instances are bought, nobody knows, and the same call is on its way once more."""

    name: str

    def arm(self, scene: Scene, _: Checkpoint) -> Reached:
        lab = scene.lab
        lab.fault("ec2", "CreateFleet", after=True, cut=True)
        lab.fault("ec2", "CreateFleet", delay=_HELD_SECONDS)
        before = lab.calls().get("ec2:CreateFleet", 0)
        return lambda: lab.calls().get("ec2:CreateFleet", 0) > before + 1


@dataclass(frozen=True, slots=True)
class AfterDecision:
    """So many seconds after it is said that something was decided."""

    seconds: float

    @property
    def name(self) -> str:
        return f"{self.seconds:.2f} s after the decision"

    def arm(self, scene: Scene, _: Checkpoint) -> Reached:
        before = _decisions(scene)
        decided: list[float] = []

        def reached() -> bool:
            if not decided and _decisions(scene) > before:
                decided.append(time.monotonic())
            return bool(decided) and time.monotonic() - decided[0] >= self.seconds

        return reached


Moment: TypeAlias = AtRequest | AtCall | AtLostAnswer | AfterDecision


def _decisions(scene: Scene) -> int:
    return sum(line["nodeclaims"] > 0 for line in scene.controller.said("decided on pods"))


def around(what: str, method: str, path: str, body: str = "", *, skip: int = 0) -> tuple[AtRequest, ...]:
    """Return the moment before a request is carried out, and the one after."""
    begun = Stop(method=method, path=path, body=body, skip=skip)
    done = Stop(method=method, path=path, body=body, skip=skip, done=True)
    return AtRequest(f"{what} is on its way", begun), AtRequest(f"{what} is written", done)


_CLAIMS: Final = "/machines$"
_CLAIM: Final = "/machines/[^/]+$"
_STATUS: Final = "/machines/[^/]+/status$"
_NODE: Final = "/nodes/[^/]+$"
_MARK: Final = '"treenail.sh/launch"'
_TYPE: Final = '"node.kubernetes.io/instance-type"'
_ID: Final = '"providerID"'

_FIRST_CLAIM = around("the first claim", "POST", _CLAIMS)
_SECOND_CLAIM = around("the second claim", "POST", _CLAIMS, skip=1)
_FIRST_MARK = around("the first mark", "PATCH", _CLAIM, _MARK)
_SECOND_MARK = around("the second mark", "PATCH", _CLAIM, _MARK, skip=1)
_LAUNCH = AtCall("the first call of a launch is on its way", ("CreateLaunchTemplate", "CreateFleet"))
BUYING: Final = AtCall("CreateFleet is on its way", ("CreateFleet",))
_LOST_ANSWER = AtLostAnswer("the answer of CreateFleet is lost")
_LABELS = around("what was bought", "PATCH", _CLAIM, _TYPE)
_FIRST_ID = around("the first provider id", "PATCH", _STATUS, _ID)
_SECOND_ID = around("the second provider id", "PATCH", _STATUS, _ID, skip=1)
_NODE_REGISTERED = around("the node's registration", "PATCH", _NODE, '"karpenter.sh/registered"')
_CLAIM_REGISTERED = around("the claim's registration", "PATCH", _STATUS, '"nodeName"')
_NODE_INITIALIZED = around("the node's initialization", "PATCH", _NODE, '"karpenter.sh/initialized"')
_CLAIM_INITIALIZED = around("the claim's initialization", "PATCH", _STATUS, '"MachineInitialized"')

_RANDOM_EVERY: Final = 5

# The most telling first, for a run of a few.
_EXACT: Final[tuple[Moment, ...]] = (
    _LAUNCH,
    _SECOND_CLAIM[0],
    _SECOND_MARK[1],
    _LABELS[1],
    BUYING,
    _LOST_ANSWER,
    _LABELS[0],
    *_FIRST_CLAIM,
    _SECOND_CLAIM[1],
    *_FIRST_MARK,
    _SECOND_MARK[0],
    *_FIRST_ID,
    *_SECOND_ID,
    *_NODE_REGISTERED,
    *_CLAIM_REGISTERED,
    *_NODE_INITIALIZED,
    *_CLAIM_INITIALIZED,
)


# With early binding alone.
_BINDING: Final = "/binding$"
_EARLY_NODE = around("the node made early", "POST", "/nodes$")
_FIRST_BINDING = around("the first binding", "POST", _BINDING)
_FOURTH_BINDING = around("the fourth binding", "POST", _BINDING, skip=3)
_EXACT_EARLY: Final[tuple[Moment, ...]] = (
    _FOURTH_BINDING[0],
    *_EARLY_NODE,
    *_FIRST_BINDING,
    _FOURTH_BINDING[1],
)


def moment(seed: int) -> Moment:
    """Return the moment of a seed (from 1 on): every fifth is a random one, the others are exact."""
    return _moment(seed, _EXACT)


def early_moment(seed: int) -> Moment:
    """Return the moment of a seed where pods are bound early."""
    return _moment(seed, _EXACT_EARLY)


def _moment(seed: int, exact: Sequence[Moment]) -> Moment:
    if seed % _RANDOM_EVERY == 0:
        return AfterDecision(round(Random(seed).uniform(0, _WHOLE_SECONDS), 3))
    turn = seed - 1 - seed // _RANDOM_EVERY
    return exact[turn % len(exact)]


_EVICTED: Final = around("the first eviction", "POST", "/eviction$")
_TERMINATED: Final = AtCall("TerminateInstances is on its way", ("TerminateInstances",))
_FREED: Final = around("the node's finalizer", "PATCH", _NODE, "deleteFromPrimitiveList/finalizers")
# Launches, bindings and drains in turns; of each, whether a machine leaves then.
_OF_LEADERS: Final[tuple[tuple[Moment, bool], ...]] = (
    (BUYING, False),
    (_EVICTED[1], True),
    (_FOURTH_BINDING[0], False),
    (_SECOND_MARK[1], False),
    (_TERMINATED, True),
    (_LOST_ANSWER, False),
    (_SECOND_CLAIM[0], False),
    (_FREED[0], True),
    (_EARLY_NODE[0], False),
    (_FIRST_ID[0], False),
    (_EVICTED[0], True),
    (_FIRST_BINDING[1], False),
    (_LAUNCH, False),
    (_FREED[1], True),
    (_FIRST_CLAIM[1], False),
    (_LABELS[1], False),
)


def lost_moment(seed: int) -> tuple[Moment, bool]:
    """Return at which moment the leader is lost, by seed (from 1 on), and whether a machine leaves then."""
    return _OF_LEADERS[(seed - 1) % len(_OF_LEADERS)]
