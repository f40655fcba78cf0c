"""EarlyBinder: binds promised pods to their node before its machine joins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

from cachetools import LRUCache

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.work_queue import Look, WorkQueue
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.launch.launching import LaunchMark
from treenail.domain.lifecycle.early_binding import BindPods, MakeNode, early_node, early_step
from treenail.domain.lifecycle.lifecycle_trace import stage_span
from treenail.domain.model.errors import AlreadyExistsError, ConflictError, InvalidError, NotFoundError
from treenail.domain.model.fleets import Instance
from treenail.domain.model.nodes import Node, NodeClaim, NodeView
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Done, Failed, Outcome
from treenail.domain.ports import Cloud, ClusterWriter
from treenail.domain.telemetry import metrics

# After so many attempts the ordinary way is left to do it: the scheduler binds the pods.
_MOST_ATTEMPTS: Final = 8
_MOST_NAMES: Final = 16_384


@dataclass(frozen=True, slots=True)
class _InstancesFound:
    """EC2 told which instances a call has bought, and what they are called."""

    token: str
    outcome: Outcome[tuple[Instance, ...]]


@dataclass(frozen=True, slots=True)
class _NodeMade:
    """The node of a claim was made, or was not."""

    name: str
    outcome: Outcome[Node]


@dataclass(frozen=True, slots=True)
class _PodBound:
    """A pod was bound, or was not."""

    name: str
    uid: str
    outcome: Outcome[None]


EarlyBinderInbox: TypeAlias = NodeChanged | Look | _InstancesFound | _NodeMade | _PodBound


@dataclass(slots=True)
class _Work:
    """The progress of one claim. `settled` are the pods nothing more is done about."""

    view: NodeView
    promised: tuple[Pod, ...]
    asking: bool = False
    node: Node | None = None
    binding: dict[str, None] = field(default_factory=dict)
    settled: dict[str, None] = field(default_factory=dict)


class EarlyBinder(DomainActor[EarlyBinderInbox]):
    """Make the node of a launched claim at once, and bind to it the pods it was bought for.

    Owns the claims it works on. It works only from what the API says, so that a restart goes on.
    """

    def __init__(self, runtime: Runtime, *, writer: ClusterWriter, cloud: Cloud) -> None:
        super().__init__(runtime)
        self._writer = writer
        self._cloud = cloud
        self._works: dict[str, _Work] = {}
        self._queue = WorkQueue(self, Look)
        # What the machines are called, by provider id: one answer tells it of all a call has bought.
        self._names: LRUCache[str, str] = LRUCache(_MOST_NAMES)
        # The calls whose instances EC2 is being asked for.
        self._asked: dict[str, None] = {}

    def handle(self, message: EarlyBinderInbox) -> None:
        match message:
            case NodeChanged():
                self._note(message)
            case Look(name=name):
                self._look(name)
            case _InstancesFound():
                self._found(message)
            case _NodeMade():
                self._made(message)
            case _PodBound():
                self._bound(message)
            case _:
                assert_never(message)

    def _note(self, changed: NodeChanged) -> None:
        view, name = changed.view, changed.name
        if view is None or view.claim is None or view.claim.registered or changed.going or changed.untouched:
            self._forget(name)
        elif name in self._works:
            work = self._works[name]
            work.view, work.promised = view, changed.promised
            self._look(name)
        elif changed.promised:
            self._works[name] = _Work(view, changed.promised)
            self._look(name)

    def _forget(self, name: str) -> None:
        work = self._works.pop(name, None)
        self._queue.forget(name)
        if work is not None and work.view.claim is not None:
            self._names.pop(work.view.claim.provider_id, None)

    def _look(self, name: str) -> None:
        work = self._works.get(name)
        if work is None or work.asking or self._queue.busy(name) or self._queue.waiting(name):
            return
        if self._queue.failures(name) >= _MOST_ATTEMPTS:
            return
        view = work.view
        if work.node is not None and view.node is None:
            view = NodeView(claim=view.claim, node=work.node)
        step = early_step(view, work.promised)
        match step:
            case MakeNode(claim=claim):
                self._make(name, work, claim)
            case BindPods(node=node, pods=pods):
                for pod in pods:
                    if pod.uid not in work.binding and pod.uid not in work.settled:
                        self._bind(name, work, pod, node)
            case None:
                pass

    # --- the node

    def _make(self, name: str, work: _Work, claim: NodeClaim) -> None:
        mark = LaunchMark.of(claim)
        if claim.provider_id not in self._names:
            if mark is not None:
                self._ask(work, mark.token)
            return
        self._queue.begin(name)
        node = early_node(claim, self._names[claim.provider_id], self._timers.now())
        self._tasks.run(
            ("kubernetes", "early", name),
            lambda: self._writer.create_node(node),
            self.me,
            lambda outcome: _NodeMade(name, outcome),
        )

    def _ask(self, work: _Work, token: str) -> None:
        """Ask what the machines of a call are called; claims of one call wait for one answer."""
        work.asking = True
        if token in self._asked:
            return
        self._asked[token] = None
        self._tasks.run(
            ("ec2", "names", token),
            lambda: self._cloud.launched_by(token),
            self.me,
            lambda outcome: _InstancesFound(token, outcome),
        )

    def _found(self, found: _InstancesFound) -> None:
        self._asked.pop(found.token, None)
        if isinstance(found.outcome, Done):
            for instance in found.outcome.value:
                if instance.node_name:
                    self._names[instance.provider_id] = instance.node_name
        for name, work in tuple(self._works.items()):
            claim = work.view.claim
            mark = LaunchMark.of(claim) if claim is not None else None
            if not work.asking or claim is None or mark is None or mark.token != found.token:
                continue
            work.asking = False
            if claim.provider_id in self._names:
                self._queue.succeeded(name)
                self._look(name)
            else:
                self._queue.retry(name)

    def _made(self, made: _NodeMade) -> None:
        self._queue.end(made.name)
        work = self._works.get(made.name)
        if work is None:
            return
        match made.outcome:
            case Done(value=node):
                self._queue.succeeded(made.name)
                work.node = node
                view = NodeView(claim=work.view.claim, node=node)
                for span in stage_span("make-node", view, self._timers.now()):
                    self._telemetry.record(span)
                self.log("made node early", nodeclaim=made.name, node=node.name)
                self._look(made.name)
            case Failed(error=AlreadyExistsError()):
                pass  # Ours from before a restart, or the machine was faster: the watch tells.
            case Failed():
                self._queue.retry(made.name)

    # --- the pods

    def _bind(self, name: str, work: _Work, pod: Pod, node: str) -> None:
        work.binding[pod.uid] = None
        self._tasks.run(
            ("kubernetes", "bind", pod.uid),
            lambda: self._writer.bind_pod(pod.namespace, pod.name, uid=pod.uid, node=node),
            self.me,
            lambda outcome: _PodBound(name, pod.uid, outcome),
        )

    def _bound(self, bound: _PodBound) -> None:
        work = self._works.get(bound.name)
        if isinstance(bound.outcome, Done):
            pool = work.view.pool if work is not None else ""
            self._telemetry.count(metrics.PODS_BOUND_EARLY.name, nodepool=pool)
        if work is None:
            return
        work.binding.pop(bound.uid, None)
        match bound.outcome:
            case Done():
                self._queue.succeeded(bound.name)
                work.settled[bound.uid] = None
            case Failed(error=ConflictError() | NotFoundError() | InvalidError() as error):
                # The scheduler was first, or the pod is gone: nothing is lost.
                work.settled[bound.uid] = None
                self.log("cannot bind pod early", nodeclaim=bound.name, why=str(error))
            case Failed():
                self._queue.retry(bound.name)
