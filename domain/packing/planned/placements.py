"""Placements: the domain chosen for a class that is to get new nodes."""

from __future__ import annotations

from dataclasses import dataclass

from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.relaxation import RelaxationLevel
from treenail.domain.packing.topology.choices import DomainChoice
from treenail.domain.packing.topology.constraints import TopologyConstraints


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """A class at one relaxation level and the domains chosen for it, kept so that it can be taken back."""

    one: PodClass
    level: RelaxationLevel
    constraints: TopologyConstraints
    choice: DomainChoice

    @property
    def key(self) -> tuple[int, RelaxationLevel, int]:
        """The class, the level and the choice, as numbers."""
        return (self.one.index, self.level, self.choice.number)
