"""The parsed problem: pods as classes, and those set aside that no node could ever hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.taints import Effect
from treenail.domain.packing.arrays.arrays import Axis, Floats
from treenail.domain.packing.identity import distinct, numbering
from treenail.domain.packing.pods.classes import PodClass, PodKind, alike, by_spec
from treenail.domain.packing.pods.demands import Demands
from treenail.domain.packing.pods.relaxation import NOWHERE_SPECIAL, Relaxation, Wants, relaxation_of
from treenail.domain.packing.pods.terms import NO_TERMS, TermKind, TermReader, Terms
from treenail.domain.packing.pods.topology_counts import TopologyGroups
from treenail.domain.packing.problem import PreferencePolicy, Problem
from treenail.domain.packing.refusal_reasons import Reason, Refusal, Values

# The label every namespace has of itself.
_NAMESPACE_NAME = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedProblem:
    """The pods of a problem, parted by kind.

    `parts` are all of them; a part's number is its place. `classes` are the parts that can be packed, and
    `refused` says, by number, why the others cannot.
    """

    axis: Axis
    parts: tuple[tuple[PodKind, tuple[Pod, ...]], ...]
    groups: TopologyGroups
    demands: Demands
    classes: list[PodClass] = field(default_factory=list)
    refused: dict[int, Refusal] = field(default_factory=dict)

    def set_aside(self, index: int, error: Exception) -> None:
        """Leave out the part `index`, on which packing failed with `error`; the rest goes on without it."""
        self.classes[:] = [one for one in self.classes if one.index != index]
        detail = f"it was set aside, for packing it failed: {type(error).__name__}: {error}"
        self.refused[index] = Refusal("", Reason.SET_ASIDE, detail)


def read(problem: Problem) -> ParsedProblem:
    """Part the pods of `problem` into classes."""
    return _ProblemParser(problem).read()


class _ProblemParser:
    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        # Single pods are looked at here and in `alike`. Whatever follows is done for each spec or class.
        self._by_spec = by_spec(problem.pods)
        self._terms = TermReader(_namespaces(problem))
        self._groups = TopologyGroups(problem.existing_nodes, self._terms)
        self._soft = _soft_taints(problem)
        self._demands = Demands()
        self._relaxations: dict[object, Relaxation] = {}
        self._known_terms: dict[object, Terms] = {}
        # Pods of one spec whose labels say nothing more have the same relaxation levels. Equal specs are one
        # object here, for `by_spec` keeps the first of them.
        self._of_spec: dict[tuple[int, str], Relaxation] = {}
        self._numbers = numbering()
        self._rows: dict[object, Floats] = {}
        vectors = [spec.requests for spec, _ in self._by_spec]
        self._axis = Axis(vectors + [daemon.requests for daemon in problem.daemons])

    def read(self) -> ParsedProblem:
        # Before classes are made: a class is told then which groups count its pods, and residents make some
        # of them.
        self._groups.oppose_residents()
        looked_at = _looked_at(self._problem, [spec for spec, _ in self._by_spec])
        parsed = ParsedProblem(
            axis=self._axis,
            parts=tuple(alike(self._by_spec, looked_at, self._problem.volumes)),
            groups=self._groups,
            demands=self._demands,
        )
        relaxations: dict[int, Relaxation] = {}
        for index, (kind, pods) in enumerate(parsed.parts):
            # What no node could help is refused here: no attempt sees it, and no advice tries pools for it.
            reason = _refused(kind)
            if reason is not None:
                parsed.refused[index] = reason
                continue
            try:
                relaxations[index] = self._relaxation(kind, pods[0].labels)
            except Exception as error:  # noqa: BLE001 (whatever is wrong with one class, the others must go on)
                parsed.set_aside(index, error)
        # Two passes: all terms must be groups before the first class is asked which groups count it.
        for index, relaxation in relaxations.items():
            kind, pods = parsed.parts[index]
            try:
                parsed.classes.append(self._class(index, kind, pods, relaxation))
            except Exception as error:  # noqa: BLE001 (as above)
                parsed.set_aside(index, error)
        return parsed

    def _relaxation(self, kind: PodKind, of: Mapping[str, str]) -> Relaxation:
        """Return the relaxation levels of a kind of pods; their terms are groups from then on."""
        # Pods of one spec may differ in these: each kind has its own.
        if kind.volumes is not None or any(spread.match_label_keys for spread in kind.spec.spread):
            return self._relaxation_of(kind, of)
        key = (self._numbers[kind.spec], kind.namespace)
        if key not in self._of_spec:
            self._of_spec[key] = self._relaxation_of(kind, of)
        return self._of_spec[key]

    def _relaxation_of(self, kind: PodKind, of: Mapping[str, str]) -> Relaxation:
        spec = kind.spec
        terms = self._read_terms(kind, of)
        volumes = kind.volumes.alternatives if kind.volumes is not None else NOWHERE_SPECIAL
        # Requests and labels are left out: pods of many sizes share their levels. Equal terms are one object:
        # `_read_terms` interns them.
        key = (spec.node_selector, spec.node_affinity, spec.tolerations, self._numbers[terms], volumes)
        if key not in self._relaxations:
            # With preferences ignored there is one level for each required alternative, as in Karpenter.
            wishes = self._problem.settings.preferences is PreferencePolicy.RESPECT
            wants = Wants(terms, volumes, self._soft, wishes)
            self._relaxations[key] = relaxation = relaxation_of(spec, wants, self._demands)
            for term in terms.hard:
                # Required anti-affinity keeps others off. Host ports conflict in both directions by
                # themselves.
                if term.kind is TermKind.APART and term.port is None:
                    self._groups.keep_apart(term)
            for term in (term for level in relaxation.levels for term in level.terms):
                self._groups.ask(term)
        return self._relaxations[key]

    def _read_terms(self, kind: PodKind, of: Mapping[str, str]) -> Terms:
        spec = kind.spec
        # The usual case: such pods share one object, and so one relaxation for each different node affinity.
        if not (spec.spread or spec.pod_affinity or spec.host_ports):
            return NO_TERMS
        keys = [key for spread in spec.spread for key in spread.match_label_keys]
        # A spread looks past nodes that its pod could not go to, so there what the pod asks of nodes is part
        # of the term.
        own = (spec.node_selector, spec.node_affinity.required, spec.tolerations) if spec.spread else None
        key = (
            spec.spread,
            spec.pod_affinity,
            spec.host_ports,
            kind.namespace,
            tuple((key, of[key]) for key in keys if key in of),
            own,
        )
        if key not in self._known_terms:
            self._known_terms[key] = self._terms.read(spec, kind.namespace, of)
        return self._known_terms[key]

    def _class(self, index: int, kind: PodKind, pods: tuple[Pod, ...], relaxation: Relaxation) -> PodClass:
        counted = self._groups.matching(kind.namespace, kind.labels, kind.spec.host_ports)
        asked = kind.spec.requests
        row = self._rows.get(asked)
        if row is None:
            # Equal requests share one array, as results for it are cached by identity.
            row = self._rows[asked] = self._axis.requests(asked)
        return PodClass(index, kind, pods, row, relaxation, counted)


def _refused(kind: PodKind) -> Refusal | None:
    """Return why no node would do for the pods of a kind, whatever it is like."""
    if kind.spec.resource_claims and (kind.volumes is None or kind.volumes.device_problem):
        name = kind.spec.resource_claims[0].name
        unknown = f"it has the resource claim {name}: nodes are not chosen by such claims"
        detail = kind.volumes.device_problem if kind.volumes is not None else unknown
        return Refusal("", Reason.RESOURCE_CLAIM, detail, Values(name, name))
    if kind.spec.volumes and kind.volumes is None:
        name = kind.spec.volumes[0].name
        return Refusal("", Reason.VOLUME_CLAIM, f"nothing is known of the volume {name}", Values(name))
    if kind.volumes is not None and kind.volumes.problem:
        return Refusal("", Reason.VOLUME_CLAIM, kind.volumes.problem)
    return None


def _looked_at(problem: Problem, specs: list[PodSpec]) -> tuple[str, ...] | None:
    """Return, sorted, the labels of pods that some selector of pods looks at; None where there is none."""
    residents = distinct(
        one for node in problem.existing_nodes for one, _ in node.residents if one.anti_affinity
    )
    selectors = {term.selector for one in residents for term in one.anti_affinity}
    keys: set[str] = set()
    for spec in specs:
        for spread in spec.spread:
            selectors.add(spread.selector)
            keys.update(spread.match_label_keys)
        for term in spec.pod_affinity:
            selectors.add(term.selector)
    # Keys, not values: a label that some selector names may be in any of its expressions, and pods that
    # differ by it must stay apart.
    for selector in selectors:
        if selector is not None:
            keys.update(key for key, _ in selector.match_labels)
            keys.update(e.key for e in selector.expressions)
    return tuple(sorted(keys)) if selectors else None


def _namespaces(problem: Problem) -> dict[str, Mapping[str, str]]:
    """Return the labels of all namespaces; of one that only pods tell of, its name."""
    # A namespace may be unknown: its labels may not be seen, or it is newer than the snapshot. Its name is
    # certain, and selectors by name are the most frequent.
    found = dict(problem.namespaces)
    for pod in problem.pods:
        if pod.namespace not in found:
            found[pod.namespace] = {_NAMESPACE_NAME: pod.namespace}
    for existing_node in problem.existing_nodes:
        for resident, _ in existing_node.residents:
            if resident.namespace not in found:
                found[resident.namespace] = {_NAMESPACE_NAME: resident.namespace}
    return found


def _soft_taints(problem: Problem) -> bool:
    taints = [t for existing_node in problem.existing_nodes for t in existing_node.taints]
    taints += [t for offer in problem.offers for t in offer.pool.taints]
    return any(t.effect is Effect.PREFER_NO_SCHEDULE for t in taints)
