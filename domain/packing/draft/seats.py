"""Where pods were thought to get new nodes."""

from __future__ import annotations

from dataclasses import dataclass

from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.ladder import Rung
from treenail.domain.packing.topology.choices import Choice
from treenail.domain.packing.topology.scope import Scope


@dataclass(frozen=True, slots=True, eq=False)
class Seat:
    """A class at one rung, and the choice it made: to be taken back where its pods get no node after all."""

    one: PodClass
    rung: Rung
    scope: Scope
    choice: Choice

    @property
    def key(self) -> tuple[int, Rung, int]:
        """What names the class, the rung and the choice."""
        return (self.one.index, self.rung, self.choice.number)
