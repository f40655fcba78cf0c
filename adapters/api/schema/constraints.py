"""Constraints of a schema beyond the types of its model, by path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from treenail.adapters.api.schema.structural import Tree

_STEP: Final = re.compile(r"\[\]|\{\}|[^.\[\]{}]+")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in CEL, and what to say where it does not hold.

    `field` is a field below that the refusal should name rather than the object the rule is on.
    """

    expression: str
    message: str
    field: str = ""

    def tree(self) -> Tree:
        own = {"rule": self.expression, "message": self.message}
        return own | ({"fieldPath": f".{self.field}"} if self.field else {})


@dataclass(frozen=True, slots=True)
class Constraint:
    """Rules, and keywords of the schema, for the value at one path."""

    rules: Sequence[Rule] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def otherwise(self, default: object) -> Constraint:
        """Return the same with a default, which the API server writes where nothing is said."""
        return Constraint(self.rules, {**self.keywords, "default": default})


# Paths are as in "spec.taints[].key" and "spec.limits{}": items of a list, values of a mapping.
Constraints: TypeAlias = Mapping[str, Constraint]


def below(path: str, *several: Constraints) -> dict[str, Constraint]:
    """Return `several` together, each as if it stood at `path`. An empty path within one is `path` itself.

    Raises:
        ValueError: two of them are about one path.
    """
    made: dict[str, Constraint] = {}
    for constraints in several:
        for within, constraint in constraints.items():
            whole = path + within if within[:1] in ("", "[", "{") else ".".join(filter(None, (path, within)))
            if whole in made:
                raise ValueError(f"two constraints for {whole}")
            made[whole] = constraint
    return made


def constrain(schema: Tree, constraints: Constraints) -> None:
    """Put `constraints` into `schema`.

    Raises:
        KeyError: a path is none of the schema's.
    """
    for path, constraint in constraints.items():
        at = _at(schema, path)
        at |= constraint.keywords
        rules = [rule.tree() for rule in constraint.rules]
        if rules:
            at["x-kubernetes-validations"] = [*at.get("x-kubernetes-validations", ()), *rules]


def _at(schema: Tree, path: str) -> Tree:
    at = schema
    for step in _STEP.findall(path):
        at = at["items"] if step == "[]" else _named(at, step)
    return at


def _named(at: Tree, step: str) -> Tree:
    found: Tree = at["additionalProperties"] if step == "{}" else at["properties"][step]
    return found


def paths(schema: Tree, at: str = "") -> Iterator[tuple[str, Tree]]:
    """Yield every path of `schema` with the schema there, itself first."""
    yield at, schema
    for name, below_it in schema.get("properties", {}).items():
        yield from paths(below_it, f"{at}.{name}" if at else name)
    if "items" in schema:
        yield from paths(schema["items"], f"{at}[]")
    if "additionalProperties" in schema:
        yield from paths(schema["additionalProperties"], f"{at}{{}}")
