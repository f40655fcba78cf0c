"""A cluster to consolidate of a size that matters: a thousand nodes, thirty pods on each."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tests.builders import START
from tests.domain.packing.consolidation.clusters import Cluster, Standing, of_type
from tests.domain.packing.problems import ZONES, asking, is_in, offer, pool
from treenail.domain.model import labels
from treenail.domain.model.pods import LabelSelector, Pod, PodAffinityTerm, PodSpec, TopologySpread
from treenail.domain.model.requirements import Requirements
from treenail.domain.packing.consolidation.consolidation_problem import ConsolidationProblem
from treenail.domain.packing.problem import VolumeNeeds

NODES: Final = 1000
PODS: Final = 30_000
_TYPES: Final = ("m5.2xlarge", "m5.2xlarge", "m5.4xlarge", "r5.2xlarge")
# So many replicas have the Deployments that together put one pod on each node.
_REPLICAS: Final = (300, 300, 300, 100)
_DRIVER: Final = "ebs.csi.aws.com"


def thirty_pods_a_node(*, seed: int = 1) -> ConsolidationProblem:
    """Return 1,000 nodes with 30,000 pods of 120 Deployments, all of which may go.

    A third of the Deployments spread over zones. Of the others one in eight keeps its pods apart by node, and
    one in eight has a volume in a zone for each pod.
    """
    dice = random.Random(seed)
    names = [f"n{i:04}" for i in range(NODES)]
    on: dict[str, list[Pod]] = {name: [] for name in names}
    volumes: dict[str, VolumeNeeds] = {}
    number = 0
    for _ in range(PODS // NODES):
        order = iter(_shuffled(names, dice))
        for replicas in _REPLICAS:
            spec = _spec(number, dice)
            for i in range(replicas):
                name = next(order)
                pod = _pod(number, i, spec)
                on[name].append(pod)
                if _has_volumes(number):
                    volumes[pod.uid] = _volume(_zone_of(name), pod)
            number += 1
    nodes = tuple(
        Standing(name=name, type=of_type(dice.choice(_TYPES)), zone=_zone_of(name), pods=tuple(on[name]))
        for name in names
    )
    buys = offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)))
    found = Cluster(nodes=nodes, offers=(buys,)).problem(whole=True)
    existing = tuple(replace(one, attachable={_DRIVER: 24}) for one in found.problem.existing_nodes)
    return replace(found, problem=replace(found.problem, existing_nodes=existing, volumes=volumes))


def _zone_of(name: str) -> str:
    return ZONES[int(name[1:]) % len(ZONES)]


def _shuffled(names: list[str], dice: random.Random) -> Iterator[str]:
    """Yield nodes by chance, zones in turns: any even number of the next ones is spread evenly."""
    by_zone = [[name for name in names if _zone_of(name) == zone] for zone in ZONES]
    for some in by_zone:
        dice.shuffle(some)
    for row in zip(*by_zone, strict=True):
        yield from row


def _spreads(number: int) -> bool:
    return number % 3 == 0


def _keeps_apart(number: int) -> bool:
    return number % 12 == 1


def _has_volumes(number: int) -> bool:
    return number % 12 == 2


def _spec(number: int, dice: random.Random) -> PodSpec:
    spec = asking(f"{dice.choice((100, 100, 150, 200, 250))}m", f"{dice.choice((512, 768, 1024))}Mi")
    own = LabelSelector((("app", f"app-{number}"),))
    if _spreads(number):
        return replace(spec, spread=(TopologySpread(labels.ZONE, 1, hard=True, selector=own),))
    if _keeps_apart(number):
        return replace(spec, pod_affinity=(PodAffinityTerm(labels.HOSTNAME, own, anti=True),))
    return spec


def _pod(number: int, replica: int, spec: PodSpec) -> Pod:
    name = f"app-{number}-{replica}"
    return Pod(uid=name, name=name, labels={"app": f"app-{number}"}, spec=spec, created_at=START)


def _volume(zone: str, pod: Pod) -> VolumeNeeds:
    there = Requirements.from_labels({labels.ZONE: zone})
    return VolumeNeeds(alternatives=(there,), known=((_DRIVER, f"vol-{pod.uid}"),))
