"""Metadata, owners and conditions, which objects of every kind have."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypedDict

from msgspec import field

from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.interning import interned, interned_items
from treenail.adapters.api.model import Model, StrictModel, Time
from treenail.adapters.api.names import check_annotations, check_labels, is_dns_label, is_subdomain
from treenail.domain.model.instants import in_utc
from treenail.domain.model.nodes import Condition, Status
from treenail.domain.model.pods import Owner

_STATUSES: Final = frozenset(Status)


class OwnerReference(Model, kw_only=True):
    """A reference to an owner of the object."""

    api_version: str = ""
    kind: str
    name: str
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False

    def value(self) -> Owner:
        return Owner(
            kind=interned(self.kind),
            name=interned(self.name),
            uid=interned(self.uid),
            api_version=interned(self.api_version),
            controller=self.controller,
            block_deletion=self.block_owner_deletion,
        )


class TemplateMetadata(Model):
    """The labels and annotations that a template gives the objects made from it."""

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Pods of one template differ in few of them, and nodes of one pool.
        self.labels = interned_items(self.labels)
        self.annotations = interned_items(self.annotations)

    def check(self, at: str) -> None:
        """Raise FieldError unless labels and annotations are well-formed."""
        check_labels(self.labels, f"{at}.labels")
        check_annotations(self.annotations, f"{at}.annotations")


class Identity(TypedDict):
    """The identity of an object and its version, as arguments for a value of the domain."""

    name: str
    uid: str
    resource_version: int


class Labelled(Identity):
    """The same, and what is noted on it."""

    labels: dict[str, str]
    annotations: dict[str, str]


class ObjectMeta(TemplateMetadata):
    """The metadata of an object that the API server may or may not have seen yet."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    def validate(self, well_formed: Callable[[str], bool] = is_subdomain, *, at: str = "metadata") -> None:
        """Raise FieldError unless the object is named and labelled as the API server demands."""
        if not self.name:
            raise FieldError(f"{at}.name", "is missing")
        if not well_formed(self.name):
            problem = "is not a DNS name (lower-case letters, digits, '-' and '.')"
            raise FieldError(f"{at}.name", f"{quoted(self.name)} {problem}")
        if self.namespace and not is_dns_label(self.namespace):
            raise FieldError(f"{at}.namespace", f"{quoted(self.namespace)} is not a DNS label")
        if self.resource_version and not self.resource_version.isdecimal():
            raise FieldError(f"{at}.resourceVersion", f"{quoted(self.resource_version)} is not a number")
        self.check(at)

    @property
    def version(self) -> int:
        """The resource version as a number; 0 where there is none."""
        return int(self.resource_version or 0)

    @property
    def identity(self) -> Identity:
        """The fields by which domain objects tell which they are and of which version."""
        return {"name": self.name, "uid": self.uid, "resource_version": self.version}

    @property
    def labelled(self) -> Labelled:
        """The identity, and labels and annotations beside it."""
        return {**self.identity, "labels": self.labels, "annotations": self.annotations}

    @property
    def deleting_since(self) -> datetime | None:
        """When its deletion was asked for, in UTC; None while it is not."""
        return in_utc(self.deletion_timestamp) if self.deletion_timestamp else None

    @property
    def owners(self) -> tuple[Owner, ...]:
        """The objects that own it."""
        return tuple(o.value() for o in self.owner_references) if self.owner_references else ()

    def created(self, otherwise: datetime) -> datetime:
        """Return when the object was created, `otherwise` where it does not say."""
        return in_utc(self.creation_timestamp) if self.creation_timestamp else otherwise


class StrictObjectMeta(ObjectMeta, forbid_unknown_fields=True):
    """The metadata of an object of ours, with fields of the API server that are not read."""

    generate_name: str = ""
    self_link: str = ""
    deletion_grace_period_seconds: int = 0
    managed_fields: tuple[Any, ...] = ()


class StrictTemplateMetadata(TemplateMetadata, forbid_unknown_fields=True):
    """The labels and annotations that a pool gives its nodes."""


class ConditionModel(Model):
    """A status condition, with the fields that all kinds have."""

    type: str
    status: Status
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None

    def value(self) -> Condition:
        since = self.last_transition_time
        return Condition(
            type=interned(self.type),
            status=self.status,
            reason=interned(self.reason),
            message=interned(self.message),
            since=in_utc(since) if since else None,
        )


class CoreConditionModel(Model):
    """A condition of a core object. Agents write them, and the API server takes any status for one."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None

    def value(self) -> Condition | None:
        """Return the condition; None where its status is none that we know: that says nothing."""
        if self.status not in _STATUSES:
            return None
        since = self.last_transition_time
        return Condition(
            type=interned(self.type),
            status=Status(self.status),
            reason=interned(self.reason),
            message=interned(self.message),
            since=in_utc(since) if since else None,
        )


class StrictObject(StrictModel):
    """The base of the models of our kinds.

    `metadata` is checked apart, to name what is missing.
    """

    api_version: str = ""
    kind: str = ""
    metadata: StrictObjectMeta = field(default_factory=StrictObjectMeta)


class CoreObject(Model):
    """The base of the models of Kubernetes' own kinds."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
