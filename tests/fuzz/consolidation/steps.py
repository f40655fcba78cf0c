"""Steps of consolidation, whoever decided on them, and what a cluster is after one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from tests.fuzz.check.catalogue import CAPACITY_TYPE, POOL, ZONE
from tests.fuzz.check.decision import Claim
from tests.fuzz.check.homes import Way
from tests.fuzz.check.scenario import Scenario
from tests.fuzz.consolidation.clusters import Cluster
from tests.fuzz.consolidation.machines import Machine, types
from tests.fuzz.manifests import INSTANCE_TYPE, Manifest

Written: TypeAlias = Mapping[str, Any]

_OF_A_NODE: Final = ("Node", "NodeClaim", "CSINode")


@dataclass(frozen=True)
class Step:
    """Nodes that go together, which pods go to which existing nodes, and what is bought first.

    Pods are named namespace/name. `claims` are as a decision has them, with the pods of each.
    """

    removed: tuple[str, ...]
    existing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    claims: tuple[Written, ...] = ()

    @property
    def places(self) -> dict[str, str]:
        """The pods placed, and where: an existing node, or the number of a claim."""
        found = {pod: node for node, pods in self.existing.items() for pod in pods}
        return found | {pod: f"#{n}" for n, claim in enumerate(self.claims) for pod in claim["pods"]}


def nodes_of(cluster: Cluster) -> dict[str, Manifest]:
    return {one["metadata"]["name"]: one for one in cluster.items if one["kind"] == "Node"}


def pods_on(cluster: Cluster, names: Sequence[str]) -> list[Manifest]:
    """Return the pods bound to those nodes, daemons too."""
    wanted = set(names)
    return [one for one in cluster.items if one["kind"] == "Pod" and one["spec"].get("nodeName") in wanted]


def pod_key(written: Manifest) -> str:
    return f"{written['metadata']['namespace']}/{written['metadata']['name']}"


def moves(written: Manifest) -> bool:
    """Return whether a pod gets a new place when its node goes: daemons' do not."""
    return all(owner["kind"] != "DaemonSet" for owner in written["metadata"].get("ownerReferences", ()))


def price_of(node: Manifest) -> float:
    """Return what a node costs, $/h: nothing if it is nobody's or unknown."""
    labels = node["metadata"]["labels"]
    if POOL not in labels or labels.get(INSTANCE_TYPE) not in types():
        return 0.0
    wanted = (labels[ZONE], labels[CAPACITY_TYPE])
    for offering in types()[labels[INSTANCE_TYPE]].offerings:
        if (offering.labels[ZONE], offering.labels[CAPACITY_TYPE]) == wanted:
            return offering.price
    return 0.0


def cost(cluster: Cluster) -> float:
    """Return what all nodes of a cluster cost, $/h."""
    return sum(price_of(one) for one in nodes_of(cluster).values())


# --- carrying out


def carried_out(cluster: Cluster, step: Step, name: str) -> Cluster:
    """Return the cluster after a step; what is bought is named after `name`, and comes up at its cheapest.

    Pods that lose their node and get no place are gone.
    """
    gone = set(step.removed)
    new = list(_new_machines(cluster, step, name))
    names = {f"#{n}": one.name for n, one in enumerate(new)}
    places = {pod: names.get(where, where) for pod, where in step.places.items()}
    items = [
        _moved(one, places)
        for one in cluster.items
        if not (one["kind"] in _OF_A_NODE and one["metadata"]["name"] in gone)
        and not (one["kind"] == "Pod" and one["spec"].get("nodeName") in gone and pod_key(one) not in places)
    ]
    sets = [one for one in items if one["kind"] == "DaemonSet"]
    for one in new:
        items += one.run_daemons(sets)
        items += one.manifests()
    return replace(cluster, items=tuple(items))


def without(cluster: Cluster, step: Step) -> Cluster:
    """Return the cluster without the nodes that go; of pods without a node, those with a place are left."""
    gone, places = set(step.removed), step.places
    items = []
    for one in cluster.items:
        if one["kind"] in _OF_A_NODE and one["metadata"]["name"] in gone:
            continue
        if one["kind"] == "Pod" and one["spec"].get("nodeName", "") in gone | {""}:
            if pod_key(one) in places:
                items.append(_unbound(one))
        else:
            items.append(one)
    return replace(cluster, items=tuple(items))


def _unbound(written: Manifest) -> Manifest:
    spec = {key: value for key, value in written["spec"].items() if key != "nodeName"}
    return {**written, "spec": spec, "status": {"phase": "Pending"}}


def claims_of(cluster: Cluster, step: Step) -> list[Claim]:
    """Return what a step buys, with all that each node may turn out as."""
    if not step.claims:
        return []
    scenario = Scenario(cluster.items, types())
    return [Claim(number, written, scenario) for number, written in enumerate(step.claims)]


def _new_machines(cluster: Cluster, step: Step, name: str) -> Iterator[Machine]:
    pools = {one["metadata"]["name"]: one for one in cluster.items if one["kind"] == "NodePool"}
    for number, claim in enumerate(claims_of(cluster, step)):
        way = cheapest(claim.home.ways)
        yield Machine.of_way(f"{name}-{number}", pools[claim.pool.name], way, replaces=step.removed)


def cheapest(ways: Sequence[Way]) -> Way:
    return min(ways, key=lambda way: (way.price, way.type.name, way.labels[ZONE], way.labels[CAPACITY_TYPE]))


def _moved(written: Manifest, places: Mapping[str, str]) -> Manifest:
    if written["kind"] != "Pod" or pod_key(written) not in places:
        return written
    spec = {**written["spec"], "nodeName": places[pod_key(written)]}
    ready = {"type": "Ready", "status": "True"}
    return {**written, "spec": spec, "status": {"phase": "Running", "conditions": [ready]}}
