"""Default topology spreads: those that the cluster's scheduler gives pods which have none of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from treenail.domain.model.pods import LabelSelector, Pod, TopologySpread

_TEMPLATE_HASH: Final = "pod-template-hash"
# Labels that pods of one StatefulSet do not share.
_OF_THE_POD: Final = frozenset(
    {"apps.kubernetes.io/pod-index", "controller-revision-hash", "statefulset.kubernetes.io/pod-name"}
)


def with_default_spread(pods: tuple[Pod, ...], defaults: tuple[TopologySpread, ...]) -> tuple[Pod, ...]:
    """Return `pods` with the topology spreads that the scheduler adds to those without any.

    The scheduler spreads a pod among those of its workload, which it finds by the selectors of ReplicaSets,
    StatefulSets and Services; here the labels that all pods of the workload have stand in for these. A pod of
    no such workload is not spread.
    """
    return pods if not defaults else tuple(_spread(pod, defaults) for pod in pods)


def _spread(pod: Pod, defaults: tuple[TopologySpread, ...]) -> Pod:
    shared = _shared(pod)
    if pod.spec.spread or not shared:
        return pod
    selector = LabelSelector(match_labels=tuple(sorted(shared.items())))
    spread = tuple(replace(one, selector=selector) for one in defaults)
    return replace(pod, spec=replace(pod.spec, spread=spread))


def _shared(pod: Pod) -> Mapping[str, str]:
    """Return the labels by which pods are told to be of the same workload; none where they cannot be."""
    match pod.owner.kind if pod.owner is not None else "":
        case "ReplicaSet":
            return {key: value for key, value in pod.labels.items() if key == _TEMPLATE_HASH} or pod.labels
        case "StatefulSet":
            return {key: value for key, value in pod.labels.items() if key not in _OF_THE_POD}
        case _:
            return {}
