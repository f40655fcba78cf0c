"""Budgets of disruptions, as the NodePools of both generations write them."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.karpenter.cron import BACKWARDS, CRON, DESCENDING, LONGEST
from treenail.adapters.api.karpenter.v1_node_pool import NODES
from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule, below
from treenail.adapters.api.schema.rules import forms

_TOGETHER: Final = Rule("has(self.schedule) == has(self.duration)", "needs schedule and duration, or neither")

_FORWARD: Final = Rule(f"!self.matches({cel.text(DESCENDING)})", BACKWARDS)


def budgets(path: str) -> Constraints:
    """Return the rules for the budgets at `path`."""
    return below(
        path,
        {
            "": Constraint().otherwise([{"nodes": NODES}]),
            "[]": Constraint([_TOGETHER]),
            "[].nodes": Constraint().otherwise(NODES),
            "[].duration": forms.duration(),
            "[].schedule": Constraint([_FORWARD], {"pattern": CRON, "maxLength": LONGEST}),
        },
    )
