"""The packing context: what every attempt at a plan for one problem shares."""

from __future__ import annotations

from dataclasses import replace

from treenail.domain.packing.arrays.steps import Steps
from treenail.domain.packing.existing.existing_nodes import ExistingNodes
from treenail.domain.packing.offers.node_options import NodeOptions
from treenail.domain.packing.offers.option_order import OptionOrder
from treenail.domain.packing.offers.relaxed_offers import with_relaxed_offers
from treenail.domain.packing.offers.templates import NodeTemplates
from treenail.domain.packing.parsed_problem import read
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.relaxation import Relaxation
from treenail.domain.packing.problem import Problem
from treenail.domain.packing.topology.choices import DomainChoices
from treenail.domain.packing.topology.class_constraints import ConstraintReader
from treenail.domain.packing.topology.topology_refusals import Blockers
from treenail.domain.packing.topology.universe import Universe


class PackingContext:
    """A parsed problem and all that is found out about it once.

    Shared by the attempts at a plan. Only the counts of topology groups and what is free on existing nodes
    change during an attempt; `clear` sets both back.
    """

    def __init__(self, problem: Problem) -> None:
        # Before anything is read: BestEffort adds a pool that asks for no choice, and templates are numbered
        # by offer.
        problem = with_relaxed_offers(problem)
        self.problem = problem
        self.parsed = read(problem)
        self.steps = Steps(problem.settings.steps)
        templates = NodeTemplates(
            problem.offers,
            problem.daemons,
            self.parsed.axis,
            pods=len(problem.pods),
            overhead_cost=problem.settings.node_overhead_cost,
        )
        self.options = NodeOptions(templates, problem.settings.min_values)
        # What follows depends on no counts: answers are kept for the whole problem, and the second attempt
        # asks for most of them again.
        self.option_order = OptionOrder(self.options)
        self.existing_nodes = ExistingNodes(problem.existing_nodes, self.parsed.axis)
        self.universe = Universe(templates, problem.existing_nodes)
        self.choices = DomainChoices(self.option_order, self.parsed.demands, self.universe)
        self.constraint_reader = ConstraintReader(self.parsed.groups)
        # Reads the counts as they are when it is asked, which is after an attempt.
        self.blockers = Blockers(
            problem, self.constraint_reader, self.choices, self.option_order, self.universe
        )
        self._required: dict[Relaxation, Relaxation] = {}
        self._clear = True

    def without_wishes(self, one: PodClass) -> PodClass:
        """Return a class whose pods ask only for what they require."""
        known = one.relaxation
        if not any(level.wishes for level in known.levels):
            return one
        # One object for all classes that ask for the same: what is found out about it is found out once.
        if known not in self._required:
            self._required[known] = Relaxation(known.required, known.required)
        return replace(one, relaxation=self._required[known])

    def clear(self) -> None:
        """Set counts and existing nodes back to what they were before any attempt.

        The first attempt finds them so: then nothing is done.
        """
        if not self._clear:
            self.parsed.groups.recount()
            self.existing_nodes.clear()
        self._clear = False
