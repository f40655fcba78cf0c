"""Resource requests of a whole pod, counted as the scheduler counts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from treenail.adapters.api.amounts import asked
from treenail.adapters.api.core.pod_model import ContainerModel, PodSpecModel, ResourcesModel
from treenail.adapters.api.diagnosis import meant, quoted, under
from treenail.adapters.api.errors import FieldError, OverLimitError
from treenail.adapters.api.names import is_label_key, is_native
from treenail.domain.model.pod_parts import ContainerNeeds, PodParts
from treenail.domain.model.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    NOTHING,
    Resources,
    format_amount,
)


def parts_of(spec: PodSpecModel, at: str) -> PodParts:
    """Return what the requests and limits of a pod are made of.

    Raises:
        FieldError: a quantity is wrong, or a request is above its limit.
    """
    parts = PodParts(
        containers=(
            *_containers(spec.containers, f"{at}.containers", init=False),
            *_containers(spec.init_containers, f"{at}.initContainers", init=True),
        ),
        bounded=spec.active_deadline_seconds is not None,
    )
    if spec.resources is not None:
        parts = _of_whole_pod(spec.resources, parts, f"{at}.resources")
    return replace(parts, overhead=asked(spec.overhead, f"{at}.overhead"))


def _containers(containers: Sequence[ContainerModel], at: str, *, init: bool) -> Iterator[ContainerNeeds]:
    for n, container in enumerate(containers):
        requests, limits = _of_container(container.resources, f"{at}[{n}].resources")
        yield ContainerNeeds(
            name=container.name,
            requests=requests,
            limits=limits,
            init=init,
            sidecar=init and container.restart_policy == "Always",
        )


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


def _of_whole_pod(model: ResourcesModel, parts: PodParts, at: str) -> PodParts:
    """Return the parts of a pod that as a whole says its own of CPU, memory or huge pages."""
    for name in (*model.requests, *model.limits):
        if name not in (CPU, MEMORY) and not name.startswith("hugepages-"):
            raise FieldError(at, f"{quoted(name)} cannot be given for a whole pod")
    requests, _ = parts.together()
    limits = asked(model.limits, f"{at}.limits")
    own = asked(model.requests, f"{at}.requests")
    for name, amount in own.items():
        if amount < requests.get(name, 0):
            asked_alone, together = (format_amount(name, a) for a in (amount, requests[name]))
            problem = f"{asked_alone} is less than its containers request, {together}"
            raise FieldError(under(f"{at}.requests", name), problem)
    whole = replace(parts, requests=own, limits=limits)
    wanted, _ = whole.without_overhead()
    _check_within(Resources({n: a for n, a in wanted.items() if n in limits}), limits, at)
    return whole
