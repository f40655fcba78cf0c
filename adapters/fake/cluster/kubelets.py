"""Kubelets: they make their node, run what is bound to it, and end what is deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from treenail.adapters.api.workloads import RUNS_FOR
from treenail.adapters.fake.cluster.accounts import Accounts
from treenail.adapters.fake.cluster.api_server import ApiServer
from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.objects import Change, address_of
from treenail.adapters.fake.cluster.patches import with_conditions
from treenail.adapters.fake.luck import Span, chance, draw
from treenail.domain.model import labels
from treenail.domain.model.durations import parse_duration
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.nodes import READY, Condition, Node, Status, awaited, condition_of
from treenail.domain.model.pods import Phase, Pod
from treenail.domain.model.resources import Resources, total
from treenail.domain.model.taints import NOT_READY, UNREACHABLE, Taint

_TRY_AGAIN: Final[Span] = (1.0, 5.0)
_NOT_READY_YET: Final = Condition(
    READY, Status.FALSE, "KubeletNotReady", "container runtime network not ready"
)
_IS_READY: Final = Condition(READY, Status.TRUE, "KubeletReady", "kubelet is posting ready status")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine that a kubelet runs on, as it says."""

    node_name: str
    provider_id: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    capacity: Resources
    allocatable: Resources


class Kubelets:
    """The kubelets of all machines that are up.

    A node without a machine is run as if it had one, unless it was made early: then the machine is awaited.
    """

    def __init__(self, plane: ControlPlane, accounts: Accounts, server: ApiServer) -> None:
        self._plane = plane
        self._dice = plane.fork()
        self._accounts = accounts
        self._server = server
        self._joining: dict[str, Machine] = {}
        # The provider id of the machine behind each node that runs.
        self._running: dict[str, str] = {}
        plane.store.listen(self._node_changed, "Node")
        plane.store.listen(self._pod_changed, "Pod")

    # --- machines

    def join(self, machine: Machine, *, after: float, ready_after: float | None) -> None:
        """Let a machine make its node in `after` seconds, and be ready `ready_after` later."""
        self._joining[machine.provider_id] = machine
        wait = draw(self._dice, self._plane.settings.ready) if ready_after is None else ready_after
        self._plane.later(after, partial(self._register, machine, wait))

    def leave(self, provider_id: str) -> str | None:
        """Let a machine be gone; return the name of the node it ran, if it ran one."""
        self._joining.pop(provider_id, None)
        node = next((name for name, machine in self._running.items() if machine == provider_id), None)
        if node is not None:
            del self._running[node]
            return node
        made = (n for n in self._plane.store.all(Node) if n.provider_id == provider_id)
        return next((n.name for n in made if awaited(n)), None)

    def _register(self, machine: Machine, ready_after: float) -> None:
        if self._joining.get(machine.provider_id) is not machine:
            return
        there = self._plane.store.find(("Node", machine.node_name))
        if isinstance(there, Node) and there.provider_id == machine.provider_id:
            self._adopt(machine, there, ready_after)
            return
        node = Node(
            name=machine.node_name,
            labels={labels.HOSTNAME: machine.node_name, labels.OS: "linux", **machine.labels},
            taints=(*machine.taints, NOT_READY),
            provider_id=machine.provider_id,
            capacity=machine.capacity,
            allocatable=machine.allocatable,
            conditions=with_conditions((), (_NOT_READY_YET,), self._plane.store.now()),
            created_at=self._plane.store.now(),
        )
        try:
            self._server.apply(node)
        except InvalidError:
            # The node of an earlier machine of this name is still there.
            again = draw(self._dice, _TRY_AGAIN)
            self._plane.later(again, partial(self._register, machine, ready_after))
            return
        self._joined(machine, ready_after)

    def _adopt(self, machine: Machine, node: Node, ready_after: float) -> None:
        """Take over a node that somebody made for this machine: its taints and most labels are left alone."""
        conditions = with_conditions(node.conditions, (_NOT_READY_YET,), self._plane.store.now())
        adopted = replace(
            node,
            labels={**node.labels, labels.HOSTNAME: machine.node_name, labels.OS: "linux"},
            taints=tuple(t for t in node.taints if t.key != UNREACHABLE),
            capacity=machine.capacity,
            allocatable=machine.allocatable,
            conditions=conditions,
        )
        self._plane.store.put(adopted)
        self._joined(machine, ready_after)

    def _joined(self, machine: Machine, ready_after: float) -> None:
        del self._joining[machine.provider_id]
        self._running[machine.node_name] = machine.provider_id
        for pod in self._accounts.pods_on(machine.node_name):
            if pod.deleting_since is not None:
                self._end_later(pod)
        self._plane.later(ready_after, partial(self._get_ready, machine.node_name, machine.provider_id))

    def _get_ready(self, name: str, provider_id: str) -> None:
        node = self._plane.store.find(("Node", name))
        if self._running.get(name) != provider_id or not isinstance(node, Node):
            return
        conditions = with_conditions(node.conditions, (_IS_READY,), self._plane.store.now())
        taints = tuple(t for t in node.taints if t != NOT_READY)
        self._plane.store.put(replace(node, conditions=conditions, taints=taints))

    def _node_changed(self, change: Change) -> None:
        node, name = change.after, change.address[1]
        if not isinstance(node, Node):
            self._running.pop(name, None)
        elif change.before is None and not awaited(node) and node.provider_id not in self._joining:
            self._run_as_it_is(node)
        elif node.ready and not (isinstance(change.before, Node) and change.before.ready):
            for pod in self._accounts.pods_on(name):
                if pod.phase is Phase.PENDING and not pod.daemon:
                    self._start_later(pod)

    def _run_as_it_is(self, node: Node) -> None:
        self._running[node.name] = node.provider_id
        if condition_of(node.conditions, READY) is None:
            self._get_ready(node.name, node.provider_id)
        elif not node.ready and NOT_READY not in node.taints:
            self._plane.store.put(replace(node, taints=(*node.taints, NOT_READY)))

    # --- pods

    def _pod_changed(self, change: Change) -> None:
        before, pod = change.before, change.after
        if not isinstance(pod, Pod) or not pod.node_name:
            return
        new = not isinstance(before, Pod) or not before.node_name
        if pod.deleting_since is not None:
            if not isinstance(before, Pod) or before.deleting_since != pod.deleting_since:
                self._end_later(pod)
        elif new and pod.phase is Phase.PENDING and (pod.daemon or self._ready(pod.node_name)):
            self._start_later(pod)
        elif new and pod.phase is Phase.RUNNING:
            self._succeed_later(pod)

    def _ready(self, name: str) -> bool:
        node = self._plane.store.find(("Node", name))
        return isinstance(node, Node) and node.ready

    def _start_later(self, pod: Pod) -> None:
        wait = draw(self._dice, self._plane.settings.start)
        self._plane.later(wait, partial(self._start, pod.uid))

    def _start(self, uid: str) -> None:
        pod = self._plane.store.by_uid(uid)
        if not isinstance(pod, Pod) or not pod.active or pod.phase is not Phase.PENDING:
            return
        if pod.node_name not in self._running:
            return
        short = self._short(pod)
        if short:
            why = f"Node didn't have enough resource: {short}"
            self._plane.warn(pod, f"OutOf{short}", why, source="kubelet")
            self._plane.store.put(replace(pod, phase=Phase.FAILED))
            return
        started = replace(pod, phase=Phase.RUNNING, started_at=self._plane.store.now(), ready=True)
        self._plane.store.put(started)
        self._succeed_later(started)

    def _succeed_later(self, pod: Pod) -> None:
        if pod.owner is not None and pod.owner.kind == "Job":
            runs_for = parse_duration(pod.annotations.get(RUNS_FOR, ""))
            wait = (
                draw(self._dice, self._plane.settings.job) if runs_for is None else runs_for.total_seconds()
            )
            self._plane.later(wait, partial(self._succeed, pod.uid))

    def _succeed(self, uid: str) -> None:
        pod = self._plane.store.by_uid(uid)
        if (
            isinstance(pod, Pod)
            and pod.phase is Phase.RUNNING
            and pod.active
            and pod.node_name in self._running
        ):
            self._plane.store.put(replace(pod, phase=Phase.SUCCEEDED, ready=False))

    def _short(self, pod: Pod) -> str:
        """Return what an overbooked node has too little of to run `pod` as well, "" where it has enough."""
        account = self._accounts.by_name.get(pod.node_name)
        if account is None or account.node is None or all(left >= 0 for left in account.room.values()):
            return ""
        running = (p for p in account.pods.values() if p.phase is Phase.RUNNING)
        taken = total((pod.spec.requests, *(p.spec.requests for p in running)))
        return next(iter(taken.shortages(account.node.allocatable)), "")

    def _end_later(self, pod: Pod) -> None:
        if pod.node_name not in self._running or pod.deleting_since is None:
            return
        left = max((pod.deleting_since - self._plane.store.now()).total_seconds(), 0.0)
        if chance(self._dice, self._plane.settings.slow_stops):
            wait = left * self._dice.random()
        else:
            wait = min(draw(self._dice, self._plane.settings.stop), left)
        self._plane.later(wait, partial(self._end, pod.uid))

    def _end(self, uid: str) -> None:
        pod = self._plane.store.by_uid(uid)
        if isinstance(pod, Pod) and pod.deleting_since is not None and pod.node_name in self._running:
            self._plane.store.remove(address_of(pod))
