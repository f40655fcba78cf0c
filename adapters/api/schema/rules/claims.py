"""Rules that the definitions of claims share, in all generations."""

from __future__ import annotations

from treenail.adapters.api.amounts import MOST_OF_ONE
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule, below
from treenail.adapters.api.schema.definitions import AGE, Column, condition, label
from treenail.adapters.api.schema.rules import requirements, taints
from treenail.adapters.api.schema.rules.forms import amounts
from treenail.domain.model import labels
from treenail.domain.model.node_pools import Generation


def claim(*own: Rule, generation: Generation = Generation.V1) -> Constraints:
    """Return the rules for a claim of `generation`, and the kind's `own` rules for its spec."""
    return below(
        "",
        {"spec": Constraint([*own, *taints.differ()])},
        taints.both("spec"),
        requirements.of_claim("spec.requirements", generation),
        amounts("spec.resources.requests", most=MOST_OF_ONE),
        amounts("status.capacity", most=MOST_OF_ONE),
        amounts("status.allocatable", most=MOST_OF_ONE),
    )


def columns(*own: Column) -> tuple[Column, ...]:
    """Return what is shown of a claim before v1, and `own`: what generations call differently."""
    return (
        label("Type", labels.INSTANCE_TYPE),
        label("Zone", labels.ZONE),
        Column("Node", ".status.nodeName"),
        condition("Ready"),
        AGE,
        label("Capacity", labels.CAPACITY_TYPE, wide=True),
        *own,
    )
