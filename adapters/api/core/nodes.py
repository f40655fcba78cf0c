"""Nodes and namespaces."""

from __future__ import annotations

from msgspec import field

from treenail.adapters.api.amounts import there_is
from treenail.adapters.api.metadata import CoreConditionModel, CoreObject
from treenail.adapters.api.model import Model, Quantities
from treenail.adapters.api.names import is_dns_label
from treenail.adapters.api.reading import Reading, Translation
from treenail.adapters.api.selectors import TaintModel, check_taints_differ, taints
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.nodes import Node


class NodeTaintModel(TaintModel, kw_only=True):
    """A taint that a node has, and since when, where that counts."""

    time_added: str | None = None


class NodeSpecModel(Model):
    """The spec of a node: taints, whether it is cordoned, and its provider id."""

    taints: tuple[NodeTaintModel, ...] = ()
    unschedulable: bool = False
    provider_id: str = field(default="", name="providerID")


class NodeStatusModel(Model):
    """The status of a node. Without `allocatable`, pods can use all of its capacity."""

    capacity: Quantities = field(default_factory=dict)
    allocatable: Quantities | None = None
    conditions: tuple[CoreConditionModel, ...] = ()


class NodeModel(CoreObject):
    """v1 Node."""

    spec: NodeSpecModel = field(default_factory=NodeSpecModel)
    status: NodeStatusModel = field(default_factory=NodeStatusModel)


def node(model: NodeModel, reading: Reading) -> Translation:
    """Return the node; FieldError says what is wrong with it."""
    meta, spec, status = model.metadata, model.spec, model.status
    meta.validate()
    own_taints = taints(spec.taints, "spec.taints")
    check_taints_differ(("spec.taints", own_taints))
    capacity = there_is(status.capacity, "status.capacity")
    allocatable = capacity
    if status.allocatable is not None:
        allocatable = there_is(status.allocatable, "status.allocatable")
    found = Node(
        **meta.labelled,
        owners=meta.owners,
        finalizers=meta.finalizers,
        taints=own_taints,
        taint_times={t: m.time_added for t, m in zip(own_taints, spec.taints, strict=True) if m.time_added},
        unschedulable=spec.unschedulable,
        provider_id=spec.provider_id,
        capacity=capacity,
        allocatable=allocatable,
        conditions=tuple(said for c in status.conditions if (said := c.value()) is not None),
        created_at=meta.created(reading.at),
        deleting_since=meta.deleting_since,
    )
    return Translation(objects=(found,))


class NamespaceModel(CoreObject):
    """v1 Namespace."""


def namespace(model: NamespaceModel, _reading: Reading) -> Translation:
    """Return the namespace; FieldError says what is wrong with it."""
    meta = model.metadata
    meta.validate(is_dns_label)
    found = Namespace(
        **meta.labelled,
        deleting_since=meta.deleting_since,
    )
    return Translation(objects=(found,))
