"""Workloads: the objects that make pods, and how many of them each wants to run now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treenail.domain.model.labels import PROVISION_FOR
from treenail.domain.model.pod_templates import PodTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A ReplicaSet, Job, StatefulSet or Deployment: what makes pods, and how many it wants to run now.

    `wanted` is the number of pods that should be active: the replicas, or of a Job
    min(parallelism, completions - succeeded), and `failed` how many of its pods failed: the next ones are
    made after a pause. `held` is why no more of them are made though there are
    fewer, "" where they are: "suspended", "deleted", "its pods cannot be made: MESSAGE" and the like.
    `revision` is the value of the label controller-revision-hash that the next pods of a StatefulSet bear,
    "" where any pod of it is like the next ones. `in_turn` says that each pod is made when the one before it
    is ready. `part_of` is the object that made this one, as "Deployment/web", "" where none did.
    `for_pods_only` says that people want no node for pods that are not there yet (the annotation
    `treenail.sh/provision-for: pods`). `template` is None unless capacity buffers are followed.
    """

    uid: str
    kind: str
    name: str
    namespace: str = "default"
    resource_version: int = 0
    wanted: int = 0
    failed: int = 0
    held: str = ""
    revision: str = ""
    in_turn: bool = False
    part_of: str = ""
    for_pods_only: bool = False
    template: PodTemplate | None = None

    @property
    def told_as(self) -> str:
        """The name that people know it by: the object that made it, or its own kind and name."""
        return self.part_of or f"{self.kind}/{self.name}"


def asks_for_pods_only(annotations: Mapping[str, str]) -> bool:
    """Return whether the annotations of a workload ask for no nodes for pods that are not there yet.

    A value that is not known is taken for "pods": for those nothing is bought too soon.
    """
    return annotations.get(PROVISION_FOR, "wishes") != "wishes"
