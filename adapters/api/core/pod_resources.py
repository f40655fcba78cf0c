"""Resource requests of a whole pod, counted as the scheduler counts them."""

from __future__ import annotations

from collections.abc import Sequence

from treenail.adapters.api.amounts import asked
from treenail.adapters.api.core.pod_model import ContainerModel, PodSpecModel, ResourcesModel
from treenail.adapters.api.diagnosis import meant, quoted, under
from treenail.adapters.api.errors import FieldError, OverLimitError
from treenail.adapters.api.names import is_label_key, is_native
from treenail.domain.model.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    NOTHING,
    PODS,
    Resources,
    format_amount,
)

_ONE_POD = Resources({PODS: 1})


def effective(spec: PodSpecModel, at: str) -> tuple[Resources, Resources]:
    """Return effective requests, one of `pods` included, and effective limits; zeros are left out.

    Init containers run one after the other beside the sidecars before them; all others run
    together. What the pod as a whole asks for replaces the sum of its containers; overhead comes on top.

    Raises:
        FieldError: a quantity is wrong, or a request is above its limit.
    """
    containers = _amounts(spec.containers, f"{at}.containers")
    init = _amounts(spec.init_containers, f"{at}.initContainers")
    sidecar = [c.restart_policy == "Always" for c in spec.init_containers]
    requests = _together([r for r, _ in containers], [r for r, _ in init], sidecar)
    limits = _together([lim for _, lim in containers], [lim for _, lim in init], sidecar)
    if spec.resources is not None:
        requests, limits = _of_whole_pod(spec.resources, requests, limits, f"{at}.resources")
    overhead = asked(spec.overhead, f"{at}.overhead")
    limits_overhead = {name: amount for name, amount in overhead.items() if name in limits}
    return _named(requests.plus(overhead).plus(_ONE_POD)), _named(limits.plus(limits_overhead))


def _named(amounts: Resources) -> Resources:
    return amounts if all(amounts.values()) else Resources((n, a) for n, a in amounts.items() if a)


def _amounts(containers: Sequence[ContainerModel], at: str) -> list[tuple[Resources, Resources]]:
    return [_of_container(c.resources, f"{at}[{n}].resources") for n, c in enumerate(containers)]


def _of_container(model: ResourcesModel, at: str) -> tuple[Resources, Resources]:
    """Return requests and limits. What has only a limit is requested as much."""
    if not model.limits and not model.requests:
        return NOTHING, NOTHING
    _check_names((*model.requests, *model.limits), at)
    limits = asked(model.limits, f"{at}.limits") if model.limits else NOTHING
    requests = asked(model.requests, f"{at}.requests")
    _check_within(requests, limits, at)
    return Resources({**limits, **requests}) if limits else requests, limits


def _check_names(names: Sequence[str], at: str) -> None:
    for name in names:
        if not is_native(name) and ("/" not in name or not is_label_key(name)):
            hint = (
                meant(name, (CPU, MEMORY, EPHEMERAL_STORAGE)) or " (others are named as example.com/device)"
            )
            raise FieldError(at, f"{quoted(name)} is not a resource{hint}")


def _check_within(requests: Resources, limits: Resources, at: str) -> None:
    for name, amount in requests.items():
        if name in limits and amount > limits[name]:
            wanted, most = (format_amount(name, a) for a in (amount, limits[name]))
            raise OverLimitError(under(f"{at}.requests", name), f"{wanted} is more than the limit of {most}")


def _together(
    containers: Sequence[Resources], init: Sequence[Resources], sidecar: Sequence[bool]
) -> Resources:
    running = NOTHING
    for one in containers:
        running = running.plus(one)
    beside = peak = NOTHING
    for one, stays in zip(init, sidecar, strict=True):
        if stays:
            running, beside = running.plus(one), beside.plus(one)
            peak = peak.largest(beside)
        else:
            peak = peak.largest(one.plus(beside))
    return running.largest(peak) if peak else running


def _of_whole_pod(
    model: ResourcesModel, requests: Resources, limits: Resources, at: str
) -> tuple[Resources, Resources]:
    """Return requests and limits where the pod as a whole says its own of CPU, memory or huge pages.

    A limit alone is what is requested, unless a container requests some of that resource.
    """
    for name in (*model.requests, *model.limits):
        if name not in (CPU, MEMORY) and not name.startswith("hugepages-"):
            raise FieldError(at, f"{quoted(name)} cannot be given for a whole pod")
    own_limits = asked(model.limits, f"{at}.limits")
    own = asked(model.requests, f"{at}.requests")
    wanted = Resources({**own_limits, **requests, **own})
    for name, amount in own.items():
        if amount < requests.get(name, 0):
            asked_alone, together = (format_amount(name, a) for a in (amount, requests[name]))
            problem = f"{asked_alone} is less than its containers request, {together}"
            raise FieldError(under(f"{at}.requests", name), problem)
    _check_within(Resources({n: a for n, a in wanted.items() if n in own_limits}), own_limits, at)
    return wanted, Resources({**limits, **own_limits})
