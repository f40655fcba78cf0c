"""Pod classes: pods that scheduling cannot tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.packing.arrays.arrays import Floats
from treenail.domain.packing.identity import gather
from treenail.domain.packing.pods.relaxation import Relaxation
from treenail.domain.packing.pods.topology_counts import TopologyGroup
from treenail.domain.packing.problem import VolumeNeeds

_age = attrgetter("created_at", "uid")
_spec = attrgetter("spec")
Labels: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PodKind:
    """The kind of a class's pods. `labels` are those that some selector looks at, sorted.

    `namespace` is empty where no selector looks at pods at all.
    """

    spec: PodSpec
    namespace: str = ""
    labels: Labels = ()
    volumes: VolumeNeeds | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PodClass:
    """Pods of one kind, the oldest first, each of which requests `requests` (R).

    `index` numbers the classes. Classes with one `relaxation` object ask for the same in everything but
    requests. `counted` are the topology groups that count these pods.
    """

    index: int
    kind: PodKind
    pods: tuple[Pod, ...]
    requests: Floats
    relaxation: Relaxation
    counted: tuple[TopologyGroup, ...] = ()

    @property
    def spec(self) -> PodSpec:
        """The spec of each pod of the class, its requests aside: see `requests`."""
        return self.kind.spec


def by_spec(pods: Iterable[Pod]) -> list[tuple[PodSpec, list[Pod]]]:
    """Part `pods` by equal specs: by age within a part, and the parts by their oldest pod."""
    # By age: parts come in the order of their oldest pod, whatever order the pods of the problem are in.
    parts: dict[PodSpec, list[Pod]] = {}
    # Pods of one template share one spec object. Its identity saves hashing the whole spec for each pod.
    gather(sorted(pods, key=_age), _spec, parts)
    return list(parts.items())


def alike(
    parts: Iterable[tuple[PodSpec, list[Pod]]],
    looked_at: tuple[str, ...] | None,
    volumes: Mapping[str, VolumeNeeds],
) -> list[tuple[PodKind, tuple[Pod, ...]]]:
    """Part pods of equal specs further, by labels, volumes and claims that matter. In the order of `parts`.

    `looked_at` are the labels that selectors of pods look at; None where there is no selector.
    """
    kinds: list[tuple[PodKind, tuple[Pod, ...]]] = []
    for spec, pods in parts:
        # No selector anywhere: labels and namespaces tell nobody apart, and all pods of a spec are one class.
        needing = bool(spec.volumes or spec.resource_claims)
        if looked_at is None and not needing:
            kinds.append((PodKind(spec), tuple(pods)))
            continue
        members: dict[tuple[str, Labels, VolumeNeeds | None], list[Pod]] = {}
        keys = looked_at or ()
        for pod in pods:
            of = pod.labels
            # Labels that nobody selects by do not count. Otherwise the pod-template-hash, or a StatefulSet's
            # pod name, would make a class of each pod.
            seen = tuple([(key, of[key]) for key in keys if key in of])
            # Two pods of one StatefulSet differ by their volumes alone: each may be bound to another zone.
            needs = volumes.get(pod.uid) if needing else None
            members.setdefault((pod.namespace, seen, needs), []).append(pod)
        # Kinds of one spec keep its order too, for dictionaries remember the order of insertion.
        kinds += [(PodKind(spec, *key), tuple(some)) for key, some in members.items()]
    return kinds
