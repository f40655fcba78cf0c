"""Emptiness of nodes: what keeps one from being empty, since when it is, and pod events for the API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.claims import expected_pods, promised_pods, replaced_nodes
from treenail.domain.model.eviction_cost import eviction_cost
from treenail.domain.model.instants import read_instant
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import INITIALIZED, NodeClaim, NodeView
from treenail.domain.model.pods import Pod

# Events of one node are gathered for so long, and written so far apart; of all nodes so many a second.
_GATHERED: Final = 1.0
_APART: Final = 10.0
_A_SECOND: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsMoved:
    """Pods came to the node of a claim or left it, last at `at`; `empty`, where none is left."""

    claim: NodeClaim
    node: str
    at: datetime
    empty: bool


def keeps(pod: Pod, claim: NodeClaim | None) -> bool:
    """Return whether a pod on the node of a claim keeps that from being empty.

    One that comes back elsewhere does if it costs anything to evict; also if the node was bought for it, else
    it would be evicted from one new node after the other. A pod that is only stopping does not.
    """
    if pod.unread:
        return True
    if not pod.reschedulable:
        return False
    return eviction_cost(pod) > 0 or (claim is not None and _bought_for(pod, claim))


def _bought_for(pod: Pod, claim: NodeClaim) -> bool:
    """Return whether a claim was made for a pod, or to replace nodes whose pods this one may succeed."""
    return bool(replaced_nodes(claim)) or pod.uid in promised_pods(claim) or _expected(pod, claim)


def _expected(pod: Pod, claim: NodeClaim) -> bool:
    return pod.owner is not None and pod.owner.uid in expected_pods(claim)


def is_empty(pods: Iterable[Pod], claim: NodeClaim | None) -> bool:
    """Return whether a node with these pods may go as empty: then those that are left are evicted."""
    return not any(keeps(pod, claim) for pod in pods)


def moved(before: Pod | None, after: Pod | None) -> bool:
    """Return whether a pod came to its node, began to stop or left, and is no part of the node."""
    pod = after or before
    if pod is None or pod.daemon or pod.mirror:
        return False
    was, there = (one is not None and one.bound for one in (before, after))
    began = before is not None and before.active and after is not None and not after.active
    elsewhere = before is not None and after is not None and before.node_name != after.node_name
    # The end of a pod that was stopping already is no news.
    left = was and not there and before is not None and before.active
    return (there and not was) or left or (there and (began or elsewhere))


def empty_since(view: NodeView) -> datetime | None:
    """Return since when a node is empty, if the API says so.

    A claim says when a pod last came or left; where none ever did, it is empty since it is in use. Nodes of
    the old API bear an annotation as long as they are empty.
    """
    claim, node = view.claim, view.node
    if claim is None or node is None:
        return None
    if claim.generation is Generation.V1ALPHA5:
        return read_instant(node.annotations.get(labels.EMPTY_SINCE, ""))
    return claim.last_pod_event_at or claim.since(INITIALIZED)


class PodEvents:
    """The times when pods last came to nodes and left them, as was heard. Mutable.

    Claims say so seconds later, in a large cluster a minute: decisions need not wait for that.
    """

    def __init__(self) -> None:
        self._at: dict[str, datetime] = {}
        # By name, a claim and the same with the time: each claim is asked about often.
        self._shown: dict[str, tuple[NodeClaim, NodeClaim]] = {}

    def note(self, claim: str, at: datetime) -> None:
        """Take in that a pod came to the node of a claim or left it."""
        self._at[claim] = at
        self._shown.pop(claim, None)

    def forget(self, claim: str) -> None:
        """Forget a claim that is gone."""
        self._at.pop(claim, None)
        self._shown.pop(claim, None)

    def on(self, claim: NodeClaim) -> NodeClaim:
        """Return a claim with the time of the last event, also where it does not say so yet."""
        heard, said = self._at.get(claim.name), claim.last_pod_event_at
        if heard is None or (said is not None and said >= heard):
            return claim
        shown = self._shown.get(claim.name)
        if shown is None or shown[0] is not claim:
            shown = self._shown[claim.name] = claim, replace(claim, last_pod_event_at=heard)
        return shown[1]


class PodEventBook:
    """Pods that came and left, to be written: the last of each node. Times in monotonic seconds."""

    def __init__(self) -> None:
        # By claim, oldest first: what is to be written, and not before when.
        self._due: dict[str, tuple[PodsMoved, float]] = {}
        self._written_at: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._due)

    def note(self, news: PodsMoved, now: float) -> None:
        """Take in what happened last on a node."""
        name = news.claim.name
        before = self._due.get(name)
        at = max(now + _GATHERED, self._written_at.get(name, -_APART) + _APART)
        self._due[name] = (news, at if before is None else before[1])

    def again(self, failed: PodsMoved, now: float) -> None:
        """Take in that this was not written: it is still to be, unless there is news."""
        if failed.claim.name not in self._due:
            self._due[failed.claim.name] = (failed, now + _APART)

    def take(self, now: float) -> tuple[PodsMoved, ...]:
        """Return what is to be written in this second, and take it as written."""
        self._written_at = {name: at for name, at in self._written_at.items() if at > now - _APART}
        taken = [news for news, at in self._due.values() if at <= now][:_A_SECOND]
        for news in taken:
            del self._due[news.claim.name]
            self._written_at[news.claim.name] = now
        return tuple(taken)
