from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.fake.cluster.builders import a_deployment, a_node, a_pod, a_spec, join
from tests.adapters.fake.cluster.rig import Rig
from tests.agenda import START
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.domain.model import labels
from treenail.domain.model.devices import DeviceRequest, DeviceWishes
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import Expression, HostPort, NodeAffinity, PodResourceClaim, PodSpec
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resource_claims import ResourceClaim
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint, Toleration, TolerationOperator

GPU = Taint("team", Effect.NO_SCHEDULE, "gpu")


def placed(rig: Rig, name: str) -> str:
    rig.run(1)
    return rig.pod(name).node_name


def test_a_pod_is_bound_to_a_node_with_room() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("small", cpu="1"), a_node("large", cpu="8"), a_pod("web", spec=a_spec(cpu="4")))

    assert placed(rig, "web") == "large"
    pod = rig.pod("web")
    assert pod.scheduled_at is not None
    assert START < pod.scheduled_at < rig.agenda.now()


def test_a_pod_without_a_node_is_marked_and_an_event_says_why() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("a"), a_node("b", taints=(GPU,)), a_pod("web", spec=a_spec(cpu="5")))

    assert placed(rig, "web") == ""
    assert rig.pod("web").unschedulable_since is not None
    assert rig.reasons("web") == [
        (
            "FailedScheduling",
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {team: gpu}.",
        )
    ]


def test_a_marked_pod_is_bound_when_a_node_comes_and_is_marked_no_more() -> None:
    rig = Rig()
    rig.cluster.apply(a_pod("web"))
    rig.run(1)
    marked = rig.pod("web").unschedulable_since

    rig.cluster.apply(a_node("n-0"))

    assert placed(rig, "web") == "n-0"
    assert marked is not None
    assert rig.pod("web").unschedulable_since is None


def test_a_pod_keeps_the_time_it_was_first_refused() -> None:
    rig = Rig()
    rig.cluster.apply(a_pod("web", spec=a_spec(cpu="16")))
    rig.run(1)
    marked = rig.pod("web")

    rig.cluster.apply(a_node("n-0"))
    rig.run(60)

    assert rig.pod("web") == marked


def test_a_waiting_pod_is_bound_when_another_leaves() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", cpu="1"), a_pod("first"))
    rig.run(1)
    rig.cluster.apply(a_pod("second"))
    assert placed(rig, "second") == ""

    rig.cluster.delete("Pod", "first")
    rig.run(5)

    assert placed(rig, "second") == "n-0"


def test_the_number_of_pods_on_a_node_is_a_limit() -> None:
    rig = Rig()
    size = Resources.parse({"cpu": 4, "memory": "8Gi", "pods": 1})
    tiny = a_node("n-0")
    rig.cluster.apply(
        type(tiny)(name="n-0", capacity=size, allocatable=size, created_at=START),
        a_pod("a", spec=PodSpec()),
        a_pod("b", spec=PodSpec()),
    )

    assert placed(rig, "a") == "n-0"
    assert placed(rig, "b") == ""
    assert "1 Too many pods" in rig.reasons("b")[0][1]


def test_a_resource_the_node_does_not_have_is_too_little_of_it() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_pod("web", spec=PodSpec(requests=Resources({"nvidia.com/gpu": 1}))))

    assert placed(rig, "web") == ""
    assert "Insufficient nvidia.com/gpu" in rig.reasons("web")[0][1]


def test_a_selector_and_required_affinity_choose_the_node() -> None:
    rig = Rig()
    zone = Expression("zone", Operator.IN, ("a", "b"))
    size = Expression("cores", Operator.GT, ("8",))
    affinity = NodeAffinity(required=((zone, size), (Expression("special", Operator.EXISTS),)))
    rig.cluster.apply(
        a_node("small", labels={"zone": "a", "cores": "4"}),
        a_node("large", labels={"zone": "b", "cores": "16"}),
        a_node("other", labels={"zone": "c", "disk": "ssd"}),
        a_node("special", labels={"special": "yes", "zone": "d"}, unschedulable=True),
        a_pod("affine", spec=a_spec(node_affinity=affinity)),
        a_pod("selecting", spec=a_spec(node_selector=(("disk", "ssd"),))),
        a_pod("nowhere", spec=a_spec(node_selector=(("disk", "nvme"),))),
    )

    assert placed(rig, "affine") == "large"
    assert placed(rig, "selecting") == "other"
    assert placed(rig, "nowhere") == ""

    rig.cluster.patch_node("large", NodePatch(labels={"disk": "nvme"}))
    assert placed(rig, "nowhere") == "large"


@pytest.mark.parametrize("effect", [Effect.NO_SCHEDULE, Effect.NO_EXECUTE])
def test_a_taint_keeps_off_who_does_not_tolerate_it(effect: Effect) -> None:
    rig = Rig()
    taint = Taint("team", effect, "gpu")
    tolerant = a_spec(tolerations=(Toleration("team", TolerationOperator.EQUAL, "gpu"),))
    rig.cluster.apply(a_node("n-0", taints=(taint,)), a_pod("a"), a_pod("b", spec=tolerant))

    assert placed(rig, "a") == ""
    assert placed(rig, "b") == "n-0"

    rig.cluster.patch_node("n-0", NodePatch(remove_taints=(taint,)))
    assert placed(rig, "a") == "n-0"


def test_a_taint_to_be_avoided_is_avoided_where_it_can_be() -> None:
    rig = Rig()
    avoided = Taint("old", Effect.PREFER_NO_SCHEDULE)
    rig.cluster.apply(a_node("old", cpu="8", taints=(avoided,)), a_node("new", cpu="1"))
    rig.cluster.apply(a_pod("a"))
    assert placed(rig, "a") == "new"

    rig.cluster.apply(a_pod("b"))
    assert placed(rig, "b") == "old"


def test_preferred_affinity_is_kept_where_it_can_be() -> None:
    rig = Rig()
    ssd = (Expression("disk", Operator.IN, ("ssd",)),)
    spec = a_spec(node_affinity=NodeAffinity(preferred=((10, ssd),)))
    rig.cluster.apply(a_node("plain", cpu="8"), a_node("ssd", cpu="1", labels={"disk": "ssd"}))
    rig.cluster.apply(a_pod("a", spec=spec))
    assert placed(rig, "a") == "ssd"

    rig.cluster.apply(a_pod("b", spec=spec))
    assert placed(rig, "b") == "plain"


def test_a_cordoned_node_takes_no_pods_until_it_is_open_again() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", unschedulable=True), a_pod("web"))
    assert placed(rig, "web") == ""

    rig.cluster.patch_node("n-0", NodePatch(unschedulable=False))

    assert placed(rig, "web") == "n-0"


def test_a_node_being_deleted_takes_no_pods() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", finalizers=("example.com/wait",)))
    rig.cluster.delete("Node", "n-0")
    rig.cluster.apply(a_pod("web"))

    assert placed(rig, "web") == ""


def test_a_host_port_is_taken_once_per_node() -> None:
    rig = Rig()
    spec = a_spec(host_ports=(HostPort(80),))
    udp = a_spec(host_ports=(HostPort(80, "UDP"),))
    rig.cluster.apply(a_node("n-0"), a_pod("a", spec=spec), a_pod("b", spec=spec), a_pod("c", spec=udp))

    assert [placed(rig, name) for name in "abc"] == ["n-0", "", "n-0"]

    rig.cluster.delete("Pod", "a")
    rig.run(5)
    assert placed(rig, "b") == "n-0"


def test_pods_spread_over_nodes_or_fill_them_as_told() -> None:
    def nodes(settings: ClusterSettings) -> int:
        rig = Rig(settings=settings)
        rig.cluster.apply(*(a_node(f"n-{i}") for i in range(4)), a_deployment("web", 4))
        rig.run(1)
        return len({pod.node_name for pod in rig.cluster.pods()})

    assert nodes(ClusterSettings()) == 4
    assert nodes(ClusterSettings(fill_nodes=True)) == 1


def test_the_most_important_pods_go_first() -> None:
    rig = Rig()
    rig.cluster.apply(a_pod("low"), a_pod("high", spec=a_spec(priority=100)))
    rig.run(1)

    rig.cluster.apply(a_node("n-0", cpu="1"))

    assert placed(rig, "high") == "n-0"
    assert placed(rig, "low") == ""


def test_of_equals_the_one_that_waited_longest_goes_first() -> None:
    rig = Rig()
    for name in ("c", "a", "b"):
        rig.cluster.apply(a_pod(name, spec=a_spec(limits=Resources({"cpu": ord(name)}))))
        rig.run(1)

    rig.cluster.apply(a_node("n-0", cpu="1"))

    assert [placed(rig, name) for name in "cab"] == ["n-0", "", ""]


def test_a_gated_pod_waits_without_being_refused_until_its_gate_goes() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_pod("web", spec=a_spec(scheduling_gates=("example.com/quota",))))
    assert placed(rig, "web") == ""
    assert rig.pod("web").unschedulable_since is None

    rig.cluster.apply(a_pod("web"))

    assert placed(rig, "web") == "n-0"


def test_pods_of_another_scheduler_are_left_alone() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_pod("web", scheduler="mine"))

    assert placed(rig, "web") == ""
    assert rig.pod("web").unschedulable_since is None


def test_pods_with_claims_that_are_not_there_are_refused_by_name() -> None:
    rig = Rig()
    rig.cluster.apply(
        a_node("n-0"), a_pod("web", spec=a_spec(resource_claims=(PodResourceClaim("gpu", "shared"),)))
    )

    assert placed(rig, "web") == ""
    assert rig.pod("web").unschedulable_since is not None
    assert rig.reasons("web") == [
        ("FailedScheduling", "0/1 nodes are available: 1 the ResourceClaim default/shared is not there.")
    ]


def test_pods_go_where_the_devices_of_their_claims_are_which_go_with_the_last_of_them() -> None:
    rig = Rig()
    spec = replace(a_spec(), resource_claims=(PodResourceClaim("gpu", "shared"),))
    there = (Expression(labels.NODE_NAME, Operator.IN, ("n-1",)),)
    wishes = DeviceWishes(requests=(DeviceRequest(name="gpu", device_class="of no driver"),))
    devices = ResourceClaim(name="shared", allocated=True, nodes=(there,), users=("first",), wishes=wishes)
    rig.cluster.apply(devices, a_node("n-0"), a_node("n-1"), a_pod("web", spec=spec))

    def known() -> ResourceClaim:
        (claim,) = rig.cluster.objects(ResourceClaim)
        return claim

    assert placed(rig, "web") == "n-1"
    assert known().users == ("first", rig.pod("web").uid)
    rig.cluster.apply(replace(known(), users=(rig.pod("web").uid,)))
    rig.cluster.delete("Pod", "web")
    rig.run(60)
    assert (known().allocated, known().nodes, known().users) == (False, (), ())

    rig.cluster.apply(a_pod("late", spec=spec))
    assert placed(rig, "late") == ""


def test_a_node_that_comes_back_under_its_name_is_judged_anew() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", cpu="4"))
    rig.cluster.apply(a_pod("a"))
    assert placed(rig, "a") == "n-0"
    rig.cluster.delete("Pod", "a")
    rig.run(3)
    rig.cluster.delete("Node", "n-0")
    rig.cluster.apply(a_node("n-0", cpu="4", taints=(GPU,)), a_pod("b"))

    assert placed(rig, "b") == ""


def test_no_node_ever_holds_more_than_it_has() -> None:
    rig = Rig(seed=5)
    for number in range(6):
        join(rig, f"n-{number}", cpu="3", after=float(number))
    for number, cpu in enumerate(("700m", "1100m", "1900m")):
        rig.cluster.apply(a_deployment(f"d-{number}", 5, spec=a_spec(cpu=cpu)))

    for replicas in (5, 2, 9, 0, 7):
        for number in range(3):
            rig.cluster.scale(f"d-{number}", replicas)
            rig.run(7)
            used = dict.fromkeys((n.name for n in rig.cluster.nodes()), 0)
            for pod in rig.cluster.pods():
                if pod.node_name:
                    used[pod.node_name] += pod.spec.requests["cpu"]
            assert max(used.values()) <= 3000
