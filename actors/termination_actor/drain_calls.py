"""Calls of a node's end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from treenail.actors.termination_actor.finalizer_removal import remove_finalizers
from treenail.actors.termination_actor.gathered_ends import Together
from treenail.domain.launch.launching import LaunchMark, deal
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.cordons import uncordon
from treenail.domain.model.instants import write_instant
from treenail.domain.model.node_deadlines import deadline_of, machine_ends_at
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.pods import Pod
from treenail.domain.model.runtime import TaskKey
from treenail.domain.model.stand_alone_claims import NOTHING_BOUGHT
from treenail.domain.ports import Cloud, ClusterReader, ClusterWriter
from treenail.domain.telemetry.ending_roots import disruption_context
from treenail.domain.telemetry.tracing import SpanContext
from treenail.domain.termination.drain import (
    Abandon,
    AwaitDetached,
    Cordon,
    DeleteClaim,
    DeleteNode,
    FindInstance,
    LetGo,
    SayEnd,
    Step,
)
from treenail.domain.termination.end_records import EndRecord, actor_of, cause_said, reason_of
from treenail.domain.termination.ending_conditions import disrupting
from treenail.domain.termination.leaving import Leaving

END_TRACE = "treenail.sh/end-traceparent"

Call: TypeAlias = "Callable[[], object]"


class DrainCalls:
    """Ways to the API server and to EC2. Every function it returns may block and may raise a PortError."""

    def __init__(self, *, reader: ClusterReader, writer: ClusterWriter, cloud: Cloud) -> None:
        self._reader = reader
        self._writer = writer
        self._cloud = cloud

    def of(
        self, step: Step, view: NodeView, state: Leaving, record: EndRecord | None = None
    ) -> tuple[TaskKey, Call]:
        """Return the call of a step, and the key it queues under; `record` is for claims that are deleted."""
        key = ("kubernetes", "drain", view.name)
        match step:
            case Cordon(node=node, patch=patch) | Abandon(node=node, patch=patch):
                return key, lambda: self._writer.patch_node(node.name, patch)
            case DeleteClaim(claim=claim):
                return key, lambda: self._delete_claim(claim, state, record)
            case FindInstance(claim=claim, token=token):
                # It waits for EC2, and shall not keep others from the API server meanwhile.
                return ("ec2", "find", view.name), lambda: self._find(claim, token)
            case DeleteNode(node=node):
                return key, lambda: self._writer.delete_node(node.name, uid=node.uid)
            case SayEnd(claim=claim, at=at):
                said = ClaimPatch(annotations={labels.ENDS_AT: at.isoformat()})
                return key, lambda: self._writer.patch_claim(claim.name, said)
            case AwaitDetached(node=node):
                return key, lambda: self._reader.attached_volumes(node.name)
            case LetGo():
                return key, lambda: remove_finalizers(self._writer, step)
            case _:
                raise TypeError(f"{step} is not one call")

    def together(self, steps: Together) -> Call:
        """Return the call that terminates many instances, or sees which are there."""
        if not steps.ids:
            return self._instances
        return lambda: self._cloud.terminate(steps.ids, purpose=steps.purpose)

    def _delete_claim(self, claim: NodeClaim, state: Leaving, record: EndRecord | None) -> None:
        """Write cause, trace and deadline before the deletion, so that another process can finish it."""
        annotations = {labels.CAUSE: state.cause.value, END_TRACE: state.trace.traceparent}
        if record is not None:
            annotations[labels.END] = record.written()
        if state.ends_at is not None:
            annotations[labels.ENDS_AT] = state.ends_at.isoformat()
        if state.deadline is not None and labels.TERMINATION_TIMESTAMP not in claim.annotations:
            annotations[labels.TERMINATION_TIMESTAMP] = write_instant(state.deadline)
        if state.nothing_bought:
            # So no instance is looked for before the claim goes.
            annotations[labels.LAUNCH] = NOTHING_BOUGHT
        why = disrupting(claim, state.cause)
        self._writer.patch_claim(claim.name, ClaimPatch(annotations=annotations, conditions=why))
        self._writer.delete_claim(claim.name, uid=claim.uid)

    def _find(self, claim: NodeClaim, token: str) -> bool:
        """Give the claim what its call bought for it; return whether there was anything."""
        instances = self._cloud.launched_by(token)
        claims = [
            c
            for c in self._reader.list_claims()
            if (mark := LaunchMark.of(c)) is not None and mark.token == token
        ]
        dealt = deal(claims, instances).get(claim.name)
        if dealt is not None:
            patch = ClaimPatch(provider_id=dealt.provider_id, labels=dealt.labels, capacity=dealt.capacity)
            self._writer.patch_claim(claim.name, patch)
        # An earlier look may have given it one, of which the watch has not told yet.
        return dealt is not None or any(one.name == claim.name and one.provider_id for one in claims)

    def _instances(self) -> frozenset[str]:
        return frozenset(i.id for i in self._cloud.instances())

    def open_again(self, view: NodeView) -> tuple[TaskKey, Call]:
        """Return the call that takes our mark off a node, with the key it queues under."""
        claim, node = view.claim, view.node
        patch = uncordon(claim, node) if claim is not None and node is not None else NodePatch()
        return ("kubernetes", "drain", view.name), lambda: self._writer.patch_node(view.node_name, patch)

    def evict(self, pod: Pod) -> Callable[[], None]:
        """Return the eviction of a pod."""
        return lambda: self._writer.evict_pod(pod.namespace, pod.name, uid=pod.uid)

    def delete(self, pod: Pod, grace_seconds: int) -> Callable[[], None]:
        """Return the deletion of a pod whose time is up."""
        return lambda: self._writer.delete_pod(
            pod.namespace, pod.name, uid=pod.uid, grace_seconds=grace_seconds
        )


def cause_of(view: NodeView) -> Cause:
    """Return the cause a node's claim says; without one, somebody deleted the node."""
    return cause_said(view.claim) or Cause.DELETED


def leaving_for(
    view: NodeView,
    cause: Cause,
    began_at: datetime,
    *,
    forced: bool,
    actor: str = "",
    why: str = "",
) -> Leaving:
    """Return how a node begins to leave because of `cause`, with what its claim says.

    That is also who decided so and what more is said of the cause, where `actor` and `why` do not.
    """
    claim = view.claim
    says_so = cause_said(claim) is cause
    own = disruption_context(claim) if claim is not None else SpanContext.root(f"disrupt/{view.name}")
    return Leaving(
        cause=cause,
        why=why or (reason_of(claim) if says_so else ""),
        actor=actor or (actor_of(claim) if says_so else ""),
        trace=_trace_of(view) or own,
        deadline=deadline_of(view),
        ends_at=machine_ends_at(claim),
        forced=forced,
        resumed=view.node is not None and view.node.deleting_since is not None,
        began_at=began_at,
        warned={cause: None} if says_so else {},  # people were told before
    )


def _trace_of(view: NodeView) -> SpanContext | None:
    """Return the trace that the end of a node began in, as its claim says."""
    said = view.claim.annotations.get(END_TRACE, "") if view.claim is not None else ""
    return SpanContext.parse(said) if said else None
