"""The planning context: what all stages of node planning share."""

from __future__ import annotations

from typing import NamedTuple

from treenail.domain.packing.arrays.steps import Steps
from treenail.domain.packing.offers.limits_in_plan import RemainingLimits
from treenail.domain.packing.offers.node_options import NodeOptions
from treenail.domain.packing.planned.node_rules import NodeRules


class PlanningContext(NamedTuple):
    """The context of a plan: what could be bought, who may share a node, what limits and work are left."""

    options: NodeOptions
    rules: NodeRules
    remaining_limits: RemainingLimits
    steps: Steps
