"""Taints and startup taints."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule, below
from treenail.adapters.api.schema.rules.forms import KEYS, VALUES

# More than a node ever has; comparing all with each other must have a bound.
_MOST_TAINTS: Final = 100
_BOTH: Final = ("taints", "startupTaints")


def differ() -> tuple[Rule, ...]:
    """Return the rules of a parent of `taints` and `startupTaints`: no two have one key and effect."""
    return (*(_once(field) for field in _BOTH), _apart())


def both(path: str) -> Constraints:
    """Return the rules for each taint of what stands at `path`."""
    made: dict[str, Constraint] = {}
    for field in _BOTH:
        made[field] = Constraint(keywords={"maxItems": _MOST_TAINTS})
        made[f"{field}[].key"] = KEYS
        made[f"{field}[].value"] = VALUES
    return below(path, made)


def _once(field: str) -> Rule:
    same = f"self.{field}.exists_one(u, u.key == t.key && u.effect == t.effect)"
    return Rule(
        f"!has(self.{field}) || self.{field}.all(t, {same})", "one key and effect are there twice", field
    )


def _apart() -> Rule:
    same = "self.startupTaints.exists(u, u.key == t.key && u.effect == t.effect)"
    return Rule(
        f"!has(self.taints) || !has(self.startupTaints) || !self.taints.exists(t, {same})",
        "one key and effect are there in taints too",
        "startupTaints",
    )
