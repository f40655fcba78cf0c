from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import START, at, pending_pod
from tests.domain.models import IN_USE, lose, model, promise, see
from tests.domain.storages import EBS, FAST, IN_TREE, csi_node, in_zones, storage_claim, using, volume
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind, Resynced
from treenail.domain.model import labels
from treenail.domain.model.pods import Expression, Phase, Pod, PodVolume
from treenail.domain.model.requirements import Operator, Requirements
from treenail.domain.model.storage import StorageClass
from treenail.domain.packing.problem import ExistingNode, VolumeNeeds


def needs(pod: Pod, *there: ClusterObject) -> VolumeNeeds:
    return model(*there, pod).snapshot(START).volumes[pod.uid]


def zones(found: VolumeNeeds) -> list[list[str]]:
    """The zones of each alternative; none where it demands none."""
    return [sorted(one[labels.ZONE].values) if labels.ZONE in one else [] for one in found.alternatives]


def ephemeral(of_class: str | None = "fast") -> Pod:
    pod = pending_pod("p1")
    scratch = PodVolume(name="scratch", storage_class=of_class, ephemeral=True)
    return replace(pod, spec=replace(pod.spec, volumes=(scratch,)))


# --- where


def test_pods_without_volumes_have_no_needs() -> None:
    assert model(pending_pod("p1")).snapshot(START).volumes == {}


def test_a_bound_claim_asks_for_the_places_of_its_volume() -> None:
    of = replace(volume("v1"), node_affinity=(in_zones("a"), in_zones("b", "c")))

    found = needs(using("data"), storage_claim(bound_to="v1"), of)

    assert zones(found) == [["a"], ["b", "c"]]
    assert (found.known, found.fresh, found.problem) == (((EBS, "vol-v1"),), (), "")


def test_a_claim_to_be_bound_asks_for_the_places_of_its_class() -> None:
    limited = replace(FAST, allowed_topologies=(in_zones("a"), in_zones("b")))

    found = needs(using("data"), storage_claim(), limited)

    assert zones(found) == [["a"], ["b"]]
    assert (found.known, found.fresh, found.problem) == ((), ((EBS, 1),), "")


def test_a_class_without_topologies_asks_for_nothing() -> None:
    assert needs(using("data"), storage_claim(), FAST).alternatives == (Requirements(),)


def test_labels_of_older_names_mean_the_same() -> None:
    term = (Expression("topology.ebs.csi.aws.com/zone", Operator.IN, ("a",)),)

    found = needs(using("data"), storage_claim(bound_to="v1"), replace(volume(), node_affinity=(term,)))

    assert zones(found) == [["a"]]


def test_several_volumes_ask_for_places_that_reach_all_of_them() -> None:
    found = needs(
        using("one", "two"),
        storage_claim("one", bound_to="v1"),
        storage_claim("two", bound_to="v2"),
        replace(volume("v1", of="one"), node_affinity=(in_zones("a"), in_zones("b"))),
        volume("v2", "b", "c", of="two"),
    )

    assert zones(found) == [["b"]]
    assert found.known == ((EBS, "vol-v1"), (EBS, "vol-v2"))


def test_volumes_without_a_place_in_common_are_a_problem() -> None:
    found = needs(
        using("one", "two"),
        storage_claim("one", bound_to="v1"),
        storage_claim("two", bound_to="v2"),
        volume("v1", "a", of="one"),
        volume("v2", "b", of="two"),
    )

    assert found.problem == "no place reaches all of its volumes: one, two"


def test_the_node_of_a_volume_that_lives_on_one_is_left_out() -> None:
    term = (Expression(labels.HOSTNAME, Operator.IN, ("n1",)), *in_zones("a"))
    local = replace(volume(), node_affinity=(term,), on_node=True)

    (alone,) = needs(using("data"), storage_claim(bound_to="v1"), local).alternatives

    assert sorted(alone) == [labels.ZONE]


@pytest.mark.parametrize("key", [labels.ZONE, "failure-domain.beta.kubernetes.io/zone"])
def test_the_labels_of_a_volume_say_where_it_is_too(key: str) -> None:
    labelled = replace(volume(), labels={key: "a__b"})

    assert zones(needs(using("data"), storage_claim(bound_to="v1"), labelled)) == [["a", "b"]]
    both = replace(labelled, node_affinity=(in_zones("b", "c"),))
    assert zones(needs(using("data"), storage_claim(bound_to="v1"), both)) == [["b"]]


# --- how many


def test_each_volume_to_be_made_counts_by_the_driver_that_took_over() -> None:
    old = replace(FAST, name="old", provisioner=IN_TREE)

    found = needs(using("one", "two"), storage_claim("one"), storage_claim("two", of_class="old"), FAST, old)

    assert found.fresh == ((EBS, 2),)


def test_volumes_that_no_driver_attaches_take_no_place() -> None:
    by_hand = replace(FAST, provisioner="kubernetes.io/no-provisioner")

    assert needs(using("data"), storage_claim(), by_hand).fresh == ()
    plain = volume(driver="")
    assert needs(using("data"), storage_claim(bound_to="v1"), plain).known == ()


def test_a_volume_that_the_pod_names_itself_is_known() -> None:
    pod = pending_pod("p1")
    inline = PodVolume(name="disk", driver=EBS, handle="vol-9")

    found = needs(replace(pod, spec=replace(pod.spec, volumes=(inline,))))

    assert (found.known, found.problem) == (((EBS, "vol-9"),), "")


def test_a_claim_that_pods_share_is_one_volume_before_it_is_made() -> None:
    found = model(storage_claim(), FAST, using("data"), using("data", uid="p2")).snapshot(START).volumes

    assert found["p1"] is found["p2"]
    assert (found["p1"].known, found["p1"].fresh) == (((EBS, "default/data"),), ())


def test_equal_needs_are_one_object() -> None:
    there = (storage_claim("one"), storage_claim("two"), FAST)

    found = model(*there, using("one"), using("two", uid="p2")).snapshot(START).volumes

    assert found["p1"] is found["p2"]


# --- claims of pods


def test_an_ephemeral_claim_is_named_after_pod_and_volume() -> None:
    found = needs(ephemeral(), storage_claim("p1-scratch", bound_to="v1"), volume("v1", "a"))

    assert zones(found) == [["a"]]


def test_an_ephemeral_claim_need_not_be_there_yet() -> None:
    assert needs(ephemeral(), FAST).fresh == ((EBS, 1),)


def test_a_claim_without_class_is_of_the_default_one() -> None:
    default = replace(FAST, default=True)

    assert needs(using("data"), storage_claim(of_class=None), default).fresh == ((EBS, 1),)


def test_of_several_default_classes_the_newest_counts() -> None:
    old, new = (
        StorageClass(
            name=name,
            resource_version=1,
            provisioner=f"{name}.example.com",
            waits_for_pod=True,
            default=True,
            created_at=at(seconds),
        )
        for name, seconds in (("old", 0), ("new", 1))
    )

    found = needs(using("data"), storage_claim(of_class=None), new, old)

    assert found.fresh == (("new.example.com", 1),)


# --- problems


BOUND = storage_claim(bound_to="v1")
AT_ONCE = replace(FAST, waits_for_pod=False)


@pytest.mark.parametrize(
    ("there", "problem"),
    [
        ((), "the claim default/data is not there"),
        ((replace(BOUND, deleting=True), volume()), "the claim default/data is being deleted"),
        ((replace(BOUND, lost=True),), "the claim default/data has lost its volume v1"),
        (
            (replace(BOUND, bound=False), volume()),
            "the claim default/data is still being bound to the volume v1",
        ),
        ((BOUND,), "the volume v1 of the claim default/data is not there"),
        (
            (BOUND, replace(volume(), deleting=True)),
            "the volume v1 of the claim default/data is being deleted",
        ),
        (
            (storage_claim(of_class=""),),
            "the claim default/data is bound to no volume and names no StorageClass",
        ),
        (
            (storage_claim(of_class=None), FAST),
            "the claim default/data names no StorageClass, and none is the default",
        ),
        ((storage_claim(),), "the StorageClass fast of the claim default/data is not there"),
        (
            (storage_claim(), AT_ONCE),
            "the claim default/data is not bound, and its StorageClass fast waits for no pod",
        ),
    ],
)
def test_what_is_wrong_with_a_claim_is_said(there: tuple[ClusterObject, ...], problem: str) -> None:
    assert needs(using("data"), *there).problem == problem


@pytest.mark.parametrize(
    ("unreadable", "there"),
    [
        (Kind.PERSISTENT_VOLUME_CLAIM, ()),
        (Kind.PERSISTENT_VOLUME, (BOUND,)),
        (Kind.STORAGE_CLASS, (storage_claim(),)),
    ],
)
def test_what_we_may_not_see_is_a_problem_of_pods_with_volumes_alone(
    unreadable: Kind, there: tuple[ClusterObject, ...]
) -> None:
    known = ClusterModel(promise_lasts=at(1) - START)
    objects = (*there, using("data"), pending_pod("p2"))
    known.learn(Resynced(revision=1, objects=objects, unreadable=frozenset({unreadable})), START)

    snapshot = known.snapshot(START)

    assert {uid: n.problem for uid, n in snapshot.volumes.items()} == {
        "p1": f"what its volumes need is not known, as no {unreadable.value} can be read"
    }
    assert [p.uid for p in snapshot.pods] == ["p1", "p2"]


# --- places on nodes


def room_of(known: ClusterModel) -> ExistingNode:
    return next(r for r in known.snapshot(START).existing_nodes if r.name == "c1")


def test_a_node_says_how_many_volumes_can_still_be_attached() -> None:
    known = model(
        *IN_USE,
        csi_node("node-c1", most=3),
        storage_claim(bound_to="v1"),
        volume("v1", "a"),
        storage_claim("new"),
        FAST,
        using("data", on="node-c1"),
        using("data", "new", uid="p2", on="node-c1"),
    )

    existing_node = room_of(known)

    assert existing_node.attached == {(EBS, "vol-v1"), (EBS, "default/new")}
    assert existing_node.attachable == {EBS: 1}


def test_a_node_of_whose_drivers_nothing_is_known_has_no_limits() -> None:
    known = model(*IN_USE, storage_claim(bound_to="v1"), volume(), using("data", on="node-c1"))

    assert (room_of(known).attachable, room_of(known).attached) == ({}, frozenset())


def test_more_volumes_than_a_node_can_hold_leave_none_and_not_less() -> None:
    known = model(*IN_USE, csi_node("node-c1", most=0), storage_claim(), FAST, using("data", on="node-c1"))

    assert room_of(known).attachable == {EBS: 0}


def test_volumes_of_promised_pods_have_their_places() -> None:
    known = model(*IN_USE, csi_node("node-c1", most=3), storage_claim(), FAST, using("data"))
    promise(known, "p1", "c1")

    assert room_of(known).attachable == {EBS: 2}


def test_volumes_of_a_running_pod_are_attached_whatever_becomes_of_its_claim() -> None:
    known = model(
        *IN_USE,
        csi_node("node-c1", most=3),
        replace(BOUND, deleting=True),
        volume(),
        using("data", on="node-c1"),
    )

    assert room_of(known).attached == {(EBS, "vol-v1")}


def test_what_is_attached_follows_every_change() -> None:
    known = model(*IN_USE, csi_node("node-c1", most=3), storage_claim(), FAST, using("data", on="node-c1"))
    assert room_of(known).attached == {(EBS, "default/data")}

    see(known, replace(BOUND, resource_version=2), volume())
    assert room_of(known).attached == {(EBS, "vol-v1")}

    see(known, replace(volume(), resource_version=2, handle="vol-2"))
    assert room_of(known).attached == {(EBS, "vol-2")}

    see(known, replace(csi_node("node-c1", most=9), resource_version=2))
    assert room_of(known).attachable == {EBS: 8}

    lose(known, Kind.CSI_NODE, "node-c1")
    assert room_of(known).attachable == {}

    see(known, replace(csi_node("node-c1", most=9), resource_version=3))
    lose(known, Kind.PERSISTENT_VOLUME_CLAIM, "default/data")
    lose(known, Kind.STORAGE_CLASS, "fast")
    assert room_of(known).attached == frozenset()


def test_where_a_volume_or_a_class_is_follows_every_change() -> None:
    limited = replace(FAST, allowed_topologies=(in_zones("a"),))
    known = model(storage_claim(), limited, using("data"))
    assert zones(known.snapshot(START).volumes["p1"]) == [["a"]]

    see(known, replace(FAST, resource_version=2, allowed_topologies=(in_zones("b"),)))
    assert zones(known.snapshot(START).volumes["p1"]) == [["b"]]

    see(known, replace(BOUND, resource_version=2), volume("v1", "a"))
    assert zones(known.snapshot(START).volumes["p1"]) == [["a"]]

    see(known, replace(volume("v1", "c"), resource_version=2))
    assert zones(known.snapshot(START).volumes["p1"]) == [["c"]]


def test_pods_that_wait_for_a_claim_may_hope_when_it_changes() -> None:
    known = model(storage_claim(), using("data"), pending_pod("p2"))

    see(known, storage_claim("other"))
    assert not known.take_changes()

    see(known, replace(BOUND, resource_version=2))
    assert known.take_changes().retry_refused


def test_pods_may_hope_when_a_class_comes() -> None:
    known = model(storage_claim(), using("data"))

    see(known, FAST)

    assert known.take_changes().retry_refused


@pytest.mark.parametrize("over", [False, True], ids=["gone", "over"])
def test_a_claim_is_shared_no_more_when_the_other_pod_is(over: bool) -> None:  # noqa: FBT001
    known = model(storage_claim(), FAST, using("data"), using("data", uid="p2"))

    if over:
        see(known, replace(using("data", uid="p2"), resource_version=2, phase=Phase.SUCCEEDED))
    else:
        lose(known, Kind.POD, "p2")

    assert known.snapshot(START).volumes["p1"].fresh == ((EBS, 1),)
