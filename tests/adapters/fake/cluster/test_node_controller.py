from __future__ import annotations

from tests.adapters.fake.cluster.builders import a_node, a_pod, a_spec, join, provider_id
from tests.adapters.fake.cluster.rig import Rig
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.taints import Effect, Taint, Toleration, TolerationOperator

OUT = Taint("out", Effect.NO_EXECUTE)


def tolerating(seconds: int | None) -> Toleration:
    return Toleration("out", TolerationOperator.EXISTS, seconds=seconds)


def test_a_taint_is_tolerated_as_long_as_the_pod_says() -> None:
    rig = Rig()
    rig.cluster.apply(
        a_node("n-0"),
        a_pod("for-ever", spec=a_spec(tolerations=(tolerating(None),))),
        a_pod("a-minute", spec=a_spec(tolerations=(tolerating(60),))),
    )
    rig.run(5)
    rig.cluster.patch_node("n-0", NodePatch(add_taints=(OUT,)))
    rig.run(59)
    before = len(rig.cluster.pods())

    rig.run(4)

    assert before == 2
    assert [pod.name for pod in rig.cluster.pods()] == ["for-ever"]


def test_a_taint_that_goes_in_time_drives_nobody_off() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_pod("web", spec=a_spec(tolerations=(tolerating(60),))))
    rig.run(5)
    rig.cluster.patch_node("n-0", NodePatch(add_taints=(OUT,)))
    rig.run(30)

    rig.cluster.patch_node("n-0", NodePatch(remove_taints=(OUT,)))
    rig.run(120)

    assert rig.pod("web").active


def test_a_pod_that_comes_to_a_tainted_node_is_driven_off_too() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0", taints=(OUT,)), a_pod("web", node_name="n-0"))

    rig.run(5)

    assert rig.cluster.pods() == ()


def test_pods_put_up_with_a_silent_node_for_five_minutes() -> None:
    rig = Rig(settings=ClusterSettings(lost=(5.0, 5.0), removed=(3600.0, 3600.0)))
    join(rig, "n-0", ready_after=1.0)
    rig.cluster.apply(a_pod("web"))
    rig.run(10)
    rig.cluster.leave(provider_id("n-0"))

    rig.run(5 + 299)
    before = rig.pod("web").deleting_since
    rig.run(2)

    assert before is None
    assert rig.pod("web").deleting_since is not None


def test_pods_of_a_node_deleted_by_hand_are_deleted() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), a_pod("web"))
    rig.run(5)

    rig.cluster.delete("Node", "n-0")
    rig.run(1)

    assert rig.cluster.pods() == ()


def test_a_pod_bound_to_a_node_that_is_not_there_is_deleted() -> None:
    rig = Rig()
    rig.cluster.apply(a_pod("web", scheduler="nobody"))
    rig.cluster.bind_pod("default", "web", uid=rig.pod("web").uid, node="nowhere")

    rig.run(1)

    assert rig.cluster.pods() == ()
