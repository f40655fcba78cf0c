"""Relaxation of a pod's preferences: from all it prefers down to what it requires."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from treenail.domain.model import labels
from treenail.domain.model.pods import Expression, PodSpec
from treenail.domain.model.requirements import ANYTHING, Operator, Requirement, Requirements
from treenail.domain.model.taints import Toleration
from treenail.domain.packing.pods.demands import Demand, Demands
from treenail.domain.packing.pods.terms import NO_TERMS, PUT_UP_WITH_PREFERENCES, Term, Terms

_NEGATIVE: Final = frozenset({Operator.NOT_IN, Operator.DOES_NOT_EXIST})


@dataclass(frozen=True, slots=True, eq=False)
class RelaxationLevel:
    """A pod's requirements with some of its preferences given up.

    `wishes` says whether a preference is still among them, `given_up` how many are not. `strict` is what is
    required of the node's labels, preferences and volumes aside: a spread measures over the domains that it
    leaves. `terms` are the topology terms; the `firm` ones are required, and bind pods that come later.
    """

    demand: Demand
    strict: Requirements
    terms: tuple[Term, ...] = ()
    firm: tuple[Term, ...] = ()
    wishes: bool = False
    given_up: int = 0

    @property
    def requirements(self) -> Requirements:
        """The requirements of a node's labels, and those preferences that are left, at this level."""
        return self.demand.requirements

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        """The taints that it tolerates, at this level."""
        return self.demand.tolerations

    @property
    def present(self) -> Requirements:
        return self.demand.present


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """The relaxation levels of a pod, in the order they are tried. Empty where they contradict themselves.

    Preferences are given up in Karpenter's order: pod affinity one by one, then pod anti-affinity, node
    affinity (only the heaviest term left is in force) and spreads that say ScheduleAnyway. Taints
    PreferNoSchedule are tolerated last.

    Unlike in Karpenter, every required term of node affinity is tried before a preference falls, so that no
    pod is left that fits. `classic` are the levels that Karpenter tries: it drops all required terms but the
    last one before the first preference.
    """

    levels: tuple[RelaxationLevel, ...]
    classic: tuple[RelaxationLevel, ...] = ()

    @property
    def required(self) -> tuple[RelaxationLevel, ...]:
        """The last levels: what a pod must have, one for each alternative."""
        # Where taints may be preferences, earlier levels tolerate less: only levels that tolerate all that
        # the last one does are what a pod must have.
        last = next((r.tolerations for r in reversed(self.levels)), ())
        return tuple(r for r in self.levels if not r.wishes and r.tolerations == last)


_Asked: TypeAlias = tuple[Expression, ...]
NOWHERE_SPECIAL: Final = (ANYTHING,)


@dataclass(frozen=True, slots=True)
class Wants:
    """The inputs of relaxation levels besides a pod's spec.

    `volumes` are the alternatives that its volumes leave. `soft_taints` says that some pool or node has a
    PreferNoSchedule taint; `wishes` says whether preferences are looked at.
    """

    terms: Terms = NO_TERMS
    volumes: tuple[Requirements, ...] = NOWHERE_SPECIAL
    soft_taints: bool = False
    wishes: bool = True


def relaxation_of(spec: PodSpec, wants: Wants, demands: Demands) -> Relaxation:
    """Return the relaxation levels of `spec`, at most its preferences x required terms x volume alternatives.

    Raises:
        ValueError: a bound of an expression is no integer.
    """
    steps = list(_steps(spec, wants))
    ways = [(step, spec.tolerations) for step in steps]
    # Only where such a taint exists: otherwise the last level would be tried twice for every refused pod.
    if wants.soft_taints:
        ways.append((steps[-1], (*spec.tolerations, PUT_UP_WITH_PREFERENCES)))
    levels: list[RelaxationLevel] = []
    classic: list[RelaxationLevel] = []
    # Terms are alternatives, of which one is enough. A pod without any has one that asks for nothing.
    terms = spec.node_affinity.required or ((),)
    for given_up, (step, tolerations) in enumerate(ways):
        for number, term in enumerate(terms, 1):
            found = list(_levels(_Asking(spec, wants, step, tolerations, given_up), term, demands))
            levels += found
            # Karpenter's own levels: all terms while every preference is kept, later only the last one.
            if step is steps[0] or number == len(terms):
                classic += found
    return Relaxation(tuple(levels), tuple(classic))


@dataclass(frozen=True, slots=True)
class _Step:
    """The preferences in force: of nodes (at most one) and about pods."""

    node: _Asked | None
    terms: tuple[Term, ...]


def _steps(spec: PodSpec, wants: Wants) -> Iterator[_Step]:
    """Yield the preferences that are kept, one fewer each time, and in the end none."""
    nodes: list[_Asked | None] = [None]
    pods: list[Term] = []
    spread: list[Term] = []
    if wants.wishes:
        # Only one of them is in force at a time, the heaviest left, as in Karpenter. Sorting is stable: of
        # equal weights the first in the manifest.
        heaviest_first = sorted(spec.node_affinity.preferred, key=lambda weighted: -weighted[0])
        nodes = [*(term for _, term in heaviest_first), None]
        pods, spread = list(wants.terms.wished_pods), list(wants.terms.wished_spread)
    # Terms about pods fall while the heaviest node term still holds; spreads outlast both.
    for number in range(len(pods)):
        yield _Step(nodes[0], (*pods[number:], *spread))
    # The last, None, is not yielded here: the spreads below go without node terms anyway.
    for node in nodes[:-1]:
        yield _Step(node, tuple(spread))
    for number in range(len(spread)):
        yield _Step(None, tuple(spread[number:]))
    yield _Step(None, ())


@dataclass(frozen=True, slots=True)
class _Asking:
    """A pod at a step of giving up preferences; `given_up` is how many it has given up so far."""

    spec: PodSpec
    wants: Wants
    step: _Step
    tolerations: tuple[Toleration, ...]
    given_up: int


def _levels(of: _Asking, term: _Asked, demands: Demands) -> Iterator[RelaxationLevel]:
    """Yield the levels of one step with one required term, one for each alternative that volumes leave."""
    spec, wants, step = of.spec, of.wants, of.step
    selected = tuple(Expression(key, Operator.IN, (value,)) for key, value in spec.node_selector)
    # A term may be required and preferred: it counts once, and is not given up.
    terms = tuple(dict.fromkeys((*wants.terms.hard, *step.terms)))
    wishes = step.node is not None or bool(step.terms)
    strict = _met((*selected, *term))
    met = strict if step.node is None else _met((*selected, *term, *step.node))
    # A preference that contradicts what is required makes no level: the next step goes without it.
    if strict is None or met is None:
        return
    for volumes in wants.volumes:
        requirements = met[0].with_(volumes) if volumes else met[0]
        # The pod requires a zone that its volume cannot be reached from.
        if not any(requirements[key].operator is Operator.DOES_NOT_EXIST for key in volumes):
            demand = demands.of(requirements, of.tolerations, met[1], spec.host_ports)
            yield RelaxationLevel(demand, strict[0], terms, wants.terms.hard, wishes, of.given_up)


def _met(asked: Sequence[Expression]) -> tuple[Requirements, Requirements] | None:
    """Return what is required, and which labels must be there at all; None where nothing meets `asked`.

    Any node has a hostname in the end, whether its pool tells it or not.
    """
    # Otherwise a new node, which has no name yet, would never meet it.
    asked = [e for e in asked if (e.key, e.operator) != (labels.HOSTNAME, Operator.EXISTS)]
    requirements = Requirements(e.requirement() for e in asked)
    needed = {labels.normalized(e.key) for e in asked if e.operator not in _NEGATIVE}
    # Where no value is left, the algebra says DoesNotExist, which a node without the label meets.
    if any(requirements[key].operator is Operator.DOES_NOT_EXIST for key in needed):
        return None
    # Exists and NotIn of one label merge into NotIn, which a node without the label would meet. The Exists is
    # kept beside it.
    negative = [key for key in sorted(needed) if requirements[key].negative]
    if not negative:
        return requirements, ANYTHING
    return requirements, Requirements(Requirement.of(key, Operator.EXISTS) for key in negative)
