"""LimitRanges: defaults and bounds for what the containers and pods of a namespace ask for.

Source: the LimitRanger admission plugin of Kubernetes, whose words the problems have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from treenail.domain.model.pod_parts import ContainerNeeds, PodParts
from treenail.domain.model.resources import CPU, NOTHING, Resources, format_amount


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRangeItem:
    """Bounds for each container, or for each pod as a whole. `ratio` is the most of limit to request.

    Defaults are those that the API server completes: the largest is the default limit, and so on.
    """

    kind: Literal["Container", "Pod"]
    least: Resources = NOTHING
    most: Resources = NOTHING
    limits: Resources = NOTHING
    requests: Resources = NOTHING
    ratio: Mapping[str, Fraction]

    def problems(self, requests: Resources, limits: Resources) -> Iterator[str]:
        """Yield why a container or pod with these requests and limits is not within the bounds."""
        for name, bound in sorted(self.least.items()):
            yield from self._below(name, bound, requests, limits)
        for name, bound in sorted(self.most.items()):
            yield from self._above(name, bound, requests, limits)
        for name, most in sorted(self.ratio.items()):
            yield from self._beyond(name, most, requests, limits)

    def _below(self, name: str, bound: int, requests: Resources, limits: Resources) -> Iterator[str]:
        begin = f"minimum {name} usage per {self.kind} is {format_amount(name, bound)}"
        if name not in requests:
            yield f"{begin}.  No request is specified"
        elif requests[name] < bound:
            yield f"{begin}, but request is {format_amount(name, requests[name])}"
        elif limits.get(name, bound) < bound:
            yield f"{begin}, but limit is {format_amount(name, limits[name])}"

    def _above(self, name: str, bound: int, requests: Resources, limits: Resources) -> Iterator[str]:
        begin = f"maximum {name} usage per {self.kind} is {format_amount(name, bound)}"
        if name not in limits:
            yield f"{begin}.  No limit is specified"
        elif limits[name] > bound:
            yield f"{begin}, but limit is {format_amount(name, limits[name])}"
        elif requests.get(name, bound) > bound:
            yield f"{begin}, but request is {format_amount(name, requests[name])}"

    def _beyond(self, name: str, most: Fraction, requests: Resources, limits: Resources) -> Iterator[str]:
        begin = f"{name} max limit to request ratio per {self.kind} is {float(most):g}"
        if not requests.get(name):
            yield f"{begin}, but no request is specified or request is 0"
        elif not limits.get(name):
            yield f"{begin}, but no limit is specified or limit is 0"
        elif Fraction(limits[name], requests[name]) > most:
            yield f"{begin}, but provided ratio is {limits[name] / requests[name]:f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRange:
    """A LimitRange."""

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: int = 0
    items: tuple[LimitRangeItem, ...] = ()


def completed(parts: PodParts, ranges: Iterable[LimitRange]) -> PodParts:
    """Return the parts of a pod with the defaults of the `ranges` of its namespace, the first one's first."""
    containers = parts.containers
    for one in ranges:
        for item in one.items:
            if item.kind == "Container":
                containers = tuple(_with_defaults(c, item) for c in containers)
    return parts if containers == parts.containers else replace(parts, containers=containers)


def _with_defaults(container: ContainerNeeds, item: LimitRangeItem) -> ContainerNeeds:
    return replace(
        container,
        requests=Resources({**item.requests, **container.requests}),
        limits=Resources({**item.limits, **container.limits}),
    )


def problems(parts: PodParts, ranges: Iterable[LimitRange]) -> list[str]:
    """Return why a pod is not within `ranges`, in the API server's words; nothing where it is."""
    together = parts.effective()
    return [
        problem
        for one in ranges
        for item in one.items
        for requests, limits in (
            [(c.requests, c.limits) for c in parts.containers] if item.kind == "Container" else [together]
        )
        for problem in item.problems(requests, limits)
    ]


def over_limit(parts: PodParts) -> str:
    """Return what is wrong where a default request is larger than a limit, "" where nothing is."""
    for container in parts.containers:
        for name, amount in sorted(container.requests.items()):
            if amount > container.limits.get(name, amount):
                limit = format_amount(name, container.limits[name])
                wanted = format_amount(name, amount)
                where = f"container {container.name}: resources.requests.{name}"
                return f"{where}: {wanted} must be less than or equal to {name} limit of {limit}"
    return ""


def ratio_of(name: str, amount: int) -> Fraction:
    """Return the ratio that an amount of a resource is written for: CPU is counted in thousandths."""
    return Fraction(amount, 1000 if name == CPU else 1)
