from __future__ import annotations

import pytest

from tests.adapters.fake.cluster.builders import a_node, a_pod, a_spec, join, provider_id
from tests.adapters.fake.cluster.rig import Rig
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.nodes import READY, Condition, Status
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import Phase
from treenail.domain.model.taints import NOT_READY, UNREGISTERED, Effect, Taint


def test_a_machine_joins_as_a_node_that_is_not_ready() -> None:
    rig = Rig()
    join(rig, "n-0", labels={"zone": "a"}, taints=(UNREGISTERED,), after=20.0)
    rig.run(19.9)
    assert rig.cluster.nodes() == ()

    rig.run(0.2)

    node = rig.node("n-0")
    assert not node.ready
    assert node.taints == (UNREGISTERED, NOT_READY)
    assert node.labels == {labels.HOSTNAME: "n-0", labels.OS: "linux", "zone": "a"}
    assert (node.provider_id, node.allocatable["cpu"]) == (provider_id("n-0"), 4000)


def test_a_node_becomes_ready_a_while_after_it_joined() -> None:
    rig = Rig()
    join(rig, "n-0", taints=(UNREGISTERED,), after=20.0)
    rig.run(27.9)
    assert not rig.node("n-0").ready

    rig.run(7.2)

    assert rig.node("n-0").ready
    assert rig.node("n-0").taints == (UNREGISTERED,)


def test_a_node_is_ready_when_it_was_told_to_be() -> None:
    rig = Rig()
    join(rig, "n-0", after=1.0, ready_after=60.0)
    rig.run(60.9)
    before = rig.node("n-0").ready

    rig.run(0.2)

    assert (before, rig.node("n-0").ready) == (False, True)


def test_a_machine_that_left_before_it_joined_never_does() -> None:
    rig = Rig()
    join(rig, "n-0", after=20.0)
    rig.run(10)

    rig.cluster.leave(provider_id("n-0"))
    rig.run(60)

    assert rig.cluster.nodes() == ()


def test_a_machine_that_leaves_is_found_lost_and_its_node_deleted_with_its_pods() -> None:
    rig = Rig(settings=ClusterSettings(lost=(3.0, 3.0), removed=(5.0, 5.0)))
    join(rig, "n-0", ready_after=1.0)
    rig.cluster.apply(a_pod("web"))
    rig.run(10)
    assert rig.pod("web").ready

    rig.cluster.leave(provider_id("n-0"))
    rig.run(3.1)
    lost, silent = rig.node("n-0"), rig.pod("web")
    rig.run(5.5)

    assert lost.conditions[0].status is Status.UNKNOWN
    assert (silent.phase, silent.ready) == (Phase.RUNNING, False)
    assert {str(taint) for taint in lost.taints} == {
        "node.kubernetes.io/unreachable:NoSchedule",
        "node.kubernetes.io/unreachable:NoExecute",
    }
    assert rig.cluster.nodes() == ()
    assert rig.cluster.pods() == ()


def test_the_node_of_a_lost_machine_waits_for_its_finalizer() -> None:
    rig = Rig()
    join(rig, "n-0", ready_after=1.0)
    rig.run(5)
    rig.cluster.patch_node("n-0", NodePatch(add_finalizers=("example.com/wait",)))

    rig.cluster.leave(provider_id("n-0"))
    rig.run(60)
    held = rig.node("n-0")
    rig.cluster.patch_node("n-0", NodePatch(remove_finalizers=("example.com/wait",)))

    assert held.deleting_since is not None
    assert rig.cluster.nodes() == ()


def test_a_machine_unknown_may_leave() -> None:
    rig = Rig()

    rig.cluster.leave(provider_id("nobody"))
    rig.run(30)

    assert rig.cluster.nodes() == ()


def test_a_machine_waits_until_the_earlier_one_of_its_name_is_gone() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", provider_id="aws:///us-east-1a/i-before"))
    join(rig, "n-0", ready_after=1.0)
    rig.run(20)
    before = rig.node("n-0").provider_id

    rig.cluster.leave("aws:///us-east-1a/i-before")
    rig.run(60)

    assert before == "aws:///us-east-1a/i-before"
    assert rig.node("n-0").provider_id == provider_id("n-0")
    assert rig.node("n-0").ready


def test_a_node_that_is_applied_runs_pods_like_one_that_joined() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_pod("web"))

    rig.run(5)

    assert rig.node("n-0").ready
    assert rig.pod("web").ready


def test_a_node_that_is_applied_as_not_ready_takes_no_pods() -> None:
    rig = Rig()
    not_ready = Condition(READY, Status.FALSE, "KubeletNotReady")
    rig.cluster.apply(a_node("n-0", conditions=(not_ready,)), a_pod("web"))

    rig.run(60)

    assert NOT_READY in rig.node("n-0").taints
    assert rig.pod("web").node_name == ""


def test_a_bound_pod_starts_after_a_while() -> None:
    rig = Rig(settings=ClusterSettings(start=(3.0, 3.0)))
    rig.cluster.apply(a_node("n-0"), a_pod("web", node_name="n-0"))
    rig.run(2.9)
    before = rig.pod("web")

    rig.run(0.2)

    after = rig.pod("web")
    assert (before.phase, before.started_at) == (Phase.PENDING, None)
    assert (after.phase, after.ready) == (Phase.RUNNING, True)
    assert after.started_at is not None
    assert (after.started_at - after.created_at).total_seconds() == 3.0


def test_a_pod_bound_to_a_node_that_is_not_ready_starts_when_it_is() -> None:
    rig = Rig()
    join(rig, "n-0", ready_after=20.0)
    rig.run(1)
    rig.cluster.apply(a_pod("web", node_name="n-0"))
    rig.run(18)
    before = rig.pod("web").phase

    rig.run(5)

    assert (before, rig.pod("web").phase) == (Phase.PENDING, Phase.RUNNING)


def test_a_kubelet_refuses_what_does_not_fit_with_what_runs() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", cpu="2"), a_pod("a", spec=a_spec(cpu="1500m")))
    rig.run(5)
    rig.cluster.apply(a_pod("b", spec=a_spec(cpu="1500m"), node_name="n-0"))

    rig.run(5)

    assert rig.pod("a").ready
    assert rig.pod("b").phase is Phase.FAILED
    assert rig.reasons("b") == [("OutOfcpu", "Node didn't have enough resource: cpu")]


def test_a_refused_pod_holds_no_room() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", cpu="2"), a_pod("a"))
    rig.run(5)
    rig.cluster.apply(a_pod("b", spec=a_spec(cpu="2"), node_name="n-0"), a_pod("c"))
    rig.run(0.4)
    refused = rig.pod("c").unschedulable_since

    rig.run(5)

    assert refused is not None
    assert rig.pod("b").phase is Phase.FAILED
    assert rig.pod("c").ready


@pytest.mark.parametrize("slow_stops", [0.0, 1.0])
def test_a_deleted_pod_ends_within_its_grace(slow_stops: float) -> None:
    rig = Rig(settings=ClusterSettings(slow_stops=slow_stops))
    names = [f"web-{number}" for number in range(20)]
    spec = a_spec(cpu="10m", memory="10Mi", grace_seconds=60)
    rig.cluster.apply(a_node("n-0"), *(a_pod(name, spec=spec) for name in names))
    rig.run(5)
    for name in names:
        rig.cluster.delete("Pod", name)
    assert len(rig.cluster.pods()) == 20

    rig.run(2)
    soon = len(rig.cluster.pods())
    rig.run(58)

    assert soon == 0 if slow_stops == 0 else soon > 10
    assert rig.cluster.pods() == ()


def test_no_grace_is_waited_for_where_there_is_none() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_pod("web", spec=a_spec(grace_seconds=0)))
    rig.run(5)

    rig.cluster.delete("Pod", "web")

    assert rig.cluster.pods() == ()


def test_nobody_ends_the_pods_of_a_machine_that_is_gone_before_its_node_is() -> None:
    rig = Rig(settings=ClusterSettings(lost=(5.0, 5.0), removed=(60.0, 60.0)))
    join(rig, "n-0", ready_after=1.0)
    rig.cluster.apply(a_pod("web"))
    rig.run(10)

    rig.cluster.leave(provider_id("n-0"))
    rig.cluster.delete("Pod", "web")
    rig.run(60)
    during = rig.pod("web").deleting_since
    rig.run(10)

    assert during is not None
    assert rig.cluster.pods() == ()


def test_a_taint_drives_off_who_does_not_tolerate_it() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_pod("web"))
    rig.run(5)

    rig.cluster.patch_node("n-0", NodePatch(add_taints=(Taint("out", Effect.NO_SCHEDULE),)))
    rig.run(10)
    stayed = rig.pod("web").active
    rig.cluster.patch_node("n-0", NodePatch(add_taints=(Taint("out", Effect.NO_EXECUTE),)))
    rig.run(10)

    assert stayed
    assert rig.cluster.pods() == ()


def test_a_nodes_machine_is_the_same_for_ever() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("a", provider_id="aws:///us-east-1a/i-0"))

    with pytest.raises(InvalidError):
        rig.cluster.apply(a_node("a", provider_id="aws:///us-east-1a/i-1"))
