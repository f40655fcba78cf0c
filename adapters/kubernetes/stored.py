"""An object as the API server stores it: only the fields that a change of it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from treenail.adapters.api.reading import Reading
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.api.written.parts import Tree
from treenail.adapters.kubernetes.items import items_of
from treenail.adapters.kubernetes.resources import Resource
from treenail.domain.model.errors import ConflictError, InvalidError

T = TypeVar("T", bound=ApiObject)


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    finalizers: tuple[str, ...] = ()
    annotations: dict[str, str] = {}
    deletion_timestamp: str = ""


class _Spec(msgspec.Struct):
    taints: list[Tree] = []


class _Status(msgspec.Struct, rename="camel"):
    conditions: list[Tree] = []
    capacity: dict[str, Any] = {}
    allocatable: dict[str, Any] = {}
    subnets: list[Tree] | None = None
    security_groups: list[Tree] | None = None
    amis: list[Tree] | None = None
    instance_profile: str | None = None
    node_class_observed_generation: int | None = None
    resources: dict[str, Any] = {}
    nodes: int | None = None
    pod_template_ref: Tree | None = None
    pod_template_generation: int | None = None
    replicas: int | None = None
    provisioning_strategy: str | None = None


class _Content(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _Kind(msgspec.Struct):
    kind: str = ""


_DECODER: Final = msgspec.json.Decoder(_Content)
_KIND: Final = msgspec.json.Decoder(_Kind)


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as an answer has it: its lists are kept as they are, with the fields that we do not know."""

    resource: Resource
    body: bytes
    metadata: _Metadata
    spec: _Spec
    status: _Status

    @classmethod
    def of(cls, resource: Resource, body: bytes) -> Stored:
        """Read an answer.

        Raises:
            InvalidError: the answer is no such object.
        """
        try:
            content = _DECODER.decode(body)
        except msgspec.DecodeError as error:
            raise InvalidError(f"{resource}: what is there cannot be understood: {error}") from None
        return cls(resource, body, content.metadata, content.spec, content.status)

    @classmethod
    def left(cls, resource: Resource, body: bytes) -> Stored | None:
        """Read the answer to a deletion: the object, where something holds it, None where it is gone."""
        return cls.of(resource, body) if _KIND.decode(body).kind == resource.kind else None

    @property
    def version(self) -> str:
        """The resourceVersion, as the precondition of a patch."""
        return self.metadata.resource_version

    @property
    def deleting(self) -> bool:
        """True if it goes as soon as its last finalizer does."""
        return bool(self.metadata.deletion_timestamp)

    @property
    def shown(self) -> Tree:
        """The status fields other than conditions, by name; None where a field is not there."""
        status = self.status
        return {
            "subnets": status.subnets,
            "securityGroups": status.security_groups,
            "amis": status.amis,
            "instanceProfile": status.instance_profile,
            "nodeClassObservedGeneration": status.node_class_observed_generation,
        }

    @property
    def usage(self) -> Tree:
        """The resources and number of nodes in the status of a pool."""
        return {"resources": self.status.resources, "nodes": self.status.nodes}

    @property
    def buffer(self) -> Tree:
        """The status fields of a capacity buffer other than conditions; None where a field is not there."""
        return {
            "podTemplateRef": self.status.pod_template_ref,
            "podTemplateGeneration": self.status.pod_template_generation,
            "replicas": self.status.replicas,
            "provisioningStrategy": self.status.provisioning_strategy,
        }

    def check(self, version: int | None) -> None:
        """Make sure that this is the object at `version`.

        Raises:
            ConflictError: it is not.
        """
        if version is not None and self.version != str(version):
            name = self.metadata.name
            raise ConflictError(f"{self.resource} {name} is at version {self.version}, not {version}")

    def value(self, of: type[T]) -> T:
        """Return the translation of the object, with the fields that can be read.

        Raises:
            InvalidError: it says something that is not understood, and a part of it would say nothing.
        """
        item = items_of(self.resource, Reading()).read(self.body)
        found = next((one for one in item.known if isinstance(one, of)), None)
        if found is None:
            problem = item.aside.problem if item.aside is not None else "it is something else"
            raise InvalidError(f"{self.resource} {item.name} cannot be understood: {problem}")
        return found
