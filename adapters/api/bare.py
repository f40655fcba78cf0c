"""Bare objects: metadata and status of an object that cannot be read as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypedDict

from treenail.adapters.api.amounts import asked
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.reading import LONG_AGO
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind
from treenail.domain.model.instants import read_instant
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import Condition, Node, NodeClaim, Status
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import LabelSelector, Owner, Phase, Pod, PodSpec
from treenail.domain.model.resources import PODS, Resources, total

_NO_CLASS: Final = NodeClassRef("", "", "")


class _Metadata(TypedDict):
    name: str
    uid: str
    resource_version: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owners: tuple[Owner, ...]
    created_at: datetime
    deleting_since: datetime | None


def bare(kind: Kind, api_version: str, tree: Any) -> ClusterObject | None:  # noqa: ANN401 (any JSON value)
    """Return an object with metadata, owner and phase only; None for other kinds.

    Fields that are not of the form they should have are as if they were not there.
    """
    match kind:
        case Kind.POD:
            return _pod(_Fields(tree))
        case Kind.NODE:
            return _node(_Fields(tree))
        case Kind.NODE_CLAIM:
            return _claim(_Fields(tree), Generation.V1ALPHA5 if "alpha" in api_version else Generation.V1)
        case Kind.POD_DISRUPTION_BUDGET:
            return _budget(_Fields(tree))
        case _:
            return None


class _Fields:
    """A tree of JSON. Each field is read in the form it should have."""

    def __init__(self, tree: Any) -> None:  # noqa: ANN401 (any JSON value)
        self._tree: Mapping[str, Any] = tree if isinstance(tree, dict) else {}

    def of(self, name: str) -> _Fields:
        return _Fields(self._tree.get(name))

    def each(self, name: str) -> Iterator[_Fields]:
        found = self._tree.get(name)
        return (_Fields(one) for one in (found if isinstance(found, list) else ()))

    def text(self, name: str) -> str:
        found = self._tree.get(name)
        return found if isinstance(found, str) else ""

    def texts(self, name: str) -> tuple[str, ...]:
        found = self._tree.get(name)
        return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()

    def pairs(self, name: str) -> dict[str, str]:
        found = self._tree.get(name)
        several = found.items() if isinstance(found, dict) else ()
        return {key: value for key, value in several if isinstance(value, str)}

    def true(self, name: str) -> bool:
        return self._tree.get(name) is True

    def time(self, name: str) -> datetime | None:
        return read_instant(self.text(name))

    def amounts(self, name: str) -> Resources:
        found = self._tree.get(name)
        several = found.items() if isinstance(found, dict) else ()
        return Resources(one for name, text in several for one in _amount(name, text))


def _amount(name: str, text: object) -> Sequence[tuple[str, int]]:
    try:
        return tuple(asked({name: str(text)}, "").items())
    except FieldError:
        return ()


def _metadata(tree: _Fields) -> _Metadata:
    meta = tree.of("metadata")
    version = meta.text("resourceVersion")
    return {
        "name": meta.text("name"),
        "uid": meta.text("uid"),
        "resource_version": int(version) if version.isdecimal() else 0,
        "labels": meta.pairs("labels"),
        "annotations": meta.pairs("annotations"),
        "owners": tuple(_owner(one) for one in meta.each("ownerReferences")),
        "created_at": meta.time("creationTimestamp") or LONG_AGO,
        "deleting_since": meta.time("deletionTimestamp"),
    }


def _owner(tree: _Fields) -> Owner:
    return Owner(
        kind=tree.text("kind"),
        name=tree.text("name"),
        uid=tree.text("uid"),
        api_version=tree.text("apiVersion"),
        controller=tree.true("controller"),
    )


def _conditions(tree: _Fields) -> tuple[Condition, ...]:
    known = {status.value: status for status in Status}
    return tuple(
        Condition(
            type=one.text("type"),
            status=known[one.text("status")],
            reason=one.text("reason"),
            message=one.text("message"),
            since=one.time("lastTransitionTime"),
        )
        for one in tree.of("status").each("conditions")
        if one.text("type") and one.text("status") in known
    )


def _pod(tree: _Fields) -> Pod:
    spec, status = tree.of("spec"), tree.of("status")
    requests = total(one.of("resources").amounts("requests") for one in spec.each("containers"))
    phase = status.text("phase") or Phase.PENDING.value
    return Pod(
        **_metadata(tree),
        namespace=tree.of("metadata").text("namespace") or "default",
        spec=PodSpec(requests=requests.plus({PODS: 1}), priority_class=spec.text("priorityClassName")),
        phase=Phase(phase) if phase in frozenset(Phase) else Phase.RUNNING,
        node_name=spec.text("nodeName"),
        started_at=status.time("startTime"),
    )


def _node(tree: _Fields) -> Node:
    return Node(
        **_metadata(tree),
        finalizers=tree.of("metadata").texts("finalizers"),
        unschedulable=tree.of("spec").true("unschedulable"),
        provider_id=tree.of("spec").text("providerID"),
        capacity=tree.of("status").amounts("capacity"),
        allocatable=tree.of("status").amounts("allocatable"),
        conditions=_conditions(tree),
    )


def _claim(tree: _Fields, generation: Generation) -> NodeClaim:
    meta, status = _metadata(tree), tree.of("status")
    return NodeClaim(
        **meta,
        generation=generation,
        pool=meta["labels"].get(generation.pool_label, ""),
        node_class=_NO_CLASS,
        finalizers=tree.of("metadata").texts("finalizers"),
        provider_id=status.text("providerID"),
        node_name=status.text("nodeName"),
        capacity=status.amounts("capacity"),
        allocatable=status.amounts("allocatable"),
        conditions=_conditions(tree),
    )


def _budget(tree: _Fields) -> PodDisruptionBudget:
    meta = _metadata(tree)
    return PodDisruptionBudget(
        name=meta["name"],
        uid=meta["uid"],
        resource_version=meta["resource_version"],
        namespace=tree.of("metadata").text("namespace") or "default",
        selector=LabelSelector(),
    )
