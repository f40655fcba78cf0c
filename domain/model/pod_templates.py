"""Templates of pods: those of workloads, and PodTemplates, which are objects of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from treenail.domain.model.pods import PodSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTemplate:
    """The template that every pod of a workload is made from."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    spec: PodSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPodTemplate:
    """A PodTemplate: a template that is an object by itself. `generation` is that of the template."""

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: int = 0
    generation: int = 0
    template: PodTemplate

    @property
    def key(self) -> str:
        """The template as people write it: namespace/name."""
        return f"{self.namespace}/{self.name}"
