"""What the claims of all generations have in common."""

from __future__ import annotations

from treenail.adapters.api.amounts import MOST_OF_ONE
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule, below
from treenail.adapters.api.schema.rules import requirements, taints
from treenail.adapters.api.schema.rules.forms import amounts


def claim(*own: Rule) -> Constraints:
    """Return what is demanded of a claim, and the kind's `own` rules for its spec."""
    return below(
        "",
        {"spec": Constraint([*own, *taints.differ()])},
        taints.both("spec"),
        requirements.of_claim("spec.requirements"),
        amounts("spec.resources.requests", most=MOST_OF_ONE),
        amounts("status.capacity", most=MOST_OF_ONE),
        amounts("status.allocatable", most=MOST_OF_ONE),
    )
