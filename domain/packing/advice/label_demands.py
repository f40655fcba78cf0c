"""Demands of a pod on a node's labels, entry by entry, and how each can be changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.pods import Expression, NodeAffinity, PodSpec
from treenail.domain.model.requirements import Operator
from treenail.domain.packing.advice.step import Step, of_pod, written
from treenail.domain.packing.remedies import ChangeKind, Fragment
from treenail.domain.packing.topology.topology_refusals import said_expression

_SELECTOR: Final = "spec.nodeSelector"
_AFFINITY: Final = "spec.affinity.nodeAffinity"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS: Final = f"{_AFFINITY}.{_REQUIRED}.nodeSelectorTerms[]"
_FIELD: Final = "metadata.name"
# Putting a name right is the smallest change there is.
_CORRECT: Final = 1.0
_DROP: Final = 3.0


@dataclass(frozen=True, slots=True)
class LabelDemand:
    """One entry of a node selector, or one expression of a required term (`term`; -1 for the selector)."""

    expression: Expression
    term: int = -1

    @property
    def part(self) -> str:
        """The list of a term that it stands in: demands on a node's name are apart from those on labels."""
        return "matchFields" if self.expression.key == labels.NODE_NAME else "matchExpressions"

    @property
    def key(self) -> str:
        """The label it is about, by its present name."""
        return labels.normalized(self.expression.key)


def demands(spec: PodSpec) -> tuple[LabelDemand, ...]:
    """Return all that a pod requires of a node's labels."""
    # A node selector is a conjunction of equalities. It is kept apart from terms, for it is written elsewhere
    # in a manifest, and a change must say where.
    selected = (LabelDemand(Expression(key, Operator.IN, (value,))) for key, value in spec.node_selector)
    terms = enumerate(spec.node_affinity.required)
    return (*selected, *(LabelDemand(e, term) for term, expressions in terms for e in expressions))


def dropped(spec: PodSpec, demand: LabelDemand, *, size: float = _DROP) -> Iterable[Step]:
    """Yield the step that drops `demand`, where a manifest without it is valid.

    An empty term would select no node: a term is dropped as a whole if it is the only one.
    """
    kind = ChangeKind.DROP_REQUIREMENT
    condition = f"it did not ask for {_said(demand.expression)}"
    # An entry of a map goes by itself, whatever else the selector says.
    if demand.term < 0:
        before = _entry(demand.expression)
        yield of_pod(kind, _SELECTOR, (before, None), condition, size, _without_entry(demand.expression.key))
        return
    terms = spec.node_affinity.required
    # Of a term with several expressions one may go. The last one may not: Kubernetes reads an empty term as
    # one that selects nothing, so the pod could go nowhere.
    if len(terms[demand.term]) > 1:
        edit = _with_expression(demand, ())
        yield of_pod(
            kind, f"{_TERMS}.{demand.part}[]", (_fragment(demand.expression), None), condition, size, edit
        )
    # With other terms beside it nothing is proposed: dropping one alternative of several makes nothing
    # possible.
    elif len(terms) == 1:
        whole = {_REQUIRED: {"nodeSelectorTerms": [{demand.part: [_fragment(demand.expression)]}]}}
        yield of_pod(kind, _AFFINITY, (whole, None), condition, size, _with_terms(()))


def corrected(demand: LabelDemand, *, key: str = "", value: str = "", size: float = _CORRECT) -> Step:
    """Return the step that puts another key, or another value for the most alike, into `demand`."""
    old = demand.expression
    # A wrong key has no values that are right, and a wrong value is under a right key: never both at once.
    new = replace(old, key=key) if key else replace(old, values=_with_value(old.values, value))
    condition = f"it asked for {_said(new)} instead of {_said(old)}"
    kind = ChangeKind.CORRECT_REQUIREMENT
    if demand.term < 0:
        change = (_entry(old), _entry(new))
        return of_pod(kind, _SELECTOR, change, condition, size, _with_entry(old.key, new))
    change = (_fragment(old), _fragment(new))
    return of_pod(
        kind, f"{_TERMS}.{demand.part}[]", change, condition, size, _with_expression(demand, (new,))
    )


def _with_value(values: tuple[str, ...], value: str) -> tuple[str, ...]:
    # The value with the slip is the one that reads most like what was meant; the others stay as they are.
    worst = max(values, key=lambda own: SequenceMatcher(None, own, value).ratio())
    return tuple(dict.fromkeys(value if own == worst else own for own in values))


def _said(expression: Expression) -> str:
    if expression.operator is Operator.IN and len(expression.values) == 1:
        return f"{expression.key}={expression.values[0]}"
    return said_expression(expression)


def _entry(expression: Expression) -> Fragment:
    return {expression.key: expression.values[0]}


def _fragment(expression: Expression) -> Fragment:
    key = _FIELD if expression.key == labels.NODE_NAME else expression.key
    return written(key, expression.operator, expression.values)


def _without_entry(key: str) -> Callable[[PodSpec], PodSpec]:
    return lambda spec: replace(spec, node_selector=tuple(e for e in spec.node_selector if e[0] != key))


def _with_entry(key: str, new: Expression) -> Callable[[PodSpec], PodSpec]:
    def edit(spec: PodSpec) -> PodSpec:
        kept = {k: v for k, v in spec.node_selector if k != key} | {new.key: new.values[0]}
        return replace(spec, node_selector=tuple(sorted(kept.items())))

    return edit


def _with_terms(terms: tuple[tuple[Expression, ...], ...]) -> Callable[[PodSpec], PodSpec]:
    return lambda spec: replace(spec, node_affinity=replace(spec.node_affinity, required=terms))


def _with_expression(demand: LabelDemand, new: tuple[Expression, ...]) -> Callable[[PodSpec], PodSpec]:
    """Put `new` in the place of the demand's expression."""

    def edit(spec: PodSpec) -> PodSpec:
        affinity: NodeAffinity = spec.node_affinity
        terms = list(affinity.required)
        # An earlier step of the same attempt may have dropped terms, and this one with them.
        if demand.term < len(terms):
            others = (((e,) if e != demand.expression else new) for e in terms[demand.term])
            terms[demand.term] = tuple(e for part in others for e in part)
        return replace(spec, node_affinity=replace(affinity, required=tuple(terms)))

    return edit
