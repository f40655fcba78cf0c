"""Kubelets: they make their node, run what is bound to it, and end what is deleted."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from treenail.adapters.fake.cluster.api_server import ApiServer
from treenail.adapters.fake.cluster.patches import with_conditions
from treenail.adapters.fake.cluster.settings import ClusterSettings, draw
from treenail.adapters.fake.cluster.store import Store
from treenail.domain import labels
from treenail.domain.nodes import READY, Condition, Node, Status
from treenail.domain.resources import Resources
from treenail.domain.runtime import Agenda
from treenail.domain.taints import NOT_READY, Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a kubelet says of the machine it runs on."""

    node_name: str
    provider_id: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    capacity: Resources
    allocatable: Resources


class Kubelets:
    """The kubelets of all machines there are, by provider id."""

    def __init__(
        self,
        *,
        agenda: Agenda,
        dice: random.Random,
        store: Store,
        server: ApiServer,
        settings: ClusterSettings,
    ) -> None:
        self._agenda = agenda
        self._dice = dice
        self._store = store
        self._server = server
        self._settings = settings
        self._machines: dict[str, Machine] = {}

    def join(self, machine: Machine, *, after: float, ready_after: float | None) -> None:
        """Let a machine make its node in `after` seconds, and be ready `ready_after` later."""
        self._machines[machine.provider_id] = machine
        wait = draw(self._dice, self._settings.ready) if ready_after is None else ready_after
        self._later(after, partial(self._register, machine))
        self._later(after + wait, partial(self._get_ready, machine))

    def leave(self, provider_id: str) -> None:
        """Let a machine be gone."""
        machine = self._machines.pop(provider_id, None)
        if machine is not None:
            self._later(draw(self._dice, self._settings.removed), partial(self._removed, machine))

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._agenda.call_at(self._agenda.monotonic() + seconds, call)

    def _register(self, machine: Machine) -> None:
        if self._machines.get(machine.provider_id) is not machine:
            return
        not_ready = Condition(READY, Status.FALSE, "KubeletNotReady", "container runtime network not ready")
        self._server.apply(
            Node(
                name=machine.node_name,
                labels={labels.HOSTNAME: machine.node_name, labels.OS: "linux", **machine.labels},
                taints=(*machine.taints, NOT_READY),
                provider_id=machine.provider_id,
                capacity=machine.capacity,
                allocatable=machine.allocatable,
                conditions=with_conditions((), (not_ready,), self._agenda.now()),
                created_at=self._agenda.now(),
            )
        )

    def _get_ready(self, machine: Machine) -> None:
        node = self._store.find(("Node", machine.node_name))
        if self._machines.get(machine.provider_id) is not machine or not isinstance(node, Node):
            return
        ready = Condition(READY, Status.TRUE, "KubeletReady", "kubelet is posting ready status")
        conditions = with_conditions(node.conditions, (ready,), self._agenda.now())
        taints = tuple(t for t in node.taints if t != NOT_READY)
        self._store.put(replace(node, conditions=conditions, taints=taints))

    def _removed(self, machine: Machine) -> None:
        node = self._store.find(("Node", machine.node_name))
        if isinstance(node, Node) and node.provider_id == machine.provider_id:
            self._store.delete(("Node", machine.node_name))
