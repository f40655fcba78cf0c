"""An object of the API server as a value of the domain, or the reason why it cannot be read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, cast

from treenail.adapters.api import model as models
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.headers import Header, read_header
from treenail.adapters.api.kinds import ApiKind, watched_kind_of
from treenail.adapters.api.partial import read_in_part
from treenail.adapters.api.reading import Reading
from treenail.domain.cluster.cluster_facts import WORKLOADS, ClusterObject, Kind, ObjectSetAside
from treenail.domain.model.events import ObjectRef

# What names an object of these kinds among others: else it is the name alone.
_BY_UID: Final = (Kind.POD, Kind.DAEMON_SET, *WORKLOADS, Kind.DEPLOYMENT)
_NAMESPACED: Final = (
    Kind.PERSISTENT_VOLUME_CLAIM,
    Kind.POD_DISRUPTION_BUDGET,
    Kind.RESOURCE_QUOTA,
    Kind.CAPACITY_BUFFER,
    Kind.POD_TEMPLATE,
    Kind.RESOURCE_CLAIM,
    Kind.RESOURCE_CLAIM_TEMPLATE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An object at one resource version: its translation, or why it cannot be read.

    There is neither where nothing is to be told of it: a workload that wants no pods.
    """

    uid: str
    name: str
    version: int
    objects: tuple[ClusterObject, ...] = ()
    aside: ObjectSetAside | None = None

    @property
    def idle(self) -> bool:
        """True if nothing is to be told of it."""
        return not self.objects and self.aside is None

    @property
    def known(self) -> tuple[ClusterObject, ...]:
        """The objects known of it, read in whole or in part."""
        if self.aside is None:
            return self.objects
        return () if self.aside.partly is None else (self.aside.partly,)


class Items:
    """Reads the objects of one kind of the API. Pods of one template share their spec, over all that is read.

    `kind` is the main kind of such an object. A Provisioner may also contain a node class.
    """

    def __init__(self, api_version: str, name: str, kind: Kind, reading: Reading) -> None:
        self._kind = kind
        self._reading = reading
        self._api: ApiKind[Any] = watched_kind_of(api_version, name, templates=reading.templates)

    def read(self, content: bytes) -> Item:
        """Return the object as an item, set aside where it cannot be understood.

        Raises:
            UnavailableError: it does not even have a readable name.
        """
        try:
            model = models.read(self._api.model, content)
            objects = self._api.translate(model, self._reading).objects
        except FieldError as problem:
            return self._in_part(content, str(problem))
        except RecursionError:
            return self._in_part(content, "is nested too deep")
        except Exception as error:  # noqa: BLE001 - one object that nobody thought of must not cost the others
            return self._in_part(content, f"cannot be read: {type(error).__name__}: {error}")
        meta = model.metadata
        return Item(
            uid=meta.uid,
            name=meta.name,
            version=meta.version,
            objects=cast("tuple[ClusterObject, ...]", tuple(objects)),
        )

    def _in_part(self, content: bytes, problem: str) -> Item:
        header = read_header(content, self._api.name)
        part = read_in_part(self._kind, self._api, content, self._reading, problem)
        item = Item(uid=header.uid, name=header.name, version=header.version)
        if part.object is not None and not part.problem:
            return replace(item, objects=(part.object,))
        about = ObjectRef(kind=self._api.name, name=header.name, namespace=header.namespace, uid=header.uid)
        fact = ObjectSetAside(
            kind=self._kind,
            key=self._key(header),
            resource_version=header.version,
            about=about,
            problem=part.problem,
            partly=part.object,
        )
        return replace(item, aside=fact)

    def _key(self, header: Header) -> str:
        """Return what `key_of` would give for the object."""
        match self._kind:
            case kind if kind in _BY_UID:
                return header.uid
            case Kind.NODE_CLASS:
                return f"{self._api.name}/{header.name}"
            case Kind.DEVICE_TAINT_RULE:
                return f"{self._api.api_version}/{header.name}"
            case kind if kind in _NAMESPACED:
                return f"{header.namespace}/{header.name}"
            case _:
                return header.name
