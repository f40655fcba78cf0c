"""Capacity buffers: room that is to be free for pods to come, as the CapacityBuffer API asks for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from treenail.domain.model.events import ObjectRef
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.resources import Resources

KIND: Final = "CapacityBuffer"
ACTIVE: Final = "buffer.x-k8s.io/active-capacity"
SCALABLE_KINDS: Final = ("Deployment", "ReplicaSet", "StatefulSet")
SCALABLE_GROUP: Final = "apps"
# Below every priority that a pod can have by a PriorityClass.
LOWEST_PRIORITY: Final = -(2**31)
# Places of a buffer are kept for an owner so called, with the buffer's uid after it: no uid has a slash.
_OWNER: Final = "buffer/"


@dataclass(frozen=True, slots=True, order=True)
class ScalableRef:
    """The workload whose pods a buffer is like. An empty `group` means `apps`."""

    kind: str
    name: str
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityBuffer:
    """A CapacityBuffer. Its places are like the pods of the PodTemplate `template`, or of `scalable`.

    `percentage` is a share of the replicas of `scalable`. `limits` are what all its places together may
    request, None without limits.
    """

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: int = 0
    generation: int = 0
    deleting: bool = False
    strategy: str = ACTIVE
    template: str = ""
    scalable: ScalableRef | None = None
    replicas: int | None = None
    percentage: int | None = None
    limits: Resources | None = None

    @property
    def key(self) -> str:
        """The buffer as people write it: namespace/name."""
        return f"{self.namespace}/{self.name}"

    @property
    def owner(self) -> str:
        """The uid of the owner that its places are kept for."""
        return f"{_OWNER}{self.uid}"

    @property
    def ref(self) -> ObjectRef:
        """The reference that names it."""
        return ObjectRef(KIND, self.name, namespace=self.namespace, uid=self.uid)

    def places(self, requests: Resources, replicas: int | None = None) -> int:
        """Return how many places it asks for, each with `requests`, beside so many `replicas`.

        The larger of its own replicas and its percentage, which is rounded up; limits bound that. Where it
        has neither, so many as fit into its limits, and none without any that its pods request something of.
        """
        asked: list[int] = []
        if self.percentage is not None and replicas:
            asked.append(-(-replicas * self.percentage // 100))
        if self.replicas is not None:
            asked.append(self.replicas)
        fitting = [
            max(0, limit) // requests[name]
            for name, limit in (self.limits or {}).items()
            if requests.get(name, 0) > 0
        ]
        if not fitting:
            return max(asked, default=0)
        return min(max(asked), *fitting) if asked else min(fitting)


def of_buffer(owner: str) -> bool:
    """Return whether the uid of an owner is that of a buffer's places."""
    return owner.startswith(_OWNER)


def keeps_room_for_buffer(pod: Pod) -> bool:
    """Return whether a pod is no pod, but a place that a buffer keeps."""
    return pod.owner is not None and of_buffer(pod.owner.uid)


def placeholder_spec(spec: PodSpec) -> PodSpec:
    """Return what a place for a pod of this spec asks for: nothing of claims on storage, which is not there.

    Every pod is more important.
    """
    return replace(
        spec,
        volumes=tuple(volume for volume in spec.volumes if volume.driver),
        scheduling_gates=(),
        priority=LOWEST_PRIORITY,
        priority_class="",
    )
