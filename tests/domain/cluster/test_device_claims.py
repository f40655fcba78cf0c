from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import START, at, bound_pod, node_class, node_pool, pending_pod
from tests.domain.models import see
from tests.domain.storages import in_zones
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import (
    ClusterObject,
    Kind,
    ObjectGone,
    ObjectSeen,
    ObjectSetAside,
    Resynced,
)
from treenail.domain.cluster.refused_pods import Help
from treenail.domain.model import labels
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.pods import Expression, Pod, PodResourceClaim, PodVolume
from treenail.domain.model.requirements import Operator, Requirements
from treenail.domain.model.resource_claims import ResourceClaim
from treenail.domain.model.storage import PersistentVolume, PersistentVolumeClaim
from treenail.domain.packing.problem import VolumeNeeds

SHARED = PodResourceClaim("gpu", "shared")
MADE = PodResourceClaim("gpu", template="one-gpu")
ON_NODE = (Expression(labels.NODE_NAME, Operator.IN, ("n1",)),)


def using(*asked: PodResourceClaim, made: tuple[tuple[str, str], ...] = ()) -> Pod:
    pod = pending_pod("p1")
    return replace(pod, spec=replace(pod.spec, resource_claims=asked), claims_made=made)


def claim(name: str = "shared", **more: object) -> ResourceClaim:
    told = {"resource_version": 1, "allocated": True, "users": ("other",), **more}
    return ResourceClaim(name=name, **told)  # type: ignore[arg-type]


def following(*things: ClusterObject) -> ClusterModel:
    made = ClusterModel(promise_lasts=at(20) - START, resource_claims=True)
    see(made, node_pool(), node_class(), *things)
    made.take_changes()
    return made


def needs(pod: Pod, *there: ClusterObject) -> VolumeNeeds:
    return following(*there, pod).snapshot(START).volumes[pod.uid]


def zones(found: VolumeNeeds) -> list[list[str]]:
    return [sorted(one[labels.ZONE].values) for one in found.device_nodes]


def test_devices_pin_the_pods_of_their_claim_to_where_they_can_be_used() -> None:
    found = needs(using(SHARED), claim(nodes=(in_zones("a"), in_zones("b", "c"))))

    assert (zones(found), found.device_problem) == ([["a"], ["b", "c"]], "")
    assert found.alternatives == found.device_nodes


def test_devices_that_every_node_can_use_pin_nothing() -> None:
    found = needs(using(SHARED), claim())

    assert (found.alternatives, found.device_problem) == ((Requirements(),), "")


def test_devices_of_a_node_pin_to_its_name() -> None:
    (only,) = needs(using(SHARED), claim(nodes=(ON_NODE,))).device_nodes

    assert only[labels.NODE_NAME].values == {"n1"}


def test_a_claim_made_from_a_template_pins_the_pod_that_it_was_made_for() -> None:
    pod = using(MADE, made=(("gpu", "p1-gpu-x"),))

    found = needs(pod, claim("p1-gpu-x", made_for=pod.uid, nodes=(in_zones("a"),)))

    assert (zones(found), found.device_problem) == ([["a"]], "")


def test_a_pod_for_which_a_template_makes_no_claim_is_not_pinned() -> None:
    assert needs(using(MADE, made=(("gpu", ""),))).device_problem == ""


def test_several_claims_leave_what_all_of_them_allow() -> None:
    one = claim("one", nodes=(in_zones("a"), in_zones("b")))
    pod = using(PodResourceClaim("x", "one"), PodResourceClaim("y", "two"))

    assert zones(needs(pod, one, claim("two", nodes=(in_zones("b", "c"),)))) == [["b"]]
    apart = needs(pod, one, claim("two", nodes=(in_zones("c"),)))
    assert apart.device_problem == "no node has the devices of all its resource claims: x, y"


def test_volumes_and_devices_of_a_pod_must_be_reached_from_one_node() -> None:
    pod = using(SHARED)
    pod = replace(pod, spec=replace(pod.spec, volumes=(PodVolume("v", "data"),)))
    stored = PersistentVolumeClaim(name="data", resource_version=1, volume_name="v1", bound=True)

    def there(zone: str) -> VolumeNeeds:
        of = PersistentVolume(name="v1", resource_version=1, node_affinity=(in_zones(zone),))
        return needs(pod, stored, of, claim(nodes=(in_zones("a", "b"),)))

    assert [sorted(one[labels.ZONE].values) for one in there("b").alternatives] == [["b"]]
    assert there("c").device_problem == (
        "its volumes cannot be reached from where the devices of its resource claims are"
    )


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (None, "the ResourceClaim default/shared is not there"),
        (claim(deleting=True), "the ResourceClaim default/shared is being deleted"),
        (claim(made_for="another"), "the ResourceClaim default/shared was made for another pod"),
        (
            claim(users=()),
            "the ResourceClaim default/shared has devices that nobody uses: they are about to be released",
        ),
        (
            claim(users=tuple(map(str, range(256)))),
            "the ResourceClaim default/shared is in use by 256 already, the most there may be",
        ),
        (
            claim(nodes=((Expression("rack", Operator.NOT_IN, ("r1",)),),)),
            "the devices of the ResourceClaim default/shared are on nodes by a rule not known here",
        ),
        (
            claim(nodes=((*in_zones("a", "b"), *in_zones("b")),)),
            "the devices of the ResourceClaim default/shared are on nodes by a rule not known here",
        ),
    ],
)
def test_what_is_not_understood_of_a_claim_is_a_reason(there: ResourceClaim | None, said: str) -> None:
    assert needs(using(SHARED), *(() if there is None else (there,))).device_problem == said


def test_a_pod_waits_for_its_template() -> None:
    found = needs(using(MADE))

    assert found.device_problem == "the ResourceClaimTemplate default/one-gpu is not there"


def test_a_claim_of_the_name_that_was_not_made_for_the_pod_is_not_its_claim() -> None:
    found = needs(using(MADE, made=(("gpu", "shared"),)), claim())

    assert found.device_problem == "the ResourceClaim default/shared was made for another pod"


def test_one_of_many_users_keeps_its_devices() -> None:
    users = ("default/p1", *map(str, range(255)))

    assert needs(replace(using(SHARED), uid="default/p1"), claim(users=users)).device_problem == ""


def test_pods_that_move_are_not_placed_by_the_devices_they_have() -> None:
    known = following(claim())
    moving = replace(bound_pod("p1", "n1"), spec=using(SHARED).spec)

    found = known.capacity.volume_needs((moving,))[moving.uid]

    assert found.device_problem == (
        "it has the resource claim gpu, whose devices may be others when the pod moves"
    )


def test_unless_claims_are_followed_pods_with_claims_are_refused() -> None:
    known = ClusterModel(promise_lasts=at(20) - START)
    see(known, claim(), using(SHARED))

    (found,) = known.snapshot(START).volumes.values()
    assert "the resource claim gpu: nodes are not chosen by such claims unless IGNORE" in found.device_problem


def test_claims_that_may_not_be_read_are_a_reason_of_their_own() -> None:
    known = following()
    pod = using(SHARED)
    known.learn(Resynced(revision=9, objects=(pod,), unreadable=frozenset({Kind.RESOURCE_CLAIM})), START)

    assert known.snapshot(START).volumes[pod.uid].device_problem == (
        "what its resource claims need is not known, as no ResourceClaim can be read"
    )


def test_what_was_last_understood_of_a_claim_pins_nobody_once_it_cannot_be_read() -> None:
    pod = using(SHARED)
    known = following(claim(), pod)

    known.learn(
        ObjectSetAside(
            kind=Kind.RESOURCE_CLAIM,
            key="default/shared",
            resource_version=2,
            about=ObjectRef("ResourceClaim", "shared"),
            problem="status: odd",
        ),
        START,
    )

    assert known.snapshot(START).volumes[pod.uid].device_problem == (
        "the ResourceClaim default/shared cannot be read: status: odd"
    )
    assert Help.DEVICES in known.take_changes().retry_refused


def test_only_changes_of_claims_that_waiting_pods_use_let_them_be_retried() -> None:
    known = following(claim(allocated=False), claim("foreign"), using(SHARED))

    def helps(fact: ObjectSeen | ObjectGone) -> bool:
        known.learn(fact, START)
        return Help.DEVICES in known.take_changes().retry_refused

    assert helps(ObjectSeen(object=claim(resource_version=2)))
    assert not helps(ObjectSeen(object=claim("foreign", resource_version=2)))
    assert helps(ObjectGone(kind=Kind.RESOURCE_CLAIM, key="default/shared"))
    assert not helps(ObjectGone(kind=Kind.RESOURCE_CLAIM, key="default/foreign"))


def test_a_claim_made_for_a_pod_that_waits_lets_it_be_retried_until_the_pod_is_gone() -> None:
    pod = replace(using(MADE, made=(("gpu", "p1-gpu-x"),)), resource_version=2)
    known = following(using(MADE), pod)
    of = replace(claim("p1-gpu-x", made_for=pod.uid), resource_version=2)

    known.learn(ObjectSeen(object=of), START)
    assert Help.DEVICES in known.take_changes().retry_refused
    known.learn(ObjectGone(kind=Kind.POD, key=pod.uid), START)
    known.take_changes()
    known.learn(ObjectSeen(object=replace(of, resource_version=3)), START)

    assert Help.DEVICES not in known.take_changes().retry_refused
    assert known.objects.storage.device_users(of.key) == ()


def test_changes_of_claims_are_no_reason_to_consolidate_anew() -> None:
    known = following(claim())
    before = known.recent.stamp

    see(known, claim(resource_version=2, allocated=False))

    assert known.recent.stamp == before
