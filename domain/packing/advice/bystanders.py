"""Bystanders: nodes that advice does not try pods on, merged where topology terms cannot tell them apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from treenail.domain.model import labels
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.taints import Taint
from treenail.domain.packing.identity import distinct, numbering
from treenail.domain.packing.problem import ExistingNode, Resident

_Sort: TypeAlias = tuple[tuple[str | None, ...], tuple[Taint, ...]]
# Residents by their number, and how many there are.
_Counts: TypeAlias = dict[int, tuple[Resident, int]]


class Bystanders:
    """Merges existing nodes that neither the pods to be placed nor the residents can tell apart.

    A merged node says how many pods there are, not on how many nodes. Terms per node would notice; but a new
    node is a domain of its own to them, so it makes no difference.
    """

    def __init__(self, existing_nodes: Sequence[ExistingNode]) -> None:
        self._existing_nodes = existing_nodes
        residents = distinct(one for node in existing_nodes for one, _ in node.residents)
        self._keys = {term.topology_key for one in residents for term in one.anti_affinity}
        self._numbers = numbering()
        self._known: dict[tuple[str, ...], dict[_Sort, list[int]]] = {}
        self._there: dict[tuple[tuple[str, ...], _Sort], _Counts] = {}

    def without(self, kept: Iterable[ExistingNode], spec: PodSpec) -> tuple[ExistingNode, ...]:
        """Return closed nodes that stand for all but those `kept`, one for each sort that `spec` tells apart.

        Return none where no term of these pods or of residents looks at other pods.
        """
        # The usual case: then a try need not carry thousands of nodes along.
        if not self._keys and not spec.spread and not spec.pod_affinity:
            return ()
        # Hostname is left out: by it each node would be a sort of its own, and nothing would be merged.
        names = {existing_node.name for existing_node in kept}
        keys = tuple(sorted((self._keys | _looked_at(spec)) - {labels.HOSTNAME}))
        if keys not in self._known:
            self._known[keys] = self._sorts(keys)
        found = []
        # Closed, so that no pod is placed there; its residents still count in their domains.
        for sort, members in self._known[keys].items():
            first = next((at for at in members if self._existing_nodes[at].name not in names), None)
            if first is not None:
                left_out = [
                    self._existing_nodes[at] for at in members if self._existing_nodes[at].name in names
                ]
                there = self._less(keys, sort, left_out)
                found.append(replace(self._existing_nodes[first], open=False, residents=there))
        return tuple(found)

    def _sorts(self, keys: tuple[str, ...]) -> dict[_Sort, list[int]]:
        sorts: dict[_Sort, list[int]] = {}
        for at, existing_node in enumerate(self._existing_nodes):
            # Taints are among what tells nodes apart, for a spread may count only nodes that its pods
            # tolerate.
            sort = tuple(existing_node.labels.get(key) for key in keys), existing_node.taints
            sorts.setdefault(sort, []).append(at)
            self._count(self._there.setdefault((keys, sort), {}), existing_node, 1)
        return sorts

    def _less(
        self, keys: tuple[str, ...], sort: _Sort, left_out: Iterable[ExistingNode]
    ) -> tuple[tuple[Resident, int], ...]:
        """Return the residents of all nodes of a sort but those `left_out`, and how many of each."""
        counts = dict(self._there[keys, sort])
        for existing_node in left_out:
            self._count(counts, existing_node, -1)
        return tuple((one, count) for one, count in counts.values() if count)

    def _count(self, counts: _Counts, existing_node: ExistingNode, sign: int) -> None:
        for one, count in existing_node.residents:
            # Alike residents are one object: to compare them would take longer.
            number = self._numbers[one]
            _, known = counts.get(number, (one, 0))
            counts[number] = one, known + sign * count


def _looked_at(spec: PodSpec) -> set[str]:
    """Return the labels by which nodes may differ to pods of `spec`."""
    keys = {term.topology_key for term in spec.pod_affinity} | {s.topology_key for s in spec.spread}
    return keys | {key for wanted in spec.alternatives() for key in wanted}
