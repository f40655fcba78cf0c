"""Small clusters and steps, in a few words, for tests of the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.fuzz.check.catalogue import CAPACITY_TYPE, ZONE
from tests.fuzz.check.pools import Pool
from tests.fuzz.consolidation.clusters import Cluster
from tests.fuzz.consolidation.machines import Machine, types
from tests.fuzz.consolidation.steps import Step
from tests.fuzz.manifests import ARCH, INSTANCE_TYPE, OS, Manifest, bound_pod, container, need, node_pool

A, B = "test-zone-a", "test-zone-b"
SMALL, MIDDLE, LARGE = "s-2x-amd64-linux", "s-4x-amd64-linux", "s-16x-amd64-linux"


def pool(*lines: Manifest, policy: str = "WhenEmptyOrUnderutilized", **disruption: Any) -> Manifest:
    """A pool of Linux nodes on amd64, of which all may go at once."""
    terms = {"consolidationPolicy": policy, "consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]}
    own = [need(OS, "In", "linux"), need(ARCH, "In", "amd64"), *lines]
    return node_pool("default", own, {}, disruption={**terms, **disruption})


def machine(name: str, of: str = MIDDLE, *, zone: str = A, bought: str = "on-demand", **more: Any) -> Machine:
    """A node of the pool, as it turned out."""
    ways = Pool.of(pool()).new_node(name, types(), {}, [of]).ways
    way = next(w for w in ways if (w.labels[ZONE], w.labels[CAPACITY_TYPE]) == (zone, bought))
    made = Machine.of_way(name, pool(), way)
    for key, value in more.items():
        setattr(made, key, value)
    return made


def pod(name: str, on: str, *, cpu: str = "1", annotations: Mapping[str, str] = {}, **spec: Any) -> Manifest:
    """A pod that runs."""
    containers = [container({"cpu": cpu, "memory": "1Gi"})]
    made = bound_pod(
        name, {"app": name.split("-", maxsplit=1)[0]}, {"containers": containers, **spec}, node=on
    )
    made["metadata"]["annotations"] = dict(annotations)
    return made


def budget(app: str, allowed: int, name: str = "pdb") -> Manifest:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}, "maxUnavailable": 1},
        "status": {"disruptionsAllowed": allowed},
    }


def cluster(
    of: Manifest, machines: Sequence[Machine], *others: Manifest, spot_to_spot: bool = False
) -> Cluster:
    nodes = [one for made in machines for one in made.manifests()]
    return Cluster((of, *nodes, *others), spot_to_spot)


def step(*removed: str, claims: Sequence[Mapping[str, Any]] = (), **existing: Sequence[str]) -> Step:
    """Nodes go, and pods to nodes that are there; in names of nodes a hyphen is an underscore here."""
    places = {node: tuple(f"default/{name}" for name in names) for node, names in existing.items()}
    return Step(removed, {node.replace("_", "-"): pods for node, pods in places.items()}, tuple(claims))


def claim(*pods: str, of: Sequence[str] = (SMALL,), bought: Sequence[str] = ("on-demand",)) -> dict[str, Any]:
    """A node to buy in zone a."""
    ways = [offering for name in of for offering in types()[name].offerings]
    prices = [w.price for w in ways if w.labels[ZONE] == A and w.labels[CAPACITY_TYPE] in bought]
    return {
        "nodePool": "default",
        "pods": [f"default/{name}" for name in pods],
        "instanceTypes": list(of),
        "requirements": [
            need(CAPACITY_TYPE, "In", *bought),
            need(ZONE, "In", A),
            need(INSTANCE_TYPE, "In", *of),
        ],
        "price": min(prices),
    }
