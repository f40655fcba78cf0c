"""Kubernetes events, as they are published beside the objects they are about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class ObjectRef:
    """The object that something is about."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, order=True)
class ClusterEvent:
    """An event to be published. Equal ones within some minutes are counted, not repeated."""

    about: ObjectRef
    reason: str
    message: str
    warning: bool = False
