"""Consolidation while pods are made one by one: their room stays theirs, and other nodes are not held up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.scenarios.manifests import Manifest, changed, deployment, node_class, node_pool, text
from tests.scenarios.test_consolidation import SMALL, cost, pool, rehearsed, scaled_down
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.domain.model.claims import replaced_nodes

TAINT = {"key": "example.com/web", "effect": "NoSchedule"}


def at_a_pace(pods_a_second: float, seed: int = 1) -> Rehearsal:
    return rehearsed(seed, cluster=ClusterSettings(pod_writes=pods_a_second))


def places(rehearsal: Rehearsal) -> dict[str, int]:
    """Return how many places are kept for pods to come, by claim."""
    promises = rehearsal.system.model.promises
    kept = {name: sum(p.expected for p in promises.at(name)) for name in promises.targets()}
    return {name: number for name, number in kept.items() if number}


def without_place(rehearsal: Rehearsal) -> int:
    """Return how many of the pods of web that are still to be made have no place."""
    model = rehearsal.system.model
    made = [pod for pod in rehearsal.pods() if pod.name.startswith("web")]
    return sum(model.expected.unpromised(owner) for owner in {pod.owner.uid for pod in made if pod.owner})


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 9, 20])
def test_room_that_is_kept_for_pods_to_come_is_not_removed_and_found_anew_where_others_take_it(
    seed: int,
) -> None:
    with at_a_pace(0.5, seed) as rehearsal:
        others = [deployment(f"app-{n}", 1, cpu="1100m", node_selector=SMALL) for n in range(6)]
        rehearsal.apply(text(node_class(), pool(after="0s"), deployment("web", 60), *others))
        rehearsal.run_until(lambda: bool(rehearsal.nodes()) and bool(places(rehearsal)))
        asked = {claim.name for claim in rehearsal.claims()}
        for n in range(0, 6, 2):
            rehearsal.scale(f"app-{n}", 0)

        rehearsal.run(10)
        while kept := places(rehearsal):
            leaving = {claim.name for claim in rehearsal.claims() if claim.leaving}
            assert not leaving & kept.keys()
            lacked = without_place(rehearsal)
            rehearsal.run(2)
            assert not (lacked and without_place(rehearsal))

        rehearsal.run_until(lambda: rehearsal.running() == 63, within="2m")
        assert all(claim.name in asked or replaced_nodes(claim) for claim in rehearsal.claims())


def test_other_nodes_are_consolidated_while_pods_come_without_end() -> None:
    with at_a_pace(0.5) as rehearsal:
        scaled_down(rehearsal, pool())
        rehearsal.apply(text(node_class(), node_pool("other", taints=[TAINT]), growing(10)))

        awaited = 0
        for replicas in range(20, 600, 10):
            rehearsal.run(15)
            rehearsal.scale("web", replicas)
            awaited += bool(places(rehearsal))

        assert awaited > 40
        others = [record for record in rehearsal.history() if record.node_pool == "default"]
        assert "underutilized" in {record.cause for record in others}
        assert sum(record.terminated_at is None for record in others) == 2


def growing(replicas: int) -> Manifest:
    tolerated = {"key": TAINT["key"], "operator": "Exists"}
    selector = {"karpenter.sh/nodepool": "other"}
    return changed(
        deployment("web", replicas, node_selector=selector), "spec.template.spec.tolerations", [tolerated]
    )


def test_pods_that_never_come_hold_nothing_up_for_ever() -> None:
    with at_a_pace(20) as rehearsal:
        # The controller of StatefulSets does not say that pods are refused.
        faults = replace(rehearsal.cluster.faults, pod_quota=10)
        rehearsal.cluster.faults = faults
        made = changed(deployment("db", 80), "kind", "StatefulSet")
        made = changed(made, "spec.podManagementPolicy", "Parallel")
        rehearsal.apply(text(node_class(), pool(), made))
        rehearsal.run_until(lambda: rehearsal.running() == 10)
        bought = cost(rehearsal)

        rehearsal.run("40m")
        needed = cost(rehearsal)
        rehearsal.run("2h")

        assert bought > 3 * needed
        assert cost(rehearsal) == needed
        assert rehearsal.running() == 10
