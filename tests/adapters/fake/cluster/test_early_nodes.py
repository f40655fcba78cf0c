from __future__ import annotations

from dataclasses import replace

from tests.adapters.fake.cluster.builders import a_claim, a_pod, join, provider_id
from tests.adapters.fake.cluster.rig import Rig
from tests.builders import resources
from treenail.domain.lifecycle.early_binding import early_node
from treenail.domain.model.nodes import READY, Status, condition_of
from treenail.domain.model.pods import Phase
from treenail.domain.model.taints import UNREACHABLE, Effect, Taint

ROOM = resources(cpu=4, memory="8Gi", pods=10)


def made_early(*pods: str) -> Rig:
    """A cluster with a node whose machine has not come, and pods bound to it."""
    rig = Rig()
    claim = replace(a_claim("c1"), provider_id=provider_id("n1"), capacity=ROOM, allocatable=ROOM)
    rig.cluster.create_node(early_node(claim, "n1", rig.agenda.now()))
    for name in pods:
        rig.cluster.apply(a_pod(name))
        rig.cluster.bind_pod("default", name, uid=rig.pod(name).uid, node="n1")
    return rig


def test_a_node_made_early_runs_nothing_before_its_machine_joins() -> None:
    rig = made_early("p")

    rig.run(50)

    assert not rig.node("n1").ready
    assert rig.pod("p").phase is Phase.PENDING


def test_the_machine_takes_its_node_over_and_runs_what_is_bound_there() -> None:
    rig = made_early("p")
    uid = rig.node("n1").uid

    join(rig, "n1")
    rig.run(120)

    assert rig.node("n1").ready
    assert rig.node("n1").uid == uid
    assert rig.node("n1").taints == ()
    assert rig.pod("p").phase is Phase.RUNNING


def test_a_pod_deleted_before_the_machine_came_ends_when_it_does() -> None:
    rig = made_early("p")
    rig.cluster.delete("Pod", "p")
    rig.run(50)
    assert rig.pod("p").deleting_since is not None

    join(rig, "n1")
    rig.run(120)

    assert rig.cluster.pods() == ()


def test_a_node_nobody_speaks_for_within_a_minute_is_found_unreachable() -> None:
    rig = made_early()
    rig.run(59)
    said = condition_of(rig.node("n1").conditions, READY)
    assert said is not None
    assert said.status is Status.FALSE

    rig.run(2)

    ready = condition_of(rig.node("n1").conditions, READY)
    assert ready is not None
    assert ready.status is Status.UNKNOWN
    assert Taint(UNREACHABLE, Effect.NO_EXECUTE) in rig.node("n1").taints


def test_a_machine_that_joins_late_makes_its_node_reachable_again() -> None:
    rig = made_early("p")
    rig.run(100)

    join(rig, "n1")
    rig.run(120)

    assert rig.node("n1").taints == ()
    assert rig.pod("p").phase is Phase.RUNNING


def test_the_node_of_a_machine_that_is_gone_goes_too() -> None:
    rig = made_early()

    rig.cluster.leave(provider_id("n1"))
    rig.run(300)

    assert [n.deleting_since is not None for n in rig.cluster.nodes()] == [True]
