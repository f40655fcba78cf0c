"""What every attempt at a plan for one problem stands on."""

from __future__ import annotations

from treenail.domain.packing.arrays.steps import Steps
from treenail.domain.packing.existing.rooms import Rooms
from treenail.domain.packing.offers.chains import Chains
from treenail.domain.packing.offers.families import Families
from treenail.domain.packing.offers.relaxed_offers import with_relaxed_offers
from treenail.domain.packing.offers.templates import Templates
from treenail.domain.packing.problem import Problem
from treenail.domain.packing.reading import read
from treenail.domain.packing.topology.blockers import Blockers
from treenail.domain.packing.topology.choices import Choices
from treenail.domain.packing.topology.scope import Scopes
from treenail.domain.packing.topology.universe import Universe


class Ground:
    """A problem, read, and what is found out about it once; only counts and what is in rooms change."""

    def __init__(self, problem: Problem) -> None:
        problem = with_relaxed_offers(problem)
        self.problem = problem
        self.reading = read(problem)
        self.steps = Steps(problem.settings.steps)
        templates = Templates(problem.offers, problem.daemons, self.reading.axis, pods=len(problem.pods))
        self.families = Families(templates, problem.settings.min_values)
        self.chains = Chains(self.families)
        self.rooms = Rooms(problem.rooms, self.reading.axis)
        self.universe = Universe(templates, problem.rooms)
        self.choices = Choices(self.chains, self.reading.demands, self.universe)
        self.scopes = Scopes(self.reading.groups)
        self.blockers = Blockers(problem, self.scopes, self.choices, self.chains, self.universe)
        self._clear = True

    def clear(self) -> None:
        """Count nobody any longer but who was there before."""
        if not self._clear:
            self.reading.groups.recount()
            self.rooms.clear()
        self._clear = False
