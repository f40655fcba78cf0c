"""The decoder for the objects of each resource."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from treenail.adapters.api.items import Item, Items
from treenail.adapters.api.reading import Reading
from treenail.adapters.kubernetes import resources as known
from treenail.adapters.kubernetes.resources import Resource
from treenail.domain.cluster.cluster_facts import Kind, ObjectSetAside
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_pools import NodePool

# The main kind of an object. A Provisioner may also contain a node class.
KINDS: Final[Mapping[Resource, Kind]] = {
    known.POD: Kind.POD,
    known.NODE: Kind.NODE,
    known.DAEMON_SET: Kind.DAEMON_SET,
    known.REPLICA_SET: Kind.REPLICA_SET,
    known.STATEFUL_SET: Kind.STATEFUL_SET,
    known.JOB: Kind.JOB,
    known.NAMESPACE: Kind.NAMESPACE,
    known.RESOURCE_QUOTA: Kind.RESOURCE_QUOTA,
    known.STORAGE_CLASS: Kind.STORAGE_CLASS,
    known.PERSISTENT_VOLUME: Kind.PERSISTENT_VOLUME,
    known.PERSISTENT_VOLUME_CLAIM: Kind.PERSISTENT_VOLUME_CLAIM,
    known.CSI_NODE: Kind.CSI_NODE,
    known.POD_DISRUPTION_BUDGET: Kind.POD_DISRUPTION_BUDGET,
    known.CAPACITY_BUFFER: Kind.CAPACITY_BUFFER,
    known.POD_TEMPLATE: Kind.POD_TEMPLATE,
    known.DEPLOYMENT: Kind.DEPLOYMENT,
    known.RESOURCE_CLAIM: Kind.RESOURCE_CLAIM,
    known.DEVICE_CLASS: Kind.DEVICE_CLASS,
    known.RESOURCE_CLAIM_TEMPLATE: Kind.RESOURCE_CLAIM_TEMPLATE,
    known.RESOURCE_SLICE: Kind.RESOURCE_SLICE,
    **dict.fromkeys(known.DEVICE_TAINT_RULES, Kind.DEVICE_TAINT_RULE),
    known.NODE_POOL: Kind.NODE_POOL,
    known.PROVISIONER: Kind.NODE_POOL,
    known.NODE_CLAIM: Kind.NODE_CLAIM,
    known.MACHINE: Kind.NODE_CLAIM,
    known.EC2_NODE_CLASS: Kind.NODE_CLASS,
    known.AWS_NODE_TEMPLATE: Kind.NODE_CLASS,
    known.KWOK_NODE_CLASS: Kind.NODE_CLASS,
    known.NODE_OVERLAY: Kind.NODE_OVERLAY,
}


def items_of(resource: Resource, reading: Reading) -> Items:
    """Return what reads the objects of a resource."""
    return Items(resource.api_version, resource.kind, KINDS[resource], reading)


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
