"""ResourceQuotas: how much the pods of a namespace may ask for together, and how many objects it may have.

Source: the ResourceQuota admission plugin and the pod evaluator of Kubernetes, whose words the problems have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from treenail.domain.model.pod_parts import PodParts
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    NOTHING,
    PODS,
    Resources,
    format_amount,
)

REQUESTS: Final = "requests."
LIMITS: Final = "limits."
_COUNT_PODS: Final = "count/pods"
_HUGE_PAGES: Final = "hugepages-"
_COMPUTE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
# What each container must say itself where a quota limits it.
_TO_BE_SAID: Final = frozenset({CPU, MEMORY}) | {p + r for p in (REQUESTS, LIMITS) for r in (CPU, MEMORY)}


class Scope(StrEnum):
    """The pods that a quota may be restricted to."""

    BEST_EFFORT = "BestEffort"
    NOT_BEST_EFFORT = "NotBestEffort"
    TERMINATING = "Terminating"
    NOT_TERMINATING = "NotTerminating"
    PRIORITY_CLASS = "PriorityClass"
    CROSS_NAMESPACE = "CrossNamespacePodAffinity"


class ScopeOperator(StrEnum):
    """The operator by which a scope's value is compared."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class ScopeTerm:
    """A scope, or a term of a scope selector. Of all scopes only PriorityClass has values."""

    scope: Scope
    operator: ScopeOperator = ScopeOperator.EXISTS
    values: tuple[str, ...] = ()

    def matches(self, spec: PodSpec, namespace: str) -> bool:
        """Return whether a pod of this spec in `namespace` is within the scope."""
        match self.scope:
            case Scope.BEST_EFFORT:
                return _best_effort(spec)
            case Scope.NOT_BEST_EFFORT:
                return not _best_effort(spec)
            case Scope.TERMINATING:
                return _bounded(spec)
            case Scope.NOT_TERMINATING:
                return not _bounded(spec)
            case Scope.CROSS_NAMESPACE:
                return _reaches_other_namespaces(spec, namespace)
            case Scope.PRIORITY_CLASS:
                return self._of_class(spec.priority_class)

    def _of_class(self, name: str) -> bool:
        match self.operator:
            case ScopeOperator.IN:
                return name in self.values
            case ScopeOperator.NOT_IN:
                return name not in self.values
            case ScopeOperator.EXISTS:
                return bool(name)
            case ScopeOperator.DOES_NOT_EXIST:
                return not name


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceQuota:
    """A ResourceQuota. CPU is counted in thousandths of a core in `hard` and `used`, whatever its prefix."""

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: int = 0
    hard: Resources = NOTHING
    scopes: tuple[ScopeTerm, ...] = ()
    used: Resources = NOTHING

    @property
    def key(self) -> str:
        """The namespace and name, "shop/small"."""
        return f"{self.namespace}/{self.name}"

    def counts(self, spec: PodSpec) -> bool:
        """Return whether pods of its namespace with this spec are within its scopes."""
        return all(term.matches(spec, self.namespace) for term in self.scopes)

    def charge(self, pod: Pod) -> Resources:
        """Return what a pod takes of it: nothing where it does not count."""
        if pod.namespace != self.namespace or not self.counts(pod.spec):
            return NOTHING
        charged = pod_charge(pod.spec) if not pod.terminal else {_COUNT_PODS: 1}
        return Resources((name, amount) for name, amount in charged.items() if name in self.hard)

    def refusal(self, charged: Resources, parts: PodParts | None = None) -> str:
        """Return why an object that takes `charged` may not be made, "" where it may."""
        unsaid = _unsaid(parts, frozenset(self.hard)) if parts is not None else ""
        if unsaid:
            return f"failed quota: {self.name}: must specify {unsaid}"
        beyond = [n for n in sorted(charged) if self.used.get(n, 0) + charged[n] > self.hard[n]]
        if not beyond:
            return ""
        told = ", ".join(
            f"{what}: {','.join(f'{name}={shown(name, of.get(name, 0))}' for name in beyond)}"
            for what, of in (("requested", charged), ("used", self.used), ("limited", self.hard))
        )
        return f"exceeded quota: {self.name}, {told}"


def resource_of(name: str) -> str:
    """Return the resource whose unit an entry of a quota has: "cpu" of "limits.cpu"."""
    return name.removeprefix(REQUESTS).removeprefix(LIMITS)


def shown(name: str, amount: int) -> str:
    """Write an amount of an entry of a quota."""
    return format_amount(resource_of(name), amount)


def pod_charge(spec: PodSpec) -> dict[str, int]:
    """Return what a pod that has not ended takes, by the names of quotas."""
    charged = {PODS: 1, _COUNT_PODS: 1}
    for name, amount in spec.requests.items():
        if name == PODS:
            continue
        charged[REQUESTS + name] = amount
        if name in _COMPUTE or name.startswith(_HUGE_PAGES):
            charged[name] = amount
    for name in _COMPUTE:
        if name in spec.limits:
            charged[LIMITS + name] = spec.limits[name]
    return charged


def simulated(name: str, counted: Iterable[str]) -> bool:
    """Return whether an entry of a quota is acted on: those of pods, and of the `counted` objects."""
    resource = resource_of(name)
    of_storage = resource == "storage" or ".storageclass.storage.k8s.io/" in name
    of_pods = name == PODS or resource in _COMPUTE or resource.startswith(_HUGE_PAGES)
    extended = name.startswith(REQUESTS) and "/" in resource
    return name in counted or name == _COUNT_PODS or ((of_pods or extended) and not of_storage)


def _unsaid(parts: PodParts, hard: frozenset[str]) -> str:
    """Return what containers must say, as the API server puts it: "limits.cpu for: a,b; memory for: a"."""
    wanted = sorted(hard & _TO_BE_SAID)
    lacking = {
        name: [c.name for c in parts.containers if not _says(name, c.requests, c.limits)]
        for name in wanted
        if not _says(name, parts.requests, parts.limits)
    }
    return "; ".join(f"{name} for: {','.join(who)}" for name, who in lacking.items() if who)


def _says(name: str, requests: Resources, limits: Resources) -> bool:
    return resource_of(name) in (limits if name.startswith(LIMITS) else requests)


def _best_effort(spec: PodSpec) -> bool:
    return not any(amounts.get(name) for amounts in (spec.requests, spec.limits) for name in (CPU, MEMORY))


def _bounded(spec: PodSpec) -> bool:
    return spec.parts is not None and spec.parts.bounded


def _reaches_other_namespaces(spec: PodSpec, namespace: str) -> bool:
    return any(
        term.namespace_selector is not None or any(name != namespace for name in term.namespaces)
        for term in spec.pod_affinity
    )
