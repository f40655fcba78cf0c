"""Topology groups: the pods that each term counts, by domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treenail.domain.model.pods import HostPort
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.taints import untolerated
from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.arrays.changes import Changes
from treenail.domain.packing.identity import IdentityMap, grouping
from treenail.domain.packing.pods.terms import Term, TermReader
from treenail.domain.packing.problem import ExistingNode, Resident


@dataclass(frozen=True, slots=True, eq=False)
class SavedCounts:
    """The counts of a topology group at one moment."""

    counts: Mapping[str, int]
    owners: Mapping[str, int]
    on_new: int
    on_existing_nodes: Floats
    owners_on_existing_nodes: Floats


@dataclass(frozen=True, slots=True, eq=False)
class CountChanges:
    """Counts of a topology group by domain at one moment, and by node (N) those that had changed."""

    counts: Mapping[str, int]
    owners: Mapping[str, int]
    on_new: int
    on_existing_nodes: Changes
    owners_on_existing_nodes: Changes


class TopologyGroup:
    """A topology term and the pods it counts.

    - `counts`: how many pods it selects, by domain; `owners`: how many pods have it themselves and must keep
      apart from those it selects, by domain.
    - `on_existing_nodes`, `owners_on_existing_nodes` (N): the same of a term per node. `on_new` is how many
      pods it selects on nodes to be bought, all together.
    - `asked`: some pod to be placed has the term. `opposed`: there are owners, or may be, and pods that the
      term selects must keep away from them.
    - `seen` (N): the existing nodes that a spread counts pods on; empty where it counts on all.
    """

    __slots__ = (
        "asked",
        "counts",
        "index",
        "on_existing_nodes",
        "on_new",
        "opposed",
        "owners",
        "owners_on_existing_nodes",
        "seen",
        "term",
    )

    def __init__(self, index: int, term: Term, existing_nodes: int, seen: Sequence[bool]) -> None:
        self.index = index
        self.term = term
        self.asked = False
        self.opposed = False
        self.counts: dict[str, int] = {}
        self.owners: dict[str, int] = {}
        # Arrays only where each node is a domain: a term by zone would carry N numbers that nobody reads.
        on_existing_nodes = existing_nodes if term.per_node else 0
        self.on_new = 0
        self.on_existing_nodes: Floats = np.zeros(on_existing_nodes)
        self.owners_on_existing_nodes: Floats = np.zeros(on_existing_nodes)
        # Where a spread counts on every node, the empty list spares a look at each.
        self.seen = seen

    def clear(self) -> None:
        """Set all counts to zero."""
        self.counts.clear()
        self.owners.clear()
        self.on_new = 0
        self.on_existing_nodes[:] = 0.0
        self.owners_on_existing_nodes[:] = 0.0

    def save(self) -> SavedCounts:
        """Return all counts as they are, to go back to with `restore`."""
        return SavedCounts(
            dict(self.counts),
            dict(self.owners),
            self.on_new,
            self.on_existing_nodes.copy(),
            self.owners_on_existing_nodes.copy(),
        )

    def restore(self, saved: SavedCounts) -> None:
        """Set all counts to what they were."""
        self.counts, self.owners, self.on_new = dict(saved.counts), dict(saved.owners), saved.on_new
        self.on_existing_nodes[:] = saved.on_existing_nodes
        self.owners_on_existing_nodes[:] = saved.owners_on_existing_nodes

    def changes_since(self, saved: SavedCounts) -> CountChanges:
        """Return what changed since `saved`, to make again with `make`."""
        return CountChanges(
            dict(self.counts),
            dict(self.owners),
            self.on_new,
            Changes.between(saved.on_existing_nodes, self.on_existing_nodes),
            Changes.between(saved.owners_on_existing_nodes, self.owners_on_existing_nodes),
        )

    def make(self, changes: CountChanges) -> None:
        """Make changes again, from the counts that they began with."""
        self.counts, self.owners, self.on_new = dict(changes.counts), dict(changes.owners), changes.on_new
        changes.on_existing_nodes.make(self.on_existing_nodes)
        changes.owners_on_existing_nodes.make(self.owners_on_existing_nodes)

    def count(self, domain: str, pods: int) -> None:
        """Count `pods` more that the term selects in `domain`; fewer where negative."""
        self.counts[domain] = self.counts.get(domain, 0) + pods

    def own(self, domain: str, pods: int) -> None:
        """Count `pods` more in `domain` that have the term themselves; fewer where negative."""
        self.owners[domain] = self.owners.get(domain, 0) + pods


class TopologyGroups:
    """The topology groups of a problem, each made when first asked for, with residents counted in it."""

    def __init__(self, existing_nodes: Sequence[ExistingNode], reader: TermReader) -> None:
        self._existing_nodes = existing_nodes
        self._reader = reader
        self._known: dict[Term, TopologyGroup] = {}
        # What a label set is counted by, until a group is added: asked once for each class.
        self._matching: dict[
            tuple[str, tuple[tuple[str, str], ...], tuple[HostPort, ...]], tuple[TopologyGroup, ...]
        ] = {}
        # Alike residents are one object, held by the problem. Each is matched with a term once, whatever the
        # number of nodes it is on: large clusters run thousands of pods of a few hundred kinds.
        self._residents: IdentityMap[Resident, list[tuple[int, int]]] = grouping()
        for at, existing_node in enumerate(existing_nodes):
            for resident, count in existing_node.residents:
                self._residents[resident].append((at, count))

    @property
    def terms(self) -> dict[int, Term]:
        """The terms of the groups there are, by their number."""
        return {group.index: term for term, group in self._known.items()}

    def of(self, term: Term) -> TopologyGroup:
        """Return the group of `term`."""
        group = self._known.get(term)
        if group is None:
            # A group made late must know what is there, as those made at first do.
            group = self._known[term] = TopologyGroup(
                len(self._known), term, len(self._existing_nodes), self._seen(term)
            )
            self._count_residents(group)
            # A new group may count pods that were asked about already.
            self._matching.clear()
        return group

    def ask(self, term: Term) -> TopologyGroup:
        """Return the group of `term`, and note that pods to be placed have it."""
        group = self.of(term)
        group.asked = True
        return group

    def keep_apart(self, term: Term) -> TopologyGroup:
        """Return the group of `term`, and note that some pods require it: it keeps others off."""
        # Opposed groups restrict pods that do not have the term themselves.
        group = self.of(term)
        group.opposed = True
        return group

    def oppose_residents(self) -> None:
        """Make the groups of required anti-affinity of residents, and count the residents as owners."""
        for resident, places in self._residents.items():
            # A terminating pod keeps nobody off: its place will be free before the new node is there.
            for term in () if resident.leaving else resident.anti_affinity:
                group = self.keep_apart(self._reader.affinity(term, resident.namespace))
                self._add(group, places, owned=True)

    def recount(self) -> None:
        """Count only residents again, as before the first attempt."""
        for group in self._known.values():
            group.clear()
            self._count_residents(group)
        self.oppose_residents()

    def matching(
        self, namespace: str, of: tuple[tuple[str, str], ...], ports: tuple[HostPort, ...]
    ) -> tuple[TopologyGroup, ...]:
        """Return the groups that count a pod with the labels `of`, sorted, and `ports`."""
        # The usual case in clusters without any term: no labels are looked at.
        if not self._known:
            return ()
        # Classes differ by requests far more often than by labels: each set of labels is matched once.
        key = (namespace, of, ports)
        if key not in self._matching:
            known, mapping = self._known.values(), dict(of)
            self._matching[key] = tuple(g for g in known if _counts(g.term, namespace, mapping, ports))
        return self._matching[key]

    def _seen(self, term: Term) -> Sequence[bool]:
        """Return on which existing nodes (N) a spread counts pods; nothing where it counts on all."""
        # Judged once for each term and node, by value of labels and taints: neither changes during a plan.
        nodes = term.nodes
        if nodes.alternatives is None and nodes.tolerations is None:
            return ()
        return [
            (nodes.alternatives is None or any(_meets(existing_node, a) for a in nodes.alternatives))
            and (nodes.tolerations is None or untolerated(existing_node.taints, nodes.tolerations) is None)
            for existing_node in self._existing_nodes
        ]

    def _count_residents(self, group: TopologyGroup) -> None:
        for resident, places in self._residents.items():
            ports = resident.host_ports
            # Leaving pods do not count, as in the scheduler, but they keep their host ports until they are
            # gone.
            if resident.leaving and group.term.port is None:
                continue
            if _counts(group.term, resident.namespace, dict(resident.labels), ports):
                self._add(group, places, owned=False)

    def _add(self, group: TopologyGroup, places: Iterable[tuple[int, int]], *, owned: bool) -> None:
        key = group.term.key
        for at, count in places:
            # The node filter of a spread: nodes the pods could not go to do not make it uneven.
            if group.seen and not group.seen[at]:
                continue
            if group.term.per_node:
                (group.owners_on_existing_nodes if owned else group.on_existing_nodes)[at] += count
            # A node without the label is in no domain, and its pods count nowhere.
            elif key in self._existing_nodes[at].labels:
                (group.own if owned else group.count)(self._existing_nodes[at].labels[key], count)


def _counts(term: Term, namespace: str, of: Mapping[str, str], ports: tuple[HostPort, ...]) -> bool:
    # A host port has no selector: pods conflict by what they bind.
    if term.port is not None:
        return any(term.conflicts(port) for port in ports)
    return term.selects(namespace, of)


def _meets(existing_node: ExistingNode, alternative: Requirements) -> bool:
    return Requirements.from_labels(existing_node.labels).compatible(alternative)
