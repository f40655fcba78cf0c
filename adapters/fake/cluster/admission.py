"""Admission: objects that the API server refuses to store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from treenail.adapters.api.workloads import (
    MOST_REPLICAS,
    ApiObject,
    Deployment,
    ReplicaSet,
    StatefulSet,
)
from treenail.adapters.fake.cluster.objects import address_of, spoken
from treenail.adapters.fake.cluster.priorities import Priorities
from treenail.adapters.fake.cluster.quotas import Quotas, admitted
from treenail.adapters.fake.cluster.store import Store
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.namespaces import NAME_LABEL, Namespace
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Phase, Pod, PodSpec
from treenail.domain.model.taints import Taint

_LONGEST_NAME: Final = 253
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_QUALIFIED = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)


T = TypeVar("T", bound=ApiObject)


class Admission:
    """Checks objects before they are stored, and fills in the cluster's defaults."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._priorities = Priorities(store)
        self._quotas = Quotas(store)

    def admit(self, thing: T, known: ApiObject | None) -> T:
        """Return `thing` as it is stored in place of `known`.

        Raises:
            InvalidError: it could not be; the message names the object and the field.
        """
        problem = _problem(thing)
        if not problem and isinstance(thing, Node):
            problem = _impossible_node(thing, known)
        if not problem and isinstance(thing, Pod) and known is None:
            problem = self._impossible_pod(thing)
        if not problem and known is None:
            problem = self._quotas.refusal(thing)
        if problem:
            raise InvalidError(f"{spoken(address_of(thing))}: {problem}")
        match thing:
            case Pod():
                return replace(thing, spec=self._completed(thing, new=known is None))
            case Namespace():
                return replace(thing, labels={**thing.labels, NAME_LABEL: thing.name})
            case _:
                return thing

    def _completed(self, pod: Pod, *, new: bool) -> PodSpec:
        """Return a pod's spec with its priority and with the defaults of its namespace's LimitRanges."""
        with_priority = replace(pod, spec=self._priorities.completed(pod))
        spec, problem = self._quotas.completed(with_priority)
        if problem and new:
            raise InvalidError(f"{spoken(address_of(pod))}: {problem}")
        return spec.of_pod(pod.labels)

    def restored(self, thing: T) -> T:
        """Return `thing`, which was admitted before: the class of a pod need not be there.

        What it means the pod says itself.

        Raises:
            InvalidError: it could not have been.
        """
        match thing:
            case Pod():
                spec = self._priorities.with_room(admitted(thing.spec))
                return replace(thing, spec=spec.of_pod(thing.labels))
            case _:
                return self.admit(thing, None)

    def _impossible_pod(self, pod: Pod) -> str:
        if not pod.node_name:
            return "" if pod.phase is not Phase.RUNNING else "status.phase: it runs, but on no node"
        node = self._store.find(("Node", pod.node_name))
        if not isinstance(node, Node) or node.deleting_since is not None:
            return f"spec.nodeName: node {pod.node_name} is not there, or is being deleted"
        return ""


def _impossible_node(node: Node, known: ApiObject | None) -> str:
    if isinstance(known, Node) and known.provider_id not in ("", node.provider_id):
        return f"providerID: it is {known.provider_id} for ever"
    return ""


def _problem(thing: ApiObject) -> str:
    name = thing.ref.name if isinstance(thing, NodeClass) else thing.name
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        return f"name: {name!r} is no DNS name in lower case"
    match thing:
        case Pod():
            return _bad_labels(thing.labels) or _negative("requests", thing.spec.requests)
        case Node():
            return _bad_node(thing)
        case NodeClaim():
            return _bad_claim(thing)
        case Deployment() | ReplicaSet() | StatefulSet():
            return _bad_workload(thing)
        case _:
            return ""


def _bad_node(node: Node) -> str:
    return (
        _bad_labels(node.labels)
        or _bad_taints(node.taints)
        or _negative("capacity", node.capacity)
        or _negative("allocatable", node.allocatable)
    )


def _bad_claim(claim: NodeClaim) -> str:
    return (
        _bad_labels(claim.labels)
        or _bad_taints(claim.taints)
        or _bad_taints(claim.startup_taints)
        or _negative("requests", claim.requests)
        or _negative("capacity", claim.capacity)
        or _negative("allocatable", claim.allocatable)
    )


def _bad_workload(workload: Deployment | ReplicaSet | StatefulSet) -> str:
    if not 0 <= workload.replicas <= MOST_REPLICAS:
        return f"replicas: {workload.replicas} is not between 0 and {MOST_REPLICAS}"
    if not workload.selector.selects(workload.template.labels):
        return "selector: it does not select the pods of the template"
    return _bad_labels(workload.template.labels) or _negative("requests", workload.template.spec.requests)


def _negative(field: str, amounts: Mapping[str, int]) -> str:
    for resource in sorted(amounts):
        if amounts[resource] < 0:
            return f"{field}.{resource}: {amounts[resource]} is negative"
    return ""


def _bad_labels(labels: Mapping[str, str]) -> str:
    for key in sorted(labels):
        if not _QUALIFIED.fullmatch(key):
            return f"labels: {key!r} is no label key"
        if not _LABEL_VALUE.fullmatch(labels[key]):
            return f"labels.{key}: {labels[key]!r} is no label value"
    return ""


def _bad_taints(taints: Iterable[Taint]) -> str:
    for taint in taints:
        if not _QUALIFIED.fullmatch(taint.key):
            return f"taints: {taint.key!r} is no taint key"
        if not _LABEL_VALUE.fullmatch(taint.value):
            return f"taints.{taint.key}: {taint.value!r} is no taint value"
    return ""
