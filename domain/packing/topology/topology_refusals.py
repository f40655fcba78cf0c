"""Topology refusals: the terms that keep refused pods off the new nodes of a pool, with their counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from treenail.domain.model.pods import Expression, LabelSelector
from treenail.domain.packing.arrays.likeness import listed
from treenail.domain.packing.offers.option_order import OptionOrder
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.relaxation import RelaxationLevel
from treenail.domain.packing.pods.terms import Term, TermKind
from treenail.domain.packing.pods.topology_counts import TopologyGroup
from treenail.domain.packing.problem import Problem
from treenail.domain.packing.refusal_reasons import Reason, Values
from treenail.domain.packing.topology.choices import DomainChoice, DomainChoices
from treenail.domain.packing.topology.class_constraints import ConstraintReader, TopologyConstraints
from treenail.domain.packing.topology.spread_and_affinity_quotas import Restriction
from treenail.domain.packing.topology.universe import Universe

Blocked: TypeAlias = tuple[Reason, str, Values]
# A choice of domains, and what lets no pod into them.
_ByChoice: TypeAlias = tuple[DomainChoice, list[Restriction]]
# So many domains are named in a sentence.
_SHOWN: Final = 6


class Blockers:
    """Finds blockers by the counts of the topology groups after the last attempt."""

    def __init__(
        self,
        problem: Problem,
        constraint_reader: ConstraintReader,
        choices: DomainChoices,
        option_order: OptionOrder,
        universe: Universe,
    ) -> None:
        self._problem = problem
        self._constraint_reader = constraint_reader
        self._choices = choices
        self._option_order = option_order
        self._universe = universe

    def against(self, one: PodClass, level: RelaxationLevel, template: int) -> Blocked | None:
        """Return which term keeps pods of a class off new nodes of a template; None where none does."""
        # At the last level of the pod, with all preferences given up: what still bars it is required.
        constraints = self._constraint_reader.of(one, level)
        # Affinity per node comes first: a new node is empty, so whoever may not begin there can never go to
        # one.
        alone = next((r for r in constraints.together if not r.selects or _any(r.group)), None)
        if alone is not None:
            return self._without_colocated(alone)
        if not constraints.by_domain:
            return None
        options = self._option_order.options
        made = self._choices.of(level.demand, constraints.asked._replace(targets=()))
        found = ((c, options.of(template, c.demand)) for c in made)
        # Only domains in which a node would hold the pod are worth a word: elsewhere another reason came
        # first.
        choices = [c for c, option in found if option and self._option_order.holds(option, one.requests)]
        if not choices:
            return next(map(_no_domain, self._unknown(constraints, level, template)), None)
        blocked = [(choice, self._blocking(constraints, choice)) for choice in choices]
        # One open domain is enough: then topology is not what refuses the pod.
        return self._said(constraints, blocked) if all(blocking for _, blocking in blocked) else None

    def _unknown(
        self, constraints: TopologyConstraints, level: RelaxationLevel, template: int
    ) -> list[Restriction]:
        """Return the restrictions whose label new nodes of a template do not get, the pods' own first."""

        def has_values(key: str) -> bool:
            own = level.requirements.get(key)
            return any(own is None or own.has(value) for value in self._universe.of_pool(template, key))

        unknown = [r for r in constraints.by_domain if not has_values(r.group.term.key)]
        # The pod's own terms first: its owner can change them, but not the terms of others.
        return sorted(unknown, key=lambda r: not r.owned)

    def _blocking(self, constraints: TopologyConstraints, choice: DomainChoice) -> list[Restriction]:
        """Return the restrictions that let no pod into the domains of a choice."""
        return [
            r
            for r in constraints.by_domain
            if not r.allowed(choice.known, self._universe, constraints.strict)
        ]

    def _said(self, constraints: TopologyConstraints, blocked: Sequence[_ByChoice]) -> Blocked:
        """Describe what bars the domains with the fewest blockers, and then what bars the others."""
        # The nearest miss: where one term is in the way, one change would help. `min` takes the first of
        # equal ones, and choices have an order.
        choice, blocking = min(blocked, key=lambda pair: len(pair[1]))
        # Restrictions have an order, the pod's own first: the sentence is about what its author can change.
        by = blocking[0]
        key = by.group.term.key
        domains = _domains(by, blocked)
        # In the other domains something else is in the way. It is said too, or the advice would seem to be
        # wrong.
        elsewhere = [pair for pair in blocked if by not in pair[1]]
        if by.owned and by.group.term.kind is TermKind.SPREAD:
            reason, detail, values = self._uneven(constraints, domains, choice.known[key], by)
        elif by.owned and by.group.term.kind is TermKind.TOGETHER:
            reason, detail, values = self._without_colocated(by)
        else:
            reason, detail, values = _too_near(by, domains, everywhere=not elsewhere)
        # A dictionary for a set: it keeps the order, so that the sentence is the same each time.
        others = dict.fromkeys(blocking[0] for _, blocking in elsewhere)
        also = (f"; {_keeping(other)} {listed(_domains(other, elsewhere), _SHOWN)}" for other in others)
        return reason, detail + "".join(also), values

    def _uneven(
        self, constraints: TopologyConstraints, domains: Sequence[str], at: str, by: Restriction
    ) -> Blocked:
        term, counts = by.group.term, by.group.counts
        floor = int(by.floor(self._universe, constraints.strict))
        measured = self._universe.of(by.group, constraints.strict.get(term.key))
        shown = _counted(measured, counts)
        # The maxSkew with which one more pod would fit: advice proposes exactly that.
        needed = counts.get(at, 0) - floor + (1 if by.selects else 0)
        detail = f"its spread over {term.key} (maxSkew {term.max_skew}) lets no more into "
        detail += f"{listed(domains, _SHOWN)}: the pods counted are {shown}"
        if len(measured) < term.min_domains:
            detail += f", in {len(measured)} of the {term.min_domains} domains it wants at least"
        asked = f"maxSkew {term.max_skew}"
        if term.min_domains:
            asked += f", minDomains {term.min_domains}"
        values = Values(term.key, asked, tuple(f"{d}={counts.get(d, 0)}" for d in measured), str(needed))
        return Reason.TOPOLOGY_SPREAD, detail, values

    def _without_colocated(self, by: Restriction) -> Blocked:
        """Return the refusal where the pods to be near are elsewhere, and the domains that have such pods."""
        term = by.group.term
        wanted = said(term.selector)
        held = sorted(domain for domain, count in by.group.counts.items() if count)
        # There are such pods, and still no place beside them: it is room that lacks, not pods.
        if _any(by.group):
            where = f" (they are in {listed(held, _SHOWN)})" if held else ""
            detail = f"it must share its {term.key} with pods of {wanted}, where it finds no room{where}"
            return Reason.POD_AFFINITY, detail, Values(term.key, wanted, tuple(held))
        # A frequent mistake: the selector is right, and the pods are in another namespace.
        elsewhere = self._namespaces_with(term)
        asked_in = f"namespace {', '.join(term.namespaces)}" if term.namespaces else "no namespace"
        none = (
            f"none of those in {asked_in} has a place"
            # There may be such pods in the batch that got no place either. Telling the user that there are
            # none would send them looking for a typing error.
            if self._waiting(term)
            else f"there are none in {asked_in}"
        )
        detail = f"it must share its {term.key} with pods of {wanted}, and {none}"
        if elsewhere:
            detail += f"; there are some in namespace {elsewhere[0]}"
            values = Values(term.key, wanted, tuple(elsewhere), elsewhere[0])
            return Reason.POD_AFFINITY_NAMESPACE, detail, values
        return Reason.POD_AFFINITY, detail, Values(term.key, wanted)

    def _waiting(self, term: Term) -> bool:
        """Return whether there are pods to be placed that `term` selects."""
        return any(term.selects(pod.namespace, pod.labels) for pod in self._problem.pods)

    def _namespaces_with(self, term: Term) -> list[str]:
        """Return the other namespaces, sorted, with pods whose labels `term` selects."""
        if term.selector is None:
            return []
        # Pods of the batch and residents: whoever is on a node, or about to be, could be what was meant.
        found = {pod.namespace for pod in self._problem.pods if term.selector.selects(pod.labels)}
        for existing_node in self._problem.existing_nodes:
            for resident, _ in existing_node.residents:
                if resident.namespace not in found and term.selector.selects(dict(resident.labels)):
                    found.add(resident.namespace)
        return sorted(found.difference(term.namespaces))


def _any(group: TopologyGroup) -> bool:
    """Return whether there are any pods that the group counts."""
    return bool(group.on_new or group.on_existing_nodes.any()) or any(group.counts.values())


def _no_domain(by: Restriction) -> Blocked:
    term = by.group.term
    if not by.owned:
        others = f"there are pods that keep apart from pods of {said(term.selector)}, as it is one"
        detail = f"{others}, by {term.key}, which the pool does not define for a new node"
        return Reason.OTHERS_ANTI_AFFINITY, detail, Values(term.key, said(term.selector))
    reason = {
        TermKind.SPREAD: Reason.TOPOLOGY_SPREAD,
        TermKind.TOGETHER: Reason.POD_AFFINITY,
        TermKind.APART: Reason.POD_ANTI_AFFINITY,
    }[term.kind]
    detail = f"its {_named(term)} needs to know the {term.key} of a new node, which the pool does not define"
    return reason, detail, Values(term.key, said(term.selector))


def _named(term: Term) -> str:
    names = {
        TermKind.SPREAD: "spread",
        TermKind.TOGETHER: "pod affinity",
        TermKind.APART: "pod anti-affinity",
    }
    return f"{names[term.kind]} over {term.key}"


def _domains(by: Restriction, blocked: Sequence[_ByChoice]) -> list[str]:
    """Return the domains, in the order of the choices, that a restriction keeps pods from."""
    key = by.group.term.key
    return list(dict.fromkeys(c.known[key] for c, blocking in blocked if by in blocking and key in c.known))


def _keeping(by: Restriction) -> str:
    """Return the beginning of the sentence that a restriction keeps pods from some domains."""
    if by.owned:
        return f"its {_named(by.group.term)} keeps it from"
    return f"pods that keep apart from pods of {said(by.group.term.selector)} are in"


def _too_near(by: Restriction, domains: Sequence[str], *, everywhere: bool) -> Blocked:
    term = by.group.term
    wanted = said(term.selector)
    # Anti-affinity bars in both directions. Which of the two it is decides whose manifest must change.
    values = Values(term.key, wanted, tuple(domains))
    where = (
        f"every {term.key} it could go to: {listed(domains, _SHOWN)}"
        if everywhere
        else listed(domains, _SHOWN)
    )
    if by.owned:
        detail = f"it must keep apart from pods of {wanted}, and there are some in {where}"
        return Reason.POD_ANTI_AFFINITY, detail, values
    detail = f"there are pods that keep apart from pods of {wanted}, as it is one, in {where}"
    return Reason.OTHERS_ANTI_AFFINITY, detail, values


def _counted(domains: Sequence[str], counts: Mapping[str, int]) -> str:
    return listed([f"{counts.get(domain, 0)} in {domain}" for domain in domains], _SHOWN)


def said(selector: LabelSelector | None) -> str:
    """Return a selector of pods as a person would write it."""
    if selector is None:
        return "no label at all"
    parts = [f"{key}={value}" for key, value in selector.match_labels]
    parts += [said_expression(e) for e in selector.expressions]
    return " and ".join(parts) or "any label"


def said_expression(expression: Expression) -> str:
    """Return an expression as a person would write it."""
    values = f" [{', '.join(expression.values)}]" if expression.values else ""
    return f"{expression.key} {expression.operator.value}{values}"
