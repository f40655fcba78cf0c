"""Promises of devices: the scheduler may give a pod those that another pod was promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from tests.builders import START, bound_pod, claim, node, node_class, node_pool, pending_pod, resources
from tests.domain.models import LASTS, lose, promise, see
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind
from treenail.domain.cluster.promises import Promise
from treenail.domain.model.claims import PROMISED
from treenail.domain.model.devices import (
    Device,
    DeviceClass,
    DeviceRequest,
    DeviceWishes,
    ResourceClaimTemplate,
    ResourceSlice,
    Traits,
)
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Pod, PodResourceClaim
from treenail.domain.model.resource_claims import ResourceClaim

DRIVER: Final = "x.io"
WISHES: Final = DeviceWishes(requests=(DeviceRequest(name="r", device_class="x"),))
KNOWN: Final = (
    DeviceClass(name="x", selectors=(f"device.driver == '{DRIVER}'",)),
    ResourceClaimTemplate(name="one", wishes=WISHES),
    ResourceClaim(name="shared", wishes=WISHES),
)
ONE: Final = PodResourceClaim("x", template="one")
SHARED: Final = PodResourceClaim("x", "shared")


def asking(pod: Pod, of: PodResourceClaim = ONE) -> Pod:
    return replace(pod, spec=replace(pod.spec, resource_claims=(of,)))


def waiting(uid: str, of: PodResourceClaim = ONE, owner: str = "web") -> Pod:
    return asking(pending_pod(uid, owner=owner), of)


def bind(known: ClusterModel, uid: str, number: int) -> None:
    """See a pod on a node, whose scheduler gave its claim the first device there."""
    device = (DRIVER, f"n{number}", "d0")
    made = ResourceClaim(name=f"of-{uid}", made_for=uid, allocated=True, devices=(device,), users=(uid,))
    pod = asking(bound_pod(uid, f"n{number}", version=2))
    see(known, made, replace(pod, claims_made=(("x", made.name),)))


def nodes(promised: Mapping[int, str], *, devices: int = 1, special: str = "") -> tuple[ClusterObject, ...]:
    """Return nodes in use with their claims, which say for whom they were bought, and with devices."""
    found: list[ClusterObject] = []
    for number, pods in promised.items():
        made = tuple(
            Device(name=f"d{n}", traits=Traits(driver=DRIVER), special=special) for n in range(devices)
        )
        found += (
            in_use(number, pods),
            of_claim(number),
            ResourceSlice(
                name=f"s{number}", driver=DRIVER, pool=f"n{number}", node=f"n{number}", devices=made
            ),
        )
    return tuple(found)


def in_use(number: int, pods: str) -> NodeClaim:
    made = claim(
        f"c{number}",
        provider_id=f"i-{number}",
        initialized=True,
        room=resources(cpu=8, pods=10),
        annotations={PROMISED: pods},
    )
    return replace(made, node_name=f"n{number}")


def of_claim(number: int) -> Node:
    return node(f"n{number}", provider_id=f"i-{number}", room=resources(cpu=8, pods=10))


def following(*things: ClusterObject) -> ClusterModel:
    made = ClusterModel(promise_lasts=LASTS, resource_claims=True)
    see(made, node_pool(), node_class(), *KNOWN, *things)
    return made


def places(known: ClusterModel, *names: str) -> list[list[str]]:
    return [[one.pod for one in known.promises.at(name)] for name in names]


def two_promised(*more: ClusterObject, other: Pod | None = None) -> ClusterModel:
    """Return a cluster in which p1 is promised the device of one node, and p2 that of another."""
    known = following(*nodes({1: "p1", 2: "p2"}), waiting("p1"), other or waiting("p2"), *more)
    promise(known, "p1", "c1")
    promise(known, "p2", "c2")
    known.take_changes()
    return known


def test_pods_that_the_scheduler_exchanged_exchange_their_places() -> None:
    known = two_promised()

    bind(known, "p1", 2)

    assert places(known, "c1", "c2") == [["p2"], []]
    assert known.take_changes().crowded_out == []


def test_the_place_that_is_left_is_not_that_of_a_pod_of_another_kind() -> None:
    known = two_promised(other=waiting("p2", owner="other"))

    bind(known, "p1", 2)

    assert places(known, "c1", "c2") == [[], []]
    assert known.take_changes().crowded_out == ["p2"]


def test_a_pod_keeps_its_place_beside_one_that_left_it_enough_devices() -> None:
    known = following(*nodes({1: "p1,p2"}, devices=2), waiting("p1"), waiting("p2"), waiting("p3"))
    promise(known, "p1", "c1")
    promise(known, "p2", "c1")
    known.take_changes()

    bind(known, "p3", 1)

    assert places(known, "c1") == [["p1"]]
    assert known.take_changes().crowded_out == ["p2"]


def test_who_shares_a_claim_goes_with_the_pod_that_it_is_counted_for() -> None:
    known = following(*nodes({1: "p1,p2"}), waiting("p1", SHARED), waiting("p2", SHARED), waiting("p3"))
    promise(known, "p1", "c1")
    promise(known, "p2", "c1")
    known.take_changes()

    bind(known, "p3", 1)

    assert places(known, "c1") == [[]]
    assert known.take_changes().crowded_out == ["p1", "p2"]


def test_devices_that_are_not_counted_are_no_reason_to_give_up_a_place() -> None:
    known = following(*nodes({1: "p1"}, special="has a taint"), waiting("p1"), waiting("p3"))
    promise(known, "p1", "c1")

    bind(known, "p3", 1)

    assert places(known, "c1") == [["p1"]]


def test_who_got_no_device_on_the_node_that_was_bought_for_it_does_not_get_nodes_without_end() -> None:
    known = two_promised()
    see(known, *(replace(of_claim(number), resource_version=2) for number in (1, 2)))

    known.expire_promises(START + LASTS)

    assert places(known, "c1", "c2") == [[], []]
    assert known.take_changes().crowded_out == ["p1", "p2"]


@pytest.mark.parametrize("gone", [False, True], ids=["runs", "gone"])
def test_a_place_for_the_successor_of_a_pod_with_devices_never_moves_in_exchange(*, gone: bool) -> None:
    known = following(*nodes({1: "p1", 2: "old", 3: ""}), waiting("p1"))
    bind(known, "old", 3)
    promise(known, "p1", "c1")
    known.keep(Promise(like=known.objects.pods["old"], target="c2", decision="d2", heir="web"))
    if gone:
        lose(known, Kind.POD, "old")

    bind(known, "p1", 2)

    assert places(known, "c1", "c2") == [[], ["old"]]
    see(known, waiting("successor"))
    assert places(known, "c1", "c2") == [[], ["successor" if gone else "old"]]
