"""Recent changes of the cluster: whether a plan still holds that was made at an earlier revision."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from treenail.domain.cluster.cluster_facts import ClusterObject, says_the_same
from treenail.domain.cluster.promises import Promise
from treenail.domain.model.devices import DeviceClass, DeviceTaintRule, ResourceClaimTemplate, ResourceSlice
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Pod, PodAffinityTerm
from treenail.domain.model.resource_claims import ResourceClaim
from treenail.domain.model.resource_quotas import ResourceQuota

_MOST: Final = 20_000
# Devices let no node be consolidated: pods that have any do not move.
_OF_DEVICES: Final = (ResourceClaim, DeviceClass, ResourceClaimTemplate, ResourceSlice, DeviceTaintRule)
# Nor do quotas: they say how many pods may be made.
_COUNTED_APART: Final = (Pod, Node, NodeClaim, ResourceQuota, *_OF_DEVICES)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodMoved:
    """A change of a pod: after the model had `revision` it came to a place, left it, or changed its labels.

    It has the parts of a pod that terms of other pods count: the whole pod would be a kilobyte that nobody
    else keeps. `place` is the node it is bound to, or the target of its promise; `decision` is the decision
    that promised it, "" without one.
    """

    revision: int
    uid: str
    namespace: str
    labels: Mapping[str, str]
    affinity: tuple[PodAffinityTerm, ...]
    place: str
    decision: str = ""

    @staticmethod
    def of(pod: Pod, revision: int, place: str, decision: str = "") -> PodMoved:
        """Return the change of a pod that is at `place`, or was, or is promised it."""
        return PodMoved(
            revision=revision,
            uid=pod.uid,
            namespace=pod.namespace,
            labels=pod.labels,
            affinity=pod.spec.pod_affinity,
            place=place,
            decision=decision,
        )


class RecentChanges:
    """The latest changes of pods and nodes that a plan may depend on, by revision. Mutable.

    `stamp` grows with each change that could let another node be consolidated; news of a pod's or a node's
    condition are none. Of pods, the last twenty thousand changes are remembered.
    """

    def __init__(self) -> None:
        self.stamp = 0
        self._pods: deque[PodMoved] = deque(maxlen=_MOST)
        self._forgotten = -1
        self._nodes_at = -1

    def pod(self, revision: int, before: Pod | None, after: Pod | None) -> None:
        """Take in a pod as it was and as it is, None where it was or is not there."""
        pod = after or before
        if pod is None or _seen_by_others(before) == _seen_by_others(after):
            return
        self.stamp += 1
        was, now = (_bound(revision, one) for one in (before, after))
        if was is not None and was != now:
            self._add(was)
        if now is not None:
            self._add(now)

    def promise(self, revision: int, promise: Promise) -> None:
        """Take in that a pod was promised a place."""
        self.stamp += 1
        self._add(PodMoved.of(promise.like, revision, promise.target, promise.decision))

    def node(self, revision: int, before: Node | None, after: Node | None) -> None:
        """Take in a node as it was and as it is, None where it was or is not there."""
        if _seen_by_pods(before) != _seen_by_pods(after):
            self.stamp += 1
            self._nodes_at = revision

    def thing(self, thing: ClusterObject, before: ClusterObject | None) -> None:
        """Take in an object of another kind, as it is and as it was `before`, None where it is new."""
        if not isinstance(thing, _COUNTED_APART):
            self.stamp += not says_the_same(thing, before)

    def thing_gone(self, thing: ClusterObject | None) -> None:
        """Take in that an object is gone, None where it was not there."""
        self.stamp += thing is not None and not isinstance(thing, _COUNTED_APART)

    def _add(self, moved: PodMoved) -> None:
        if len(self._pods) == _MOST:
            self._forgotten = self._pods[0].revision
        self._pods.append(moved)

    def since(self, revision: int) -> Iterator[PodMoved] | None:
        """Return what pods did since the model had `revision`, the last first; None if forgotten."""
        return None if self._forgotten >= revision else self._since(revision)

    def _since(self, revision: int) -> Iterator[PodMoved]:
        for one in reversed(self._pods):
            if one.revision < revision:
                return
            yield one

    def nodes_since(self, revision: int) -> bool:
        """Return whether a node came or left, or got other labels, taints or room since."""
        return self._nodes_at >= revision


def _bound(revision: int, pod: Pod | None) -> PodMoved | None:
    return PodMoved.of(pod, revision, pod.node_name) if pod is not None and pod.bound else None


def _seen_by_others(pod: Pod | None) -> object:
    """Return what scheduling and consolidation look at in a pod."""
    if pod is None:
        return None
    told = (pod.namespace, pod.labels, pod.annotations, pod.spec, pod.node_name, pod.provisionable)
    return (*told, pod.terminal, pod.deleting_since is not None, pod.unread)


def _seen_by_pods(node: Node | None) -> object:
    """Return what scheduling looks at in a node."""
    if node is None:
        return None
    told = (
        node.provider_id,
        node.labels,
        node.lasting_taints,
        node.unschedulable,
        node.allocatable,
        node.ready,
    )
    return (*told, node.annotations, node.deleting_since is not None)
