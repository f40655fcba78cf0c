"""Pods as a checker needs them: those that nothing tells apart are of one shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tests.fuzz.check.amounts import Amounts, pod_requests
from tests.fuzz.check.label_values import Labels, Selector, Term, allowed, term

Written: TypeAlias = Mapping[str, Any]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class Spread:
    """A topology spread constraint, with the keys of matchLabelKeys put into its selector."""

    key: str
    max_skew: int
    selector: Selector
    hard: bool
    min_domains: int
    honor_affinity: bool
    honor_taints: bool


@dataclass(frozen=True)
class PodTerm:
    """Pods to share a domain with, or (`anti`) not to; `weight` where that is only preferred."""

    key: str
    selector: Selector
    anti: bool
    namespaces: frozenset[str]
    namespace_selector: Selector
    weight: int | None = None


@dataclass(frozen=True)
class Port:
    number: int
    protocol: str
    ip: str

    def conflicts(self, other: Port) -> bool:
        anywhere = {"0.0.0.0", "::"}  # noqa: S104
        shared = self.ip == other.ip or self.ip in anywhere or other.ip in anywhere
        return (self.number, self.protocol) == (other.number, other.protocol) and shared


@dataclass(frozen=True, eq=False)
class Shape:
    """What alike pods ask for. `terms`: a node's labels must meet one; `wishes` are (weight, term)."""

    namespace: str
    labels: Labels
    requests: Amounts
    tolerations: tuple[Written, ...]
    terms: tuple[Term, ...]
    wishes: tuple[tuple[int, Term], ...]
    spreads: tuple[Spread, ...]
    pod_terms: tuple[PodTerm, ...]
    ports: tuple[Port, ...]
    volumes: tuple[Written, ...]

    @classmethod
    def of(cls, namespace: str, labels: Labels, spec: Written) -> Shape:
        affinity = spec.get("affinity") or {}
        return cls(
            namespace=namespace,
            labels=labels,
            requests=pod_requests(spec),
            tolerations=tuple(spec.get("tolerations") or ()),
            terms=_terms(spec),
            wishes=tuple(
                (wish["weight"], term(wish["preference"].get("matchExpressions")))
                for wish in (affinity.get("nodeAffinity") or {}).get(_PREFERRED, ())
            ),
            spreads=tuple(_spread(s, labels) for s in spec.get("topologySpreadConstraints") or ()),
            pod_terms=tuple(_pod_terms(affinity, namespace)),
            ports=tuple(_ports(spec)),
            volumes=tuple(v for v in spec.get("volumes") or () if _claims(v)),
        )


def _claims(volume: Written) -> bool:
    return "persistentVolumeClaim" in volume or "ephemeral" in volume


def _terms(spec: Written) -> tuple[Term, ...]:
    selected = [(key, allowed("In", [value])) for key, value in (spec.get("nodeSelector") or {}).items()]
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
    written = required["nodeSelectorTerms"] if required else [{}]
    return tuple((*selected, *term(one.get("matchExpressions") or ())) for one in written)


def _spread(written: Written, labels: Labels) -> Spread:
    selector = Selector.of(written.get("labelSelector"))
    told = [
        (key, allowed("In", [labels[key]])) for key in written.get("matchLabelKeys") or () if key in labels
    ]
    return Spread(
        key=written["topologyKey"],
        max_skew=written["maxSkew"],
        selector=Selector((*selector.lines, *told), selector.nothing),
        hard=written["whenUnsatisfiable"] == "DoNotSchedule",
        min_domains=written.get("minDomains") or 1,
        honor_affinity=written.get("nodeAffinityPolicy", "Honor") == "Honor",
        honor_taints=written.get("nodeTaintsPolicy", "Ignore") == "Honor",
    )


def _pod_terms(affinity: Written, namespace: str) -> list[PodTerm]:
    found = []
    for kind, anti in (("podAffinity", False), ("podAntiAffinity", True)):
        written = affinity.get(kind) or {}
        found += [_pod_term(one, namespace, anti=anti) for one in written.get(_REQUIRED, ())]
        found += [
            _pod_term(one["podAffinityTerm"], namespace, anti=anti, weight=one["weight"])
            for one in written.get(_PREFERRED, ())
        ]
    return found


def _pod_term(written: Written, namespace: str, *, anti: bool, weight: int | None = None) -> PodTerm:
    names, selector = written.get("namespaces") or (), written.get("namespaceSelector")
    own = not names and selector is None
    return PodTerm(
        key=written["topologyKey"],
        selector=Selector.of(written.get("labelSelector")),
        anti=anti,
        namespaces=frozenset([namespace] if own else names),
        namespace_selector=Selector.of(selector),
        weight=weight,
    )


def _ports(spec: Written) -> list[Port]:
    containers = [*spec.get("containers", ()), *spec.get("initContainers", ())]
    return [
        Port(port["hostPort"], port.get("protocol", "TCP"), port.get("hostIP") or "0.0.0.0")  # noqa: S104
        for container in containers
        for port in container.get("ports") or ()
        if port.get("hostPort")
    ]


@dataclass(frozen=True)
class Pod:
    """A pod; `node` where it is bound. One that is `leaving` or that a DaemonSet owns is said to be."""

    name: str
    shape: Shape
    node: str = ""
    leaving: bool = False
    daemon: bool = False
