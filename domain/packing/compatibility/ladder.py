"""What a pod asks of a node's labels and taints: first all it wishes, in the end what it must have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from treenail.domain import labels
from treenail.domain.pods import Expression, PodSpec
from treenail.domain.requirements import ANYTHING, Operator, Requirement, Requirements
from treenail.domain.taints import Effect, Toleration, TolerationOperator

PUT_UP_WITH_PREFERENCES: Final = Toleration(
    operator=TolerationOperator.EXISTS, effect=Effect.PREFER_NO_SCHEDULE
)
_NEGATIVE: Final = frozenset({Operator.NOT_IN, Operator.DOES_NOT_EXIST})


@dataclass(frozen=True, slots=True)
class Rung:
    """One set of demands. `wishes` tells whether a preference is among them.

    `present` says Exists of labels of which `requirements` say NotIn: together they are no longer met
    by a node without the label, which one requirement per label cannot say.
    """

    requirements: Requirements
    tolerations: tuple[Toleration, ...]
    present: Requirements = ANYTHING
    wishes: bool = False


@dataclass(frozen=True, slots=True)
class Ladder:
    """The demands of a pod in the order they are tried. Empty where they contradict themselves.

    As in Karpenter, of the preferred terms only the heaviest left is in force, and it falls when
    nothing meets it; the taints PreferNoSchedule bind until all else has failed. Unlike there, every
    required term is tried with a preference before the preference falls, so that no pod is left that fits.
    """

    rungs: tuple[Rung, ...]

    @property
    def required(self) -> tuple[Rung, ...]:
        """The last rungs: what a pod must have, one for each alternative."""
        last = next((r.tolerations for r in reversed(self.rungs)), ())
        return tuple(r for r in self.rungs if not r.wishes and r.tolerations == last)


_Asked: TypeAlias = tuple[Expression, ...]


def ladder_of(spec: PodSpec, *, soft_taints: bool) -> Ladder:
    """Return the ladder of `spec`. `soft_taints` says that some pool or node has a PreferNoSchedule taint.

    Raises:
        ValueError: a bound of an expression is no integer.
    """
    selected = tuple(Expression(key, Operator.IN, (value,)) for key, value in spec.node_selector)
    terms = spec.node_affinity.required or ((),)
    heaviest_first = sorted(spec.node_affinity.preferred, key=lambda weighted: -weighted[0])
    wishes: Sequence[_Asked | None] = (*(term for _, term in heaviest_first), None)
    rungs = list(_rungs(selected, terms, wishes, spec.tolerations))
    if soft_taints:
        rungs += _rungs(selected, terms, (None,), (*spec.tolerations, PUT_UP_WITH_PREFERENCES))
    return Ladder(tuple(rungs))


def _rungs(
    selected: _Asked,
    terms: Sequence[_Asked],
    wishes: Sequence[_Asked | None],
    tolerations: tuple[Toleration, ...],
) -> Iterable[Rung]:
    for wish in wishes:
        for term in terms:
            asked = (*selected, *term, *(wish or ()))
            requirements = Requirements(e.requirement() for e in asked)
            needed = {labels.normalized(e.key) for e in asked if e.operator not in _NEGATIVE}
            # Where no value is left, the algebra says DoesNotExist, which a node without the label meets.
            if not any(requirements[key].operator is Operator.DOES_NOT_EXIST for key in needed):
                present = Requirements(
                    Requirement.of(key, Operator.EXISTS)
                    for key in sorted(needed)
                    if requirements[key].negative
                )
                yield Rung(requirements, tolerations, present, wish is not None)
