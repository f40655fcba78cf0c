"""Events of nodes, claims and pods during a node's end. Nothing waits for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from treenail.actors.runtime.base import Runtime
from treenail.actors.runtime.publishing import ToldLately, publish, write_beside
from treenail.actors.termination_actor.messages import MovedOut
from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.explain.interruption_events import ended_by_warning, warned
from treenail.domain.model import labels
from treenail.domain.model.causes import BUDGETED, Cause
from treenail.domain.model.event_subjects import of_claim
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.instants import write_instant
from treenail.domain.model.nodes import Condition, NodeClaim, NodeView
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import Done, Failed
from treenail.domain.ports import ClusterWriter
from treenail.domain.termination.end_records import EndRecord
from treenail.domain.termination.ending_conditions import AWAITING_VOLUMES, DRAINING, ended, told
from treenail.domain.termination.ending_events import (
    awaiting_volumes,
    evicted,
    expiring,
    failed_draining,
    held_up,
    hurried,
)
from treenail.domain.termination.eviction_order import MoveOut
from treenail.domain.termination.leaving import Leaving

# Where a machine is taken from us, what its claim says meanwhile is not worth a request.
_UNHURRIED = frozenset({*BUDGETED, Cause.DELETED})


class EndingPublisher:
    """Publishes the events of nodes' ends, each once in two minutes; sets the conditions of their claims."""

    def __init__(self, runtime: Runtime, writer: ClusterWriter) -> None:
        self._tasks = runtime.tasks
        self._now = runtime.timers.now
        self._writer = writer
        self._told = ToldLately(runtime.timers.monotonic)
        self._dated: dict[str, None] = {}
        self._drains: dict[str, None] = {}
        self._volumes: dict[str, None] = {}

    def expiring(self, view: NodeView, state: Leaving, pods: Iterable[Pod]) -> None:
        """Publish when a claim's termination grace period ends, as long as its node is not drained.

        The claim says so in any case; people are warned where there are pods that may be cut short.
        """
        if state.deadline is None or state.drained_at is not None:
            return
        now = self._now()
        if any(pod.drainable(now) and not pod.daemon for pod in pods):
            self._publish(expiring(view, state.deadline))
        claim = view.claim
        unsaid = claim is not None and claim.leaving and labels.TERMINATION_TIMESTAMP not in claim.annotations
        if unsaid and view.name not in self._dated:
            self._dated[view.name] = None
            self._write(view, {labels.TERMINATION_TIMESTAMP: write_instant(state.deadline)}, ())

    def warned(self, view: NodeView, notice: NodeInterrupted, *, news: bool, ends: bool) -> None:
        """Publish the warning of an instance's end, where it is `news`, and whether it `ends` the node."""
        for event in warned(view, notice) if news else ():
            publish(self._tasks, self._writer, event)  # several warnings may have one reason
        if ends:
            self._publish(ended_by_warning(view))

    def draining(self, view: NodeView, state: Leaving, step: MoveOut, pods: Iterable[Pod]) -> None:
        """Publish that a drain has begun, and what holds it up if no pod can be evicted."""
        if view.name not in self._drains and state.cause in _UNHURRIED:
            self._drains[view.name] = None
            self._show(view, DRAINING)
        if step.evict or step.delete:
            return
        now = self._now()
        held = [pod for pod in pods if pod.active and pod.drainable(now) and pod.protected(now)]
        if held:
            self._publish(failed_draining(view, held_up(held)))

    def moved(
        self, view: NodeView | None, state: Leaving | None, moved: MovedOut, error: Exception | None
    ) -> None:
        """Publish that a pod was evicted, or deleted as time is up, or, with `error`, why it was not."""
        if state is None:
            return
        match moved.outcome:
            case Done() if moved.grace is None:
                self._publish((evicted(moved.pod, state.cause),))
            case Done() if state.end is not None and moved.grace is not None:
                self._publish((hurried(moved.pod, moved.grace, state.end, state.cause),))
            case Failed() if view is not None and error is not None:
                self._publish(failed_draining(view, f"pod {moved.pod.key}: {error}"))
            case _:
                pass

    def detaching(self, view: NodeView, volumes: frozenset[str]) -> None:
        """Publish the volumes a node's end waits for; with none, that it waits no longer."""
        if not volumes:
            self._volumes.pop(view.name, None)
            return
        if view.name not in self._volumes:
            self._volumes[view.name] = None
            self._show(view, AWAITING_VOLUMES)
        self._publish(awaiting_volumes(view, volumes))

    def ended(self, view: NodeView, record: EndRecord) -> None:
        """Publish that the instance goes now; and why, if that was not published yet."""
        self._show(view, *ended(view, volumes_left=view.name in self._volumes), record=record)

    def gone(self, claim: NodeClaim, record: EndRecord) -> None:
        """Publish why a claim that is gone ended, on it and on its node: people know it by that name."""
        node = (ObjectRef("Node", claim.node_name),) if claim.node_name else ()
        self._publish(ClusterEvent(about, "Ended", record.sentence()) for about in (of_claim(claim), *node))

    def forget(self, name: str) -> None:
        """Take in that a node is gone, or stays."""
        self._dated.pop(name, None)
        self._drains.pop(name, None)
        self._volumes.pop(name, None)

    def _publish(self, events: Iterable[ClusterEvent]) -> None:
        for event in events:
            if self._told.news((event.about, event.reason)):
                publish(self._tasks, self._writer, event)

    def _show(self, view: NodeView, *conditions: Condition, record: EndRecord | None = None) -> None:
        claim = view.claim
        if claim is None:
            return
        news = told(claim, *conditions)
        unsaid = record is not None and labels.END not in claim.annotations
        said = record.annotations() if record is not None and unsaid else {}
        if news or said:
            self._write(view, said, news)

    def _write(
        self, view: NodeView, annotations: Mapping[str, str], conditions: tuple[Condition, ...]
    ) -> None:
        claim = view.claim
        if claim is None:
            return
        writer, patch = self._writer, ClaimPatch(annotations=annotations, conditions=conditions)
        key = ("kubernetes", "drain", view.name)
        write_beside(self._tasks, key, lambda: writer.patch_claim(claim.name, patch))
