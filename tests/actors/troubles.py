"""Outsides whose calls fail when a test says so."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import count
from typing import TypeVar

from treenail.adapters.fake.cluster import ClusterSettings, FakeCluster
from treenail.domain.interruption.impairments import Impairment, Impairments
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError, NotFoundError, PortError
from treenail.domain.model.fleets import (
    LAUNCH_TAG,
    FleetAnswer,
    FleetError,
    FleetRequest,
    Instance,
    InstanceState,
)
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_class_status import NodeClassStatus
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.observed_capacity import CapacityObserved, ObservedCapacity
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.purposes import Purpose, purpose_at_hand
from treenail.domain.model.resources import Resources
from treenail.domain.model.runtime import Agenda
from treenail.domain.model.stand_alone_claims import NOTHING_BOUGHT

R = TypeVar("R")


class Troubles:
    """What calls were made, and which of the next ones fail: before they are done, or after."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        # What the calls of each name were made for.
        self.purposes: defaultdict[str, set[Purpose]] = defaultdict(set)
        self.chance: Callable[[], tuple[PortError, bool] | None] = lambda: None
        self._planned: defaultdict[str, deque[tuple[PortError, bool]]] = defaultdict(deque)

    def fail(self, call: str, error: PortError, *, times: int = 1, done: bool = False) -> None:
        """Let the next calls of a name raise `error`; with `done`, after they were carried out."""
        self._planned[call].extend([(error, done)] * times)

    def run(self, call: str, about: str, request: Callable[[], R]) -> R:
        """Carry out a request, or not."""
        self.calls.append(f"{call} {about}".strip())
        self.purposes[call].add(purpose_at_hand())
        trouble = self._planned[call].popleft() if self._planned[call] else self.chance()
        if trouble is None:
            return request()
        error, done = trouble
        if done:
            request()
        raise error


class Api(FakeCluster):
    """The fake cluster, with calls that can be made to fail one by one.

    A patch of a claim is called after what it is for: mark, record, void, explain, show or release.
    """

    def __init__(self, agenda: Agenda, settings: ClusterSettings | None = None) -> None:
        super().__init__(agenda=agenda, dice=random.Random(0), settings=settings)
        self.troubles = Troubles()

    def get_claim(self, name: str) -> NodeClaim:
        return self.troubles.run("get_claim", name, lambda: FakeCluster.get_claim(self, name))

    def list_claims(self) -> tuple[NodeClaim, ...]:
        return self.troubles.run("list_claims", "", lambda: FakeCluster.list_claims(self))

    def create_claim(self, claim: NodeClaim) -> NodeClaim:
        return self.troubles.run("create_claim", claim.name, lambda: FakeCluster.create_claim(self, claim))

    def patch_claim(self, name: str, patch: ClaimPatch, *, version: int | None = None) -> NodeClaim:
        return self.troubles.run(
            _purpose(patch), name, lambda: FakeCluster.patch_claim(self, name, patch, version=version)
        )

    def delete_claim(self, name: str, *, uid: str) -> None:
        self.troubles.run("delete_claim", name, lambda: FakeCluster.delete_claim(self, name, uid=uid))

    def patch_node(self, name: str, patch: NodePatch, *, seen: Node | None = None) -> Node:
        return self.troubles.run(
            "patch_node", name, lambda: FakeCluster.patch_node(self, name, patch, seen=seen)
        )

    def delete_node(self, name: str, *, uid: str) -> None:
        self.troubles.run("delete_node", name, lambda: FakeCluster.delete_node(self, name, uid=uid))

    def evict_pod(self, namespace: str, name: str, *, uid: str) -> None:
        self.troubles.run("evict_pod", name, lambda: FakeCluster.evict_pod(self, namespace, name, uid=uid))

    def create_node(self, node: Node) -> Node:
        return self.troubles.run("create_node", node.name, lambda: FakeCluster.create_node(self, node))

    def bind_pod(self, namespace: str, name: str, *, uid: str, node: str) -> None:
        self.troubles.run(
            "bind_pod", name, lambda: FakeCluster.bind_pod(self, namespace, name, uid=uid, node=node)
        )

    def delete_pod(self, namespace: str, name: str, *, uid: str, grace_seconds: int) -> None:
        self.troubles.run(
            "delete_pod",
            f"{name} {grace_seconds}",
            lambda: FakeCluster.delete_pod(self, namespace, name, uid=uid, grace_seconds=grace_seconds),
        )


def _purpose(patch: ClaimPatch) -> str:
    launch = patch.annotations.get(labels.LAUNCH)
    if launch is not None:
        return "void" if launch == NOTHING_BOUGHT else "mark"
    if patch.provider_id is not None:
        return "record"
    if patch.remove_finalizers:
        return "release"
    if patch == ClaimPatch(conditions=patch.conditions):
        return "show"
    return "explain" if labels.CAUSE in patch.annotations else "patch_claim"


class StubCloud:
    """The port `Cloud` over a shop with a stock: a call with a known token answers as it did before."""

    def __init__(self, agenda: Agenda, *types: InstanceType) -> None:
        self.troubles = Troubles()
        self.types = types
        self.stands = NodeClassStatus()
        self.unwell: tuple[Impairment, ...] = ()
        self.unanswered: frozenset[InterruptionKind] = frozenset()
        self.leftovers: tuple[str, ...] = ()
        self.stock: int | None = None
        self.shortage: tuple[FleetError, ...] = (
            FleetError("InsufficientInstanceCapacity", "no capacity", "m5.large", "a"),
        )
        self.learned = ObservedCapacity()
        self.purposes: list[Purpose] = []
        self.bought: dict[str, Instance] = {}
        self.invisible: dict[str, None] = {}
        # What was terminated is still listed while it `lingers`; what is `protected` is never terminated.
        self.ending: dict[str, Instance] = {}
        self.lingers = False
        self.protected = ""
        # The pools that node classes were looked up for.
        self.pools_of: dict[str, tuple[str, ...]] = {}
        self._agenda = agenda
        self._numbers = count()
        self._answers: dict[str, tuple[str, FleetAnswer]] = {}

    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        del kubelet
        return self.troubles.run("instance_types", node_class.ref.name, lambda: self.types)

    def node_class_status(self, node_class: NodeClass, pools: tuple[NodePool, ...] = ()) -> NodeClassStatus:
        self.pools_of[node_class.ref.name] = tuple(pool.name for pool in pools)
        return self.troubles.run("node_class_status", node_class.ref.name, lambda: self.stands)

    def release(self, node_class: NodeClass) -> None:
        self.troubles.run("release", node_class.ref.name, lambda: None)

    def collect_profiles(self, node_classes: Collection[NodeClass]) -> tuple[str, ...]:
        about = " ".join(one.ref.name for one in node_classes)
        return self.troubles.run("collect_profiles", about, lambda: self.leftovers)

    def learn(self, observation: CapacityObserved) -> bool:
        return self.learned.learn(observation)

    def launch(self, request: FleetRequest) -> FleetAnswer:
        return self.troubles.run("launch", str(request.count), lambda: self._launch(request))

    def _launch(self, request: FleetRequest) -> FleetAnswer:
        digest = request.digest()
        known, answer = self._answers.get(request.token, (digest, None))
        if known != digest:
            raise InvalidError("IdempotentParameterMismatch")
        if answer is None:
            answer = self._buy(request)
            self._answers[request.token] = digest, answer
        return answer

    def _buy(self, request: FleetRequest) -> FleetAnswer:
        given = request.count if self.stock is None else min(request.count, self.stock)
        if self.stock is not None:
            self.stock -= given
        chosen = request.overrides[0]
        instances = tuple(
            Instance(
                id=f"i-{next(self._numbers)}",
                instance_type=chosen.instance_type,
                zone=chosen.zone,
                capacity_type=request.capacity_type,
                state=InstanceState.RUNNING,
                launched_at=self._agenda.now(),
                image_id="ami-1",
                price=chosen.price,
                tags={**request.tags, LAUNCH_TAG: request.token},
                capacity=Resources.parse({"cpu": 2, "pods": 29}),
                allocatable=Resources.parse({"cpu": "1900m", "pods": 29}),
                labels={"size": "large"},
                instance_profile="demo_1",
            )
            for _ in range(given)
        )
        self.bought |= {i.id: i for i in instances}
        return FleetAnswer(instances=instances, errors=self.shortage if given < request.count else ())

    def launched_by(self, token: str) -> tuple[Instance, ...]:
        return self.troubles.run(
            "launched_by", "", lambda: tuple(i for i in self._visible() if i.tags.get(LAUNCH_TAG) == token)
        )

    def instances(self) -> tuple[Instance, ...]:
        return self.troubles.run("instances", "", self._visible)

    def _visible(self) -> tuple[Instance, ...]:
        there = {**self.bought, **(self.ending if self.lingers else {})}
        return tuple(i for i in there.values() if i.id not in self.invisible)

    def impairments(self) -> Impairments:
        return self.troubles.run(
            "impairments", "", lambda: Impairments(found=self.unwell, unanswered=self.unanswered)
        )

    def terminate(self, ids: tuple[str, ...], *, purpose: Purpose = Purpose.DISRUPTION) -> None:
        self.purposes.append(purpose)
        self.troubles.run("terminate", " ".join(ids), lambda: self._terminate(ids))

    def tag(self, instance_id: str, tags: Mapping[str, str]) -> None:
        self.troubles.run("tag", instance_id, lambda: self._tag(instance_id, tags))

    def _tag(self, instance_id: str, tags: Mapping[str, str]) -> None:
        there = self.bought.get(instance_id)
        if there is None:
            raise NotFoundError(instance_id)
        self.bought[instance_id] = replace(there, tags={**there.tags, **tags})

    def _terminate(self, ids: tuple[str, ...]) -> None:
        if self.protected in ids:
            raise InvalidError(f"OperationNotPermitted: {self.protected}")
        for name in ids:
            there = self.bought.pop(name, None)
            if there is not None:
                self.ending[name] = there
