"""Existing nodes, as packing sees them: free room, pods on them, and daemons still to come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from treenail.domain.cluster.attachments import attachable, attached
from treenail.domain.cluster.storage_book import StorageBook
from treenail.domain.model import labels
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.resources import NOTHING, Resources, total
from treenail.domain.model.taints import Effect, untolerated
from treenail.domain.packing.problem import ExistingNode
from treenail.domain.packing.residents import Residents


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """The pods that hold room on a node, those promised a place there, and what the latter reserve."""

    pods: tuple[Pod, ...] = ()
    promised: tuple[Pod, ...] = ()
    reserved: Resources = NOTHING


class ExistingNodeReader:
    """A reader of existing nodes as packing sees them. Alike nodes share equal parts."""

    def __init__(self, storage: StorageBook) -> None:
        self._storage = storage
        self._residents = Residents()

    def open_existing_node(
        self, view: NodeView, occupancy: Occupancy, daemons: Iterable[PodSpec]
    ) -> ExistingNode:
        """Return what is free on the node of a view that takes pods."""
        pods = occupancy.pods
        bound = total(p.spec.requests for p in pods)
        expected = total(expected_daemons(view, daemons))
        to_come = expected.minus(total(p.spec.requests for p in pods if p.daemon)).at_least_zero()
        limits = self._storage.limits(view.node_name)
        there = attached(self._storage, (*pods, *occupancy.promised)) if limits else frozenset()
        return ExistingNode(
            name=view.name,
            labels=labels_of(view),
            taints=view.taints,
            free=view.allocatable.minus(bound).minus(to_come).minus(occupancy.reserved),
            initialized=view.initialized,
            pool=view.pool,
            residents=self._residents.count((*pods, *occupancy.promised)),
            attachable=attachable(limits, there),
            attached=there,
        )

    def closed_existing_node(self, view: NodeView, occupancy: Occupancy) -> ExistingNode | None:
        """Return who is on the node of a view that takes no pods; None where there is neither node nor pod.

        A claim that is not launched has the labels that its requirements leave no choice of.
        """
        residents = self._residents.count((*occupancy.pods, *occupancy.promised))
        if view.node is None and not residents:
            return None
        return ExistingNode(
            name=view.name,
            labels=labels_of(view) if view.launched else _foreseen(view),
            taints=view.taints,
            free=NOTHING,
            initialized=view.initialized,
            pool=view.pool,
            residents=residents,
            open=False,
        )

    def cordoned_existing_node(
        self, view: NodeView, occupancy: Occupancy, daemons: Iterable[PodSpec]
    ) -> ExistingNode:
        """Return what would be free on the node of a view if it were not cordoned."""
        return replace(self.open_existing_node(view, occupancy, daemons), open=False, cordoned=True)

    def tidy(self, existing_nodes: Iterable[ExistingNode | None]) -> None:
        """Forget what none of `existing_nodes` has, once that is worth it."""
        self._residents.sweep(existing_nodes)


def labels_of(view: NodeView) -> Mapping[str, str]:
    """Return the labels of a node, and under a key of its own the name that affinity may ask for."""
    return {**view.labels, labels.NODE_NAME: view.node_name} if view.node_name else view.labels


def _foreseen(view: NodeView) -> Mapping[str, str]:
    decided = view.claim.requirements.labels() if view.claim is not None else {}
    return {**decided, **view.labels}


def expected_daemons(view: NodeView, daemons: Iterable[PodSpec]) -> tuple[Resources, ...]:
    """Return the requests of the daemons that will run on a node: labels suit them, taints they bear."""
    taints = tuple(t for t in view.taints if t.effect is not Effect.PREFER_NO_SCHEDULE)
    described: Requirements | None = None
    expected: list[Resources] = []
    for spec in daemons:
        if untolerated(taints, spec.tolerations) is not None:
            continue
        if spec.node_selector or spec.node_affinity.required:
            described = described or Requirements.from_labels(labels_of(view))
            if not any(described.compatible(wanted) for wanted in spec.alternatives()):
                continue
        expected.append(spec.requests)
    return tuple(expected)
