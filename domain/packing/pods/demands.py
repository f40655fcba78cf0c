"""Demands on a node's labels and taints, each different one kept as one object."""

from __future__ import annotations

from dataclasses import dataclass

from treenail.domain.model.pods import HostPort
from treenail.domain.model.requirements import ANYTHING, Requirement, Requirements
from treenail.domain.model.taints import Toleration


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """The demand of pods on a node's labels, taints and ports. Equal demands of a problem are one object.

    `present` are labels that must exist though `requirements` only say NotIn of them: a node without the
    label meets NotIn, and one requirement per label cannot say both. `ports` must be left free by the daemons
    of a new node.
    """

    requirements: Requirements
    tolerations: tuple[Toleration, ...]
    present: Requirements = ANYTHING
    ports: tuple[HostPort, ...] = ()


class Demands:
    """Interns the demands of a problem: equal ones are the same object, so node options are found by it."""

    def __init__(self) -> None:
        self._known: dict[
            tuple[Requirements, tuple[Toleration, ...], Requirements, tuple[HostPort, ...]], Demand
        ] = {}
        self._pinned: dict[tuple[Demand, str, str], Demand] = {}

    def of(
        self,
        requirements: Requirements,
        tolerations: tuple[Toleration, ...],
        present: Requirements = ANYTHING,
        ports: tuple[HostPort, ...] = (),
    ) -> Demand:
        """Return the demand for exactly this."""
        key = (requirements, tolerations, present, ports)
        known = self._known.get(key)
        if known is None:
            # From here on told apart by identity: hashing a demand costs as little as hashing a number.
            known = self._known[key] = Demand(*key)
        return known

    def without(self, demand: Demand, key: str) -> Demand:
        """Return `demand` on nodes that have no label `key`."""
        # No value at all: the algebra's way to say DoesNotExist.
        requirements = demand.requirements.with_((Requirement(key, frozenset()),))
        return self.of(requirements, demand.tolerations, demand.present, demand.ports)

    def pinned(self, demand: Demand, key: str, value: str) -> Demand:
        """Return `demand` on nodes whose label `key` is `value`."""
        # Found without building requirements: each class asks for each domain in each round.
        asked = (demand, key, value)
        known = self._pinned.get(asked)
        if known is None:
            # Only values that the demand allows are pinned (see `Universe.choosable`): with any other the
            # intersection would be empty, which means that the label is missing.
            requirements = demand.requirements.with_((Requirement(key, frozenset((value,))),))
            known = self._pinned[asked] = self.of(
                requirements, demand.tolerations, demand.present, demand.ports
            )
        return known
