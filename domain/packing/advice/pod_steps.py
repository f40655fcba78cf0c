"""Changes of a pod other than of what it demands of a node's labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from treenail.domain.model.pods import (
    HostPort,
    LabelSelector,
    PodAffinityTerm,
    PodSpec,
    TopologySpread,
)
from treenail.domain.model.resources import PODS, Resources, format_amount
from treenail.domain.model.taints import Taint, Toleration, TolerationOperator
from treenail.domain.packing.advice.step import Step, of_pod, written
from treenail.domain.packing.problem import Problem, Resident
from treenail.domain.packing.remedies import ChangeKind, Fragment

# Sizes, on the scale of `Step`. Less than 2 puts right what cannot have been meant, 2 to 3 asks for something
# else of the same kind, more gives something up: the pod keeps less of what its author wanted.
_TOLERATE: Final = 2.0
_LOWER: Final = 2.0
# A request lowered a little is a small change, and one lowered to next to nothing a large one.
_LOWER_TO_NOTHING: Final = 4.0
_RENAME: Final = 1.0
_DROP_REQUEST: Final = 3.5
_CHANGE_PORT: Final = 2.0
_RAISE_SKEW: Final = 2.5
# Larger than raising maxSkew by one: that keeps the spread, this gives it up.
_SCHEDULE_ANYWAY: Final = 3.0
_ADD_NAMESPACE: Final = 1.5
_DROP_AFFINITY: Final = 3.5
_DROP_CLAIM: Final = 4.0


def tolerate(taint: Taint) -> Step:
    """Let the pod tolerate `taint`."""
    # Equal with an empty value would tolerate it too, but nobody writes it so.
    exists = not taint.value
    operator = TolerationOperator.EXISTS if exists else TolerationOperator.EQUAL
    toleration = Toleration(taint.key, operator, taint.value, taint.effect)
    # As `kubectl explain` has it: Exists goes without a value, and Equal needs one.
    after: Fragment = {
        "key": taint.key,
        "operator": operator.value,
        **({} if exists else {"value": taint.value}),
        "effect": taint.effect.value,
    }
    return of_pod(
        ChangeKind.ADD_TOLERATION,
        "spec.tolerations[]",
        (None, after),
        f"it tolerated {taint}",
        _TOLERATE,
        lambda spec: replace(spec, tolerations=(*spec.tolerations, toleration)),
    )


def lower(spec: PodSpec, name: str, to: int) -> Iterable[Step]:
    """Let the pod ask for no more than `to` of a resource, where that is less and not nothing."""
    asked = spec.requests.get(name, 0)
    # Every pod takes one place of the resource `pods`: there is nothing to lower. To ask for nothing is a
    # change of its own.
    if name == PODS or not 0 < to < asked:
        return
    before, after = format_amount(name, asked), format_amount(name, to)
    yield of_pod(
        ChangeKind.LOWER_REQUEST,
        _request_path(spec, name),
        ({name: before}, {name: after}),
        f"it asked for {after} of {name} instead of {before}",
        _LOWER + (_LOWER_TO_NOTHING - _LOWER) * (1.0 - to / asked),
        lambda spec: replace(spec, requests=Resources({**spec.requests, name: to})),
    )


def rename(spec: PodSpec, name: str, to: str) -> Step:
    """Let the pod ask for as much of the resource `to`."""
    # As much of it as was asked for under the wrong name: the number was meant, the name was not.
    amount = spec.requests[name]
    as_text = format_amount(name, amount)
    return of_pod(
        ChangeKind.RENAME_RESOURCE,
        _request_path(spec, name),
        ({name: as_text}, {to: as_text}),
        f"it asked for {to} instead of {name}",
        _RENAME,
        lambda spec: replace(spec, requests=_without(spec, name).plus({to: amount})),
    )


def ask_nothing_of(spec: PodSpec, name: str) -> Step:
    """Let the pod do without a resource."""
    return of_pod(
        ChangeKind.DROP_REQUEST,
        _request_path(spec, name),
        # An amount of 0 would read as a request; the entry goes.
        ({name: format_amount(name, spec.requests[name])}, None),
        f"it did not ask for {name}",
        _DROP_REQUEST,
        lambda spec: replace(spec, requests=_without(spec, name)),
    )


def _without(spec: PodSpec, name: str) -> Resources:
    return Resources((n, a) for n, a in spec.requests.items() if n != name)


def _request_path(spec: PodSpec, name: str) -> str:
    """Return where the amount is written: of an extended resource the limit must be what is requested."""
    # Kubernetes refuses extended resources whose request differs from the limit, and takes the limit for the
    # request where only that is written.
    part = "limits" if "/" in name and name in spec.limits else "requests"
    return f"spec.containers[].resources.{part}"


def change_port(port: HostPort, taken: Iterable[int]) -> Step:
    """Let the pod have the next host port that nobody has."""
    others = frozenset(taken)
    # The next number, not any: people number ports in rows. Where all above are taken it stays, and packing
    # says that this does not help.
    free = next((n for n in range(port.port + 1, 65536) if n not in others), port.port)
    return of_pod(
        ChangeKind.CHANGE_HOST_PORT,
        "spec.containers[].ports[]",
        ({"hostPort": port.port}, {"hostPort": free}),
        f"it had the host port {free} instead of {port.port}",
        _CHANGE_PORT,
        lambda spec: replace(
            spec,
            host_ports=tuple(sorted(replace(p, port=free) if p == port else p for p in spec.host_ports)),
        ),
    )


def drop_resource_claim(name: str) -> Step:
    """Let the pod do without a resource claim."""
    return of_pod(
        ChangeKind.DROP_RESOURCE_CLAIM,
        "spec.resourceClaims[]",
        ({"name": name}, None),
        f"it did without the resource claim {name}",
        _DROP_CLAIM,
        lambda spec: replace(spec, resource_claims=tuple(c for c in spec.resource_claims if c.name != name)),
    )


def raise_max_skew(spread: TopologySpread, to: int) -> Step:
    """Let the pods be spread less evenly."""
    return _of_spread(
        ChangeKind.RAISE_MAX_SKEW,
        spread,
        replace(spread, max_skew=to),
        f"the maxSkew of its spread over {spread.topology_key} were {to}",
        _RAISE_SKEW,
    )


def schedule_anyway(spread: TopologySpread) -> Step:
    """Let a topology spread constraint be a wish."""
    return _of_spread(
        ChangeKind.SCHEDULE_ANYWAY,
        spread,
        # minDomains may only be set with DoNotSchedule: the API server would refuse the manifest.
        replace(spread, hard=False, min_domains=None),
        f"its spread over {spread.topology_key} were ScheduleAnyway",
        _SCHEDULE_ANYWAY,
    )


def _of_spread(
    kind: ChangeKind, old: TopologySpread, new: TopologySpread, condition: str, size: float
) -> Step:
    return of_pod(
        kind,
        "spec.topologySpreadConstraints[]",
        (_spread(old), _spread(new)),
        condition,
        size,
        lambda spec: replace(spec, spread=tuple(new if s == old else s for s in spec.spread)),
    )


def _spread(spread: TopologySpread) -> Fragment:
    fragment: dict[str, object] = {
        "topologyKey": spread.topology_key,
        "maxSkew": spread.max_skew,
        "whenUnsatisfiable": "DoNotSchedule" if spread.hard else "ScheduleAnyway",
    }
    return {**fragment, "minDomains": spread.min_domains} if spread.min_domains is not None else fragment


def drop_affinity(term: PodAffinityTerm) -> Step:
    """Let the pod do without a required term of pod affinity or anti-affinity.

    Those of its kind that have their place do without it too: they come from the same template.
    """
    kind = "anti-affinity" if term.anti else "affinity"
    step = of_pod(
        ChangeKind.DROP_POD_AFFINITY,
        _affinity_path(term),
        (_term(term), None),
        f"it did without its pod {kind} over {term.topology_key}",
        _DROP_AFFINITY,
        lambda spec: replace(spec, pod_affinity=tuple(t for t in spec.pod_affinity if t != term)),
    )
    return (
        # Anti-affinity holds in both directions: residents of the template would still keep the pod off.
        # Affinity only binds who has it.
        replace(step, apply=lambda problem: step.apply(_without_term(problem, term))) if term.anti else step
    )


def _without_term(problem: Problem, term: PodAffinityTerm) -> Problem:
    """Return `problem` with `term` lifted from residents that are like its pods."""
    pod = problem.pods[0]
    labels = tuple(sorted(pod.labels.items()))

    def lifted(one: Resident) -> Resident:
        # Residents are known by labels, not by template: equal namespace and labels are taken for the same
        # one.
        if term not in one.anti_affinity or (one.namespace, one.labels) != (pod.namespace, labels):
            return one
        return replace(one, anti_affinity=tuple(t for t in one.anti_affinity if t != term))

    existing_nodes = (
        replace(r, residents=tuple((lifted(one), n) for one, n in r.residents))
        for r in problem.existing_nodes
    )
    return replace(problem, existing_nodes=tuple(existing_nodes))


def add_namespace(term: PodAffinityTerm, namespace: str, own: str) -> Step:
    """Let a term of pod affinity look into `namespace` too; naming none, it looks into the pod's `own`."""
    # Without any namespace a term looks into the pod's own. Once one is named, its own must be named too, or
    # it would look there no longer.
    wider = replace(term, namespaces=tuple(sorted({*(term.namespaces or (own,)), namespace})))
    return of_pod(
        ChangeKind.ADD_NAMESPACE,
        _affinity_path(term),
        (_term(term), {**_term(term), "namespaces": list(wider.namespaces)}),
        f"its pod affinity over {term.topology_key} counted the pods of namespace {namespace} too",
        _ADD_NAMESPACE,
        # A term is found by value: two equal terms of a pod mean the same, and change together.
        lambda spec: replace(spec, pod_affinity=tuple(wider if t == term else t for t in spec.pod_affinity)),
    )


def _affinity_path(term: PodAffinityTerm) -> str:
    part = "podAntiAffinity" if term.anti else "podAffinity"
    return f"spec.affinity.{part}.requiredDuringSchedulingIgnoredDuringExecution[]"


def _term(term: PodAffinityTerm) -> Fragment:
    # Only what tells terms of a pod apart for a reader: a diff of a whole term would bury the change.
    fragment: dict[str, object] = {"topologyKey": term.topology_key}
    if term.selector is not None:
        fragment["labelSelector"] = _selector(term.selector)
    return {**fragment, "namespaces": list(term.namespaces)} if term.namespaces else fragment


def _selector(selector: LabelSelector) -> Fragment:
    fragment: dict[str, object] = {}
    if selector.match_labels:
        fragment["matchLabels"] = dict(selector.match_labels)
    if selector.expressions:
        expressions = [written(e.key, e.operator, e.values) for e in selector.expressions]
        fragment["matchExpressions"] = expressions
    return fragment
