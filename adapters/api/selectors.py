"""Label selectors, node selector terms and taints, which many kinds share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from msgspec import field

from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.model import Model, Time
from treenail.adapters.api.names import check_key, check_value, is_label_value
from treenail.domain.model import labels
from treenail.domain.model.labels import integer_of
from treenail.domain.model.pods import Expression, LabelSelector
from treenail.domain.model.requirements import Operator
from treenail.domain.model.taints import Effect, Taint

_LISTING = (Operator.IN, Operator.NOT_IN)
_BOUNDS = (Operator.GT, Operator.LT)
_NODE_NAME: Final = "metadata.name"
# What no node meets, and what every node does: none has an empty name.
NO_NODE: Final = Expression(labels.NODE_NAME, Operator.IN, ("",))
_ANY_NODE: Final = Expression(labels.NODE_NAME, Operator.NOT_IN, ("",))


class LabelExpressionModel(Model):
    """One line of a label selector."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()


class LabelSelectorModel(Model):
    """A selector of objects by their labels."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: tuple[LabelExpressionModel, ...] = ()

    def value(self, at: str) -> LabelSelector:
        """Return the selector; FieldError says what is wrong with it under the path `at`."""
        for key, value in self.match_labels.items():
            check_key(key, f"{at}.matchLabels")
            check_value(value, f"{at}.matchLabels.{key}")
        return LabelSelector(
            match_labels=tuple(sorted(self.match_labels.items())),
            expressions=tuple(
                expression(e.key, e.operator, e.values, f"{at}.matchExpressions[{n}]")
                for n, e in enumerate(self.match_expressions)
            ),
        )


class NodeExpressionModel(Model):
    """One line of a node selector term."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...] = ()


class NodeTermModel(Model):
    """A conjunction of demands on a node's labels, and on its fields."""

    match_expressions: tuple[NodeExpressionModel, ...] = ()
    match_fields: tuple[NodeExpressionModel, ...] = ()

    def value(self, at: str) -> tuple[Expression, ...]:
        """Return the conjunction; FieldError says what is wrong with it under the path `at`."""
        return (
            *(
                node_expression(e.key, e.operator, e.values, f"{at}.matchExpressions[{n}]")
                for n, e in enumerate(self.match_expressions)
            ),
            *(_field(e, f"{at}.matchFields[{n}]") for n, e in enumerate(self.match_fields)),
        )


def _field(model: NodeExpressionModel, at: str) -> Expression:
    """Return a demand on a field of a node: its name is the only one there is."""
    if model.key != _NODE_NAME:
        raise FieldError(f"{at}.key", f"{quoted(model.key)} is no field of nodes but {_NODE_NAME}")
    if model.operator not in _LISTING or len(model.values) != 1:
        raise FieldError(at, "needs In or NotIn, and exactly one value")
    return Expression(labels.NODE_NAME, Operator(model.operator), model.values)


class NodeSelectorModel(Model):
    """Alternatives of conjunctions. One that demands nothing selects nothing."""

    node_selector_terms: tuple[NodeTermModel, ...]

    def value(self, at: str) -> tuple[tuple[Expression, ...], ...]:
        """Return the alternatives; FieldError says what is wrong with them under the path `at`.

        Terms that no node meets are left out, and the last of them stays where there is no other.
        """
        terms = [t.value(f"{at}.nodeSelectorTerms[{n}]") for n, t in enumerate(self.node_selector_terms)]
        return tuple(term for term in terms if term and NO_NODE not in term) or ((NO_NODE,),)


def node_expression(key: str, operator: str, values: Sequence[str], at: str) -> Expression:
    """Return a node selector requirement from one expression.

    The API server takes values that no label can have, and bounds that are no numbers. A node meets
    neither, and has none of the values that are excluded.

    Raises:
        FieldError: key, operator and values do not go together as the API server demands.
    """
    kind = Operator(operator)
    possible = tuple(value for value in values if is_label_value(value))
    if kind in _LISTING and values and not possible:
        check_key(key, f"{at}.key")
        return NO_NODE if kind is Operator.IN else _ANY_NODE
    if kind in _BOUNDS and len(values) == 1 and integer_of(values[0]) is None:
        check_key(key, f"{at}.key")
        return NO_NODE
    return expression(key, operator, possible if kind in _LISTING else values, at)


def expression(key: str, operator: str, values: Sequence[str], at: str) -> Expression:
    """Return one line of a selector.

    Raises:
        FieldError: key, operator and values do not go together as the API server demands.
    """
    check_key(key, f"{at}.key")
    kind = Operator(operator)
    if kind in _LISTING:
        if not values:
            raise FieldError(f"{at}.values", f"{operator} needs at least one value")
        for n, value in enumerate(values):
            check_value(value, f"{at}.values[{n}]")
    elif kind in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        if values:
            raise FieldError(f"{at}.values", f"must be empty with {operator}")
    else:
        check_bound(operator, values, f"{at}.values")
    return Expression(key, kind, tuple(values))


def check_bound(operator: str, values: Sequence[str], at: str, *, negative: bool = True) -> None:
    """Raise FieldError unless `values` are one integer, which must not be below zero unless `negative`."""
    number = integer_of(values[0]) if len(values) == 1 else None
    if number is None:
        raise FieldError(at, f"{operator} needs exactly one whole number, not {quoted(list(values))}")
    if number < 0 and not negative:
        raise FieldError(at, f"{operator} {number} must not be negative")


class TaintModel(Model, kw_only=True):
    """A taint of a node."""

    key: str
    value: str = ""
    effect: Effect


class StrictTaintModel(TaintModel, kw_only=True, forbid_unknown_fields=True):
    """A taint of a pool's nodes, or of a claim's."""

    time_added: Time | None = None


def taints(models: Sequence[TaintModel], at: str) -> tuple[Taint, ...]:
    """Return the taints at the path `at`; FieldError says what is wrong with one."""
    for n, model in enumerate(models):
        check_key(model.key, f"{at}[{n}].key")
        check_value(model.value, f"{at}[{n}].value")
    return tuple(Taint(key=m.key, effect=m.effect, value=m.value) for m in models)


def node_taints(
    lasting: Sequence[TaintModel], startup: Sequence[TaintModel], at: str
) -> tuple[tuple[Taint, ...], tuple[Taint, ...]]:
    """Return the taints and the startup taints of what stands at the path `at`.

    Raises:
        FieldError: one is malformed, or two of them have one key and effect.
    """
    stay = taints(lasting, f"{at}.taints")
    go = taints(startup, f"{at}.startupTaints")
    check_taints_differ((f"{at}.taints", stay), (f"{at}.startupTaints", go))
    return stay, go


def dated(lasting: Sequence[StrictTaintModel], startup: Sequence[StrictTaintModel], at: str) -> Iterator[str]:
    """Yield the paths of the times that taints of what stands at `at` say: nodes have them when they join."""
    for name, models in (("taints", lasting), ("startupTaints", startup)):
        for n, model in enumerate(models):
            if model.time_added is not None:
                yield f"{at}.{name}[{n}].timeAdded"


def check_taints_differ(*lists: tuple[str, Iterable[Taint]]) -> None:
    """Raise FieldError if two taints, over all (path, taints), have one key and effect."""
    known: set[tuple[str, Effect]] = set()
    for at, several in lists:
        for n, taint in enumerate(several):
            if (taint.key, taint.effect) in known:
                raise FieldError(f"{at}[{n}]", f"{taint.key} with {taint.effect.value} is there twice")
            known.add((taint.key, taint.effect))
