"""One object of the API server as the domain sees it, or why it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from treenail.adapters.api import model as models
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.kinds import Kind as ApiKind
from treenail.adapters.api.kinds import kind_of
from treenail.adapters.api.reading import Reading
from treenail.adapters.kubernetes import resources as known
from treenail.adapters.kubernetes.documents import Header, read_header
from treenail.adapters.kubernetes.resources import Resource
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind, ObjectSetAside
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_pools import NodePool

# What an object is first of all. A Provisioner may stand for a node class besides.
KINDS: Final[Mapping[Resource, Kind]] = {
    known.POD: Kind.POD,
    known.NODE: Kind.NODE,
    known.DAEMON_SET: Kind.DAEMON_SET,
    known.NAMESPACE: Kind.NAMESPACE,
    known.STORAGE_CLASS: Kind.STORAGE_CLASS,
    known.PERSISTENT_VOLUME: Kind.PERSISTENT_VOLUME,
    known.PERSISTENT_VOLUME_CLAIM: Kind.PERSISTENT_VOLUME_CLAIM,
    known.CSI_NODE: Kind.CSI_NODE,
    known.POD_DISRUPTION_BUDGET: Kind.POD_DISRUPTION_BUDGET,
    known.NODE_POOL: Kind.NODE_POOL,
    known.PROVISIONER: Kind.NODE_POOL,
    known.NODE_CLAIM: Kind.NODE_CLAIM,
    known.MACHINE: Kind.NODE_CLAIM,
    known.EC2_NODE_CLASS: Kind.NODE_CLASS,
    known.AWS_NODE_TEMPLATE: Kind.NODE_CLASS,
    known.KWOK_NODE_CLASS: Kind.NODE_CLASS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An object at one resource version: what it stands for, or why that is not to be understood."""

    uid: str
    name: str
    version: int
    objects: tuple[ClusterObject, ...] = ()
    aside: ObjectSetAside | None = None


class Items:
    """Reads the objects of one resource. Pods of one template share their spec, over all that is read."""

    def __init__(self, resource: Resource, reading: Reading) -> None:
        self._resource = resource
        self._reading = reading
        self._api: ApiKind[Any] = kind_of(resource.api_version, resource.kind)

    def read(self, content: bytes) -> Item:
        """Return what the object is, set aside where it is not to be understood.

        Raises:
            UnavailableError: it does not even say what it is called.
        """
        try:
            model = models.read(self._api.model, content)
            objects = self._api.translate(model, self._reading).objects
        except FieldError as problem:
            return self._aside(content, str(problem))
        except RecursionError:
            return self._aside(content, "is nested too deep")
        except Exception as error:  # noqa: BLE001 - one object that nobody thought of must not cost the others
            return self._aside(content, f"cannot be read: {type(error).__name__}: {error}")
        meta = model.metadata
        return Item(
            uid=meta.uid,
            name=meta.name,
            version=meta.version,
            objects=cast("tuple[ClusterObject, ...]", tuple(objects)),
        )

    def _aside(self, content: bytes, problem: str) -> Item:
        header = read_header(content, str(self._resource))
        fact = ObjectSetAside(
            kind=KINDS[self._resource],
            key=self._key(header),
            resource_version=header.version,
            about=ObjectRef(
                kind=self._resource.kind, name=header.name, namespace=header.namespace, uid=header.uid
            ),
            problem=problem,
        )
        return Item(uid=header.uid, name=header.name, version=header.version, aside=fact)

    def _key(self, header: Header) -> str:
        """Return what `key_of` would give for the object."""
        match KINDS[self._resource]:
            case Kind.POD | Kind.DAEMON_SET:
                return header.uid
            case Kind.NODE_CLASS:
                return f"{self._resource.kind}/{header.name}"
            case Kind.PERSISTENT_VOLUME_CLAIM | Kind.POD_DISRUPTION_BUDGET:
                return f"{header.namespace}/{header.name}"
            case _:
                return header.name


def hidden(item: Item) -> Item:
    """Return a Provisioner as one whose name a NodePool has: all that is left of it is a node class within.

    Its key is no pool's, so that nothing that is told of the NodePool is about it.
    """
    fact = ObjectSetAside(
        kind=Kind.NODE_POOL,
        key=f"{known.PROVISIONER.kind}/{item.name}",
        resource_version=item.version,
        about=ObjectRef(kind=known.PROVISIONER.kind, name=item.name, uid=item.uid),
        problem=f"metadata.name: there is a NodePool {item.name} too, and that is the one in use",
    )
    kept = tuple(thing for thing in item.objects if not isinstance(thing, NodePool))
    return replace(item, objects=kept, aside=fact)
