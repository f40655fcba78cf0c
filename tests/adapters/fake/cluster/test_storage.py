from __future__ import annotations

from dataclasses import replace

from tests.adapters.fake.cluster.builders import a_node, a_pod, a_spec, a_stateful_set
from tests.adapters.fake.cluster.rig import Rig
from treenail.domain.model import labels
from treenail.domain.model.pods import Expression, Pod, PodVolume
from treenail.domain.model.requirements import Operator
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

EBS = "ebs.csi.aws.com"
FAST = StorageClass(name="fast", provisioner=EBS, waits_for_pod=True)
IN_A, IN_B = ((Expression(labels.ZONE, Operator.IN, (zone,)),) for zone in "ab")
CLAIM = PersistentVolumeClaim(name="data", storage_class="fast")
NODES = (a_node("n-a", labels={labels.ZONE: "a"}), a_node("n-b", labels={labels.ZONE: "b"}))


def using(name: str, *volumes: PodVolume) -> Pod:
    return a_pod(name, spec=a_spec(volumes=volumes or (PodVolume("data", "data"),)))


def placed(rig: Rig, name: str) -> str:
    rig.run(5)
    return rig.pod(name).node_name


def volumes(rig: Rig) -> list[tuple[str, tuple[tuple[Expression, ...], ...]]]:
    return [(v.claim, v.node_affinity) for v in rig.cluster.objects(PersistentVolume)]


def test_a_volume_is_made_where_its_pod_goes_and_keeps_the_next_one_there() -> None:
    rig = Rig()
    rig.cluster.apply(FAST, CLAIM, NODES[1], using("first"))
    assert placed(rig, "first") == "n-b"
    assert volumes(rig) == [("default/data", (IN_B,))]

    rig.cluster.apply(replace(NODES[1], unschedulable=True), NODES[0], using("second"))
    assert placed(rig, "second") == ""
    assert rig.reasons("second")[-1] == (
        "FailedScheduling",
        "0/2 nodes are available: 1 node(s) had volume node affinity conflict, 1 node(s) were unschedulable.",
    )

    rig.cluster.apply(NODES[1])
    assert placed(rig, "second") == "n-b"


def test_a_volume_of_a_class_that_does_not_wait_is_made_at_once() -> None:
    rig = Rig()
    rig.cluster.apply(replace(FAST, waits_for_pod=False, allowed_topologies=(IN_A, IN_B)), CLAIM, *NODES)

    assert placed_after_binding(rig) == "n-a"
    assert volumes(rig) == [("default/data", (IN_A,))]


def placed_after_binding(rig: Rig) -> str:
    rig.run(5)
    (claim,) = rig.cluster.objects(PersistentVolumeClaim)
    assert claim.bound
    rig.cluster.apply(using("web"))
    return placed(rig, "web")


def test_a_pod_whose_claim_is_missing_waits_for_it() -> None:
    rig = Rig()
    rig.cluster.apply(FAST, *NODES, using("web"))
    assert placed(rig, "web") == ""
    assert "the claim default/data is not there" in rig.reasons("web")[0][1]

    rig.cluster.apply(CLAIM)

    assert placed(rig, "web") in ("n-a", "n-b")


def test_a_node_holds_no_more_volumes_than_its_driver_can_attach() -> None:
    rig = Rig()
    claims = [replace(CLAIM, name=f"data-{n}") for n in range(2)]
    pods = [using(f"web-{n}", PodVolume("data", f"data-{n}")) for n in range(2)]

    rig.cluster.apply(FAST, NODES[0], CSINode(name="n-a", limits={EBS: 1}), *claims, *pods)
    rig.run(5)

    assert sorted(pod.node_name for pod in rig.cluster.pods()) == ["", "n-a"]
    [(_, why)] = [e for name in ("web-0", "web-1") for e in rig.reasons(name) if e[0] == "FailedScheduling"]
    assert why == "0/1 nodes are available: 1 node(s) exceed max volume count."


def test_an_ephemeral_claim_and_its_volume_come_and_go_with_the_pod() -> None:
    rig = Rig()
    rig.cluster.apply(FAST, *NODES, using("web", PodVolume("tmp", storage_class="fast", ephemeral=True)))
    assert placed(rig, "web")
    assert [claim.key for claim in rig.cluster.objects(PersistentVolumeClaim)] == ["default/web-tmp"]

    rig.cluster.delete("Pod", "web")
    rig.run(60)

    assert rig.cluster.objects(PersistentVolumeClaim) == ()
    assert volumes(rig) == []


def test_a_stateful_set_has_its_claims_made_and_they_stay() -> None:
    rig = Rig()
    claim = PersistentVolumeClaim(name="data", storage_class="fast")
    rig.cluster.apply(FAST, *NODES, a_stateful_set("db", 2, volume_claim_templates=(claim,)))
    rig.run(10)
    assert all(pod.node_name for pod in rig.cluster.pods())

    rig.cluster.scale("db", 0, kind="StatefulSet")
    rig.run(60)

    assert rig.cluster.pods() == ()
    assert [c.key for c in rig.cluster.objects(PersistentVolumeClaim)] == [
        "default/data-db-0",
        "default/data-db-1",
    ]
    assert len(volumes(rig)) == 2
