"""Requirements of pools and of claims."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.karpenter.requirements import CAPACITY_TYPES
from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule
from treenail.adapters.api.schema.rules.forms import (
    KEYS,
    LONGEST_VALUE,
    VALUE_OR_NUMBER,
    WHOLE_NUMBER,
)
from treenail.adapters.api.schema.rules.label_keys import allowed, allowed_beside_pool
from treenail.domain.model import labels
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.requirements import Operator

# Over twice as many as there are instance types; the cost of a rule over them must have a bound.
MOST_VALUES: Final = 2000
MOST_REQUIREMENTS: Final = 100

_BOUNDS: Final = (Operator.GT, Operator.LT, Operator.GTE, Operator.LTE)
_VALUES: Final = Constraint(
    keywords={"pattern": VALUE_OR_NUMBER, "maxLength": LONGEST_VALUE},
)


def of_pool(path: str, generation: Generation) -> Constraints:
    """Return the rules for the requirements at `path` of a pool of `generation`."""
    rules = [_bound(negative=False), _unsigned(), _listed(), _capacity_type()]
    if generation is not Generation.V1ALPHA5:
        rules.append(_min_values())
    return _of(path, rules) | {f"{path}[].key": Constraint(allowed(generation), KEYS.keywords)}


def of_overlay(path: str) -> Constraints:
    """Return the rules for the requirements at `path` of a node overlay, which may name pools as well."""
    rules = [_bound(negative=False), _unsigned(), _listed(), _excluded(), _capacity_type()]
    return _of(path, rules) | {f"{path}[].key": Constraint(allowed_beside_pool(), KEYS.keywords)}


def of_claim(path: str, generation: Generation) -> Constraints:
    """Return the rules for the requirements at `path` of a claim of `generation`: a Machine's are few."""
    rules = [_bound(negative=True), _unsigned()]
    if generation is Generation.V1ALPHA5:
        return _of(path, rules) | {f"{path}[].key": KEYS}
    key = Constraint(allowed_beside_pool(), KEYS.keywords)
    return _of(path, [*rules, _listed(), _min_values()]) | {f"{path}[].key": key}


def _of(path: str, rules: list[Rule]) -> dict[str, Constraint]:
    return {
        path: Constraint(keywords={"maxItems": MOST_REQUIREMENTS}),
        f"{path}[]": Constraint(rules),
        f"{path}[].values": Constraint(keywords={"maxItems": MOST_VALUES}),
        f"{path}[].values[]": _VALUES,
    }


def _bound(*, negative: bool) -> Rule:
    # One beyond 64 bits makes the conversion fail, which refuses it too.
    one = f"has(self.values) && size(self.values) == 1 && self.values[0].matches({cel.text(WHOLE_NUMBER)})"
    least = "-9223372036854775807 - 1" if negative else "0"
    names = cel.texts(operator.value for operator in _BOUNDS)
    return Rule(
        f"!(self.operator in {names}) || ({one} && int(self.values[0]) >= {least})",
        f"Gt, Lt, Gte and Lte need exactly one whole number{'' if negative else ', not a negative one'}",
        "values",
    )


def _unsigned() -> Rule:
    # Only bounds are numbers; the pattern of values lets both in.
    names = cel.texts(operator.value for operator in _BOUNDS)
    return Rule(
        f"self.operator in {names} || !has(self.values)"
        " || self.values.all(v, !v.startsWith('-') && !v.startsWith('+'))",
        "label values must not begin with a sign",
        "values",
    )


def _listed() -> Rule:
    return Rule(f"self.operator != 'In' || {cel.given('values')}", "In needs at least one value", "values")


def _excluded() -> Rule:
    given = cel.given("values")
    return Rule(f"self.operator != 'NotIn' || {given}", "NotIn needs at least one value", "values")


def _min_values() -> Rule:
    return Rule(
        "self.operator != 'In' || !has(self.minValues) || !has(self.values)"
        " || self.minValues <= size(self.values)",
        "must not be more than the number of values listed",
        "minValues",
    )


def _capacity_type() -> Rule:
    known = sorted(CAPACITY_TYPES)
    some = " || ".join(f"{cel.text(one)} in self.values" for one in known)
    other = f"self.key != {cel.text(labels.CAPACITY_TYPE)} || self.operator != 'In'"
    return Rule(
        f"{other} || !has(self.values) || {some}",
        f"one of them must be one of {', '.join(known)}",
        "values",
    )
