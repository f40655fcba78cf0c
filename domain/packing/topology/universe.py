"""The universe of a topology: domains of existing nodes, and of nodes that could be bought."""

from __future__ import annotations

from collections.abc import Sequence

from treenail.domain.model.labels import LEFT_OPEN
from treenail.domain.model.requirements import ANYTHING, Requirement, Requirements
from treenail.domain.model.taints import Toleration, untolerated
from treenail.domain.packing.offers.templates import NodeTemplates
from treenail.domain.packing.pods.topology_counts import TopologyGroup
from treenail.domain.packing.problem import ExistingNode


class Universe:
    """The domains of each topology key, and for each group those it is measured over."""

    def __init__(self, templates: NodeTemplates, existing_nodes: Sequence[ExistingNode]) -> None:
        self._templates = templates
        self._existing_nodes = existing_nodes
        self._new: dict[str, tuple[str, ...]] = {}
        self._of: dict[tuple[int, Requirement | None], tuple[str, ...]] = {}
        self._lacking: dict[tuple[int, str], bool] = {}
        self._left_open: dict[str, bool] = {}

    def new(self, key: str) -> tuple[str, ...]:
        """Return, sorted, the values that new nodes may have for the label `key`."""
        if key not in self._new:
            found = {value for index in range(len(self._templates)) for value in self.of_pool(index, key)}
            self._new[key] = tuple(sorted(found))
        return self._new[key]

    def choosable(self, key: str, own: Requirement | None) -> list[str]:
        """Return the values of the label `key` that new nodes may have, where the pods require `own` of it.

        A pool may require a label and leave its value open. Then the values are those that `own` lists.
        """
        values = [value for value in self.new(key) if own is None or own.has(value)]
        # Nothing in the catalogue lists these values: the pool says Exists, and the pods choose. Left out, a
        # spread over a label of the user's own would find no domain.
        if own is not None and not own.complement and self._is_left_open(key):
            return sorted(own.values.union(values))
        return values

    def _is_left_open(self, key: str) -> bool:
        known = self._left_open.get(key)
        if known is None:
            required = (self._templates.requirements(index).get(key) for index in range(len(self._templates)))
            known = self._left_open[key] = any(one is not None and one.complement for one in required)
        return known

    def lacking(self, index: int, key: str) -> bool:
        """Return whether new nodes of the template `index` will not have the label `key` at all."""
        known = self._lacking.get((index, key))
        if known is None:
            template = self._templates[index]
            known = self._lacking[index, key] = (
                # Well-known labels that a pool does not name are narrowed by the type that is bought: those
                # are never lacking.
                key not in LEFT_OPEN
                and key not in self._templates.requirements(index)
                and not template.table.masks.values(key, template.admitted)
            )
        return known

    def any_lacking(self, key: str) -> bool:
        """Return whether new nodes of some pool will not have the label `key`."""
        return any(self.lacking(index, key) for index in range(len(self._templates)))

    def of_pool(self, index: int, key: str, wanted: Requirements = ANYTHING) -> list[str]:
        """Return the values, sorted, of the label `key` that new nodes of the template `index` may have.

        Only nodes that meet `wanted` are looked at.
        """
        known = self._templates.requirements(index)
        # The pool contradicts the filter of the spread: none of its nodes would be looked at.
        if not known.compatible(wanted, may_be_undefined=LEFT_OPEN):
            return []
        # Only types that the filter admits offer a domain: a zone in which only other types are sold is no
        # domain.
        template = self._templates[index]
        types = template.admitted.copy()
        for requirement in wanted.values():
            types &= template.table.masks.admitting(requirement)
        if not types.any():
            return []
        values = template.table.masks.values(key, types)
        own = known.with_(wanted).get(key)
        if own is None:
            return values
        listed = () if own.complement else own.values
        # Types know zones and sizes. The values of a label of the user's own stand in the pool's
        # requirements.
        # A type that does not know the label gets it from the pool.
        return sorted(filter(own.has, values) if values else listed)

    def of(self, group: TopologyGroup, within: Requirement | None) -> tuple[str, ...]:
        """Return the domains that `group` is measured over for a pod that requires `within` of them."""
        known = self._of.get((group.index, within))
        if known is None:
            known = self._of[group.index, within] = self._measured(group, within)
        return known

    def _measured(self, group: TopologyGroup, within: Requirement | None) -> tuple[str, ...]:
        """Return the domains of nodes that are there, or could be bought, and that the group looks at.

        A zone where no type is sold that would do is none: the scheduler, too, would see no node there.
        """
        key, looked_at = group.term.key, group.term.nodes
        found = {
            value
            for index in range(len(self._templates))
            # nodeTaintsPolicy Honor: a pool whose taints the pods do not tolerate is looked past, as its
            # nodes are.
            if looked_at.tolerations is None or self._borne(index, looked_at.tolerations)
            # nodeAffinityPolicy Honor: only nodes that meet one of the required terms count.
            for wanted in looked_at.alternatives or (ANYTHING,)
            for value in self.of_pool(index, key, wanted)
        }
        found |= {
            existing_node.labels[key]
            for at, existing_node in enumerate(self._existing_nodes)
            # Nodes that take no more pods count all the same: the scheduler measures over every node that it
            # sees.
            if key in existing_node.labels and (not group.seen or group.seen[at])
        }
        # Sorted, for sets have no order that is the same in every process.
        return tuple(sorted(value for value in found if within is None or within.has(value)))

    def _borne(self, index: int, tolerations: tuple[Toleration, ...]) -> bool:
        return untolerated(self._templates.offer(index).pool.taints, tolerations) is None
