"""The parts of a pod's requests and limits: containers, the pod as a whole, and its overhead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from treenail.domain.model.resources import NOTHING, PODS, Resources

_ONE_POD: Final = Resources({PODS: 1})


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerNeeds:
    """The requests and limits of a container. An `init` container that always restarts is a `sidecar`."""

    name: str
    requests: Resources = NOTHING
    limits: Resources = NOTHING
    init: bool = False
    sidecar: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PodParts:
    """The parts that a pod's effective requests and limits are made of; `requests`, `limits` are its own.

    `bounded` says whether the pod may run for a limited time only (activeDeadlineSeconds).
    """

    containers: tuple[ContainerNeeds, ...] = ()
    requests: Resources = NOTHING
    limits: Resources = NOTHING
    overhead: Resources = NOTHING
    bounded: bool = False

    @property
    def admitted(self) -> PodParts | None:
        """The parts that are kept of a pod that was admitted: whether it is bounded."""
        return _BOUNDED if self.bounded else None

    def effective(self) -> tuple[Resources, Resources]:
        """Return effective requests, one of `pods` included, and effective limits; zeros are left out."""
        requests, limits = self.without_overhead()
        limits_overhead = {name: amount for name, amount in self.overhead.items() if name in limits}
        return _named(requests.plus(self.overhead).plus(_ONE_POD)), _named(limits.plus(limits_overhead))

    def without_overhead(self) -> tuple[Resources, Resources]:
        """Return requests and limits before overhead: the pod's own replace the sum of its containers.

        Its own limit alone is what is requested, unless a container requests some of that resource.
        """
        requests, limits = self.together()
        if not (self.requests or self.limits):
            return requests, limits
        return Resources({**self.limits, **requests, **self.requests}), Resources({**limits, **self.limits})

    def together(self) -> tuple[Resources, Resources]:
        """Return requests and limits of all containers together, as the scheduler counts them."""
        return (
            _together(self.containers, [c.requests for c in self.containers]),
            _together(self.containers, [c.limits for c in self.containers]),
        )


_BOUNDED: Final = PodParts(bounded=True)


def _together(containers: Sequence[ContainerNeeds], amounts: Iterable[Resources]) -> Resources:
    """Return the amounts of containers put together.

    Init containers run one after the other beside the sidecars before them; all others run together.
    """
    running = beside = peak = NOTHING
    for container, one in zip(containers, amounts, strict=True):
        if not container.init:
            running = running.plus(one)
        elif container.sidecar:
            running, beside = running.plus(one), beside.plus(one)
            peak = peak.largest(beside)
        else:
            peak = peak.largest(one.plus(beside))
    return running.largest(peak) if peak else running


def _named(amounts: Resources) -> Resources:
    return amounts if all(amounts.values()) else Resources((n, a) for n, a in amounts.items() if a)
