"""Devices as resources: what pods ask for and instance types have, where devices are counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.gpu_models import GpuModel, gpus_by
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.pods import LabelSelector, Pod, PodAffinityTerm, PodSpec
from treenail.domain.model.resources import Resources
from treenail.domain.packing.identity import IdentityMap, Same
from treenail.domain.packing.problem import PoolOffer, VolumeNeeds

# A label of the pod that a claim is counted for, within a problem alone: no manifest has a name like this.
_LEADS: Final = "treenail.sh/first user of "


def asking_for_devices(pods: tuple[Pod, ...], needs: Mapping[str, VolumeNeeds]) -> tuple[Pod, ...]:
    """Return `pods` with the devices they need as requests, and with pods of one claim kept together."""
    made: dict[tuple[Same[PodSpec], VolumeNeeds], PodSpec] = {}
    return tuple(_asking(pod, needs.get(pod.uid), made) if needs else pod for pod in pods)


def _asking(pod: Pod, own: VolumeNeeds | None, made: dict[tuple[Same[PodSpec], VolumeNeeds], PodSpec]) -> Pod:
    if own is None or not (own.devices or own.leads or own.follows):
        return pod
    # Pods of one template share one spec, and do so afterwards.
    key = Same(pod.spec), own
    if key not in made:
        together = tuple(_beside(claim) for claim in own.follows)
        made[key] = replace(
            pod.spec,
            requests=pod.spec.requests.plus(dict(own.devices)),
            pod_affinity=(*pod.spec.pod_affinity, *together),
        )
    leading = {_LEADS + claim: "" for claim in own.leads}
    return replace(pod, spec=made[key], labels={**pod.labels, **leading} if leading else pod.labels)


def _beside(claim: str) -> PodAffinityTerm:
    selector = LabelSelector(match_labels=((_LEADS + claim, ""),))
    return PodAffinityTerm(labels.HOSTNAME, selector)


def having_devices(
    offers: tuple[PoolOffer, ...], models: Mapping[str, frozenset[GpuModel]]
) -> tuple[PoolOffer, ...]:
    """Return `offers` with types that have as many devices of a kind as GPUs of its models."""
    if not any(models.values()):
        return offers

    def having(one: InstanceType) -> InstanceType:
        gpus = gpus_by({key: value for key in labels.OF_GPUS if (value := one.label(key)) is not None})
        there = {} if gpus is None else {kind: gpus[1] for kind, of in models.items() if gpus[0] in of}
        return replace(one, capacity=one.capacity.plus(there)) if there else one

    # Pools share types, and do so afterwards.
    made = IdentityMap(having)
    return tuple(
        replace(offer, instance_types=tuple(made[one] for one in offer.instance_types)) for offer in offers
    )


def without_devices(requests: Resources) -> Resources:
    """Return what a claim asks for of its node, less devices: no node shows these as resources."""
    return Resources({name: amount for name, amount in requests.items() if not is_device_kind(name)})


def is_device_kind(name: str) -> bool:
    """Return whether a resource is a kind of devices. No other resource has a space in its name."""
    return " " in name
