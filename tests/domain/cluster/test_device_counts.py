"""Devices are counted as resources: no two pods ever count on the same one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import at, pending_pod
from tests.domain.packing.colocated import node
from treenail.domain.cluster.cluster_facts import Kind, ObjectSetAside
from treenail.domain.cluster.device_counts import Counted, DeviceCount
from treenail.domain.cluster.storage_book import StorageBook
from treenail.domain.cluster.volumes import VolumeResolver
from treenail.domain.model import labels
from treenail.domain.model.devices import (
    Device,
    DeviceClass,
    DeviceRequest,
    DeviceTaintRule,
    DeviceWishes,
    ResourceSlice,
    Traits,
)
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.gpu_models import NVIDIA_DRIVER
from treenail.domain.model.pods import Pod, PodResourceClaim
from treenail.domain.model.resource_claims import ResourceClaim
from treenail.domain.packing.problem import ExistingNode

DRIVER: Final = "x.io"
OF_DRIVER: Final = f"device.driver == '{DRIVER}'"
# Each selects the devices whose size is one of these.
SIZES: Final = ({1}, {2}, {3}, {1, 2}, {2, 3}, {1, 2, 3})


def of_sizes(sizes: set[int]) -> str:
    return f"device.attributes['{DRIVER}'].size in {sorted(sizes)}"


def slice_of(name: str, sizes: list[int], *, taken: int = 0) -> tuple[ResourceSlice, ResourceClaim]:
    devices = tuple(
        Device(name=f"d{n}", traits=Traits(driver=DRIVER, attributes=(((DRIVER, "size"), size),)))
        for n, size in enumerate(sizes)
    )
    used = tuple((DRIVER, name, f"d{n}") for n in range(min(taken, len(sizes))))
    return (
        ResourceSlice(name=name, driver=DRIVER, pool=name, node=name, devices=devices),
        ResourceClaim(name=f"of-{name}", allocated=bool(used), devices=used, users=("other",)),
    )


def asking(number: int, wanted: list[tuple[set[int], int]]) -> tuple[Pod, ResourceClaim]:
    pod = pending_pod(f"p{number:03}")
    requests = tuple(
        DeviceRequest(name=f"r{n}", device_class="x", selectors=(of_sizes(sizes),), count=many)
        for n, (sizes, many) in enumerate(wanted)
    )
    claim = ResourceClaim(name=f"c{number}", wishes=DeviceWishes(requests=requests))
    spec = replace(pod.spec, resource_claims=(PodResourceClaim("x", claim.name),))
    return replace(pod, spec=spec, created_at=at(number)), claim


def counted(
    slices: list[tuple[ResourceSlice, ResourceClaim]],
    askers: list[tuple[Pod, ResourceClaim]],
    *rules: DeviceTaintRule,
    known: StorageBook | None = None,
) -> Counted:
    book = known or StorageBook(follows_claims=True)
    for rule in rules:
        book.put(rule)
    book.put(DeviceClass(name="x", selectors=(OF_DRIVER,)))
    for one, taker in slices:
        book.put(one)
        book.put(taker)
    for pod, claim in askers:
        book.put(claim)
        book.use(pod)
    pods = [pod for pod, _ in askers]
    needs = VolumeResolver(book).needs(pods, counted=True)
    nodes = tuple(with_name(one.node) for one, _ in slices)
    return DeviceCount(book, nodes).counted(pods, needs)


def with_name(name: str) -> ExistingNode:
    of = node(name, "a", cpu=9)
    return replace(of, labels={**of.labels, labels.NODE_NAME: name})


def taken_from(free: Mapping[str, int], asked: tuple[tuple[str, int], ...]) -> dict[str, int] | None:
    """Return what is left as packing counts it, None where there is not enough."""
    if any(free.get(name, 0) < amount for name, amount in asked):
        return None
    return {name: amount - dict(asked).get(name, 0) for name, amount in free.items()}


def really_fit(sizes: list[int], wanted: list[set[int]]) -> bool:
    """Return whether each of `wanted` can have a device of its own, by trying all ways."""
    if not wanted:
        return True
    first, *others = wanted
    return any(
        really_fit(sizes[:n] + sizes[n + 1 :], others) for n, size in enumerate(sizes) if size in first
    )


requests = st.lists(st.tuples(st.sampled_from(SIZES), st.integers(1, 2)), min_size=1, max_size=2)


@given(
    sizes=st.lists(st.sampled_from([1, 2, 3]), max_size=6),
    taken=st.integers(0, 3),
    wanted=st.lists(requests, min_size=1, max_size=4),
)
def test_pods_that_are_counted_onto_a_node_can_all_have_devices_of_their_own(
    sizes: list[int], taken: int, wanted: list[list[tuple[set[int], int]]]
) -> None:
    numbers = count()
    askers = [asking(next(numbers), one) for one in wanted]

    found = counted([slice_of("n1", sizes, taken=taken)], askers)

    free: dict[str, int] = dict(found.existing_nodes[0].free)
    placed: list[set[int]] = []
    for (pod, _), own in zip(askers, wanted, strict=True):
        needs = found.needs[pod.uid]
        devices = [sizes_of for sizes_of, many in own for _ in range(many)]
        left = None if needs.device_problem else taken_from(free, needs.devices)
        if left is not None:
            free, placed = left, placed + devices
        elif not needs.device_problem:
            # Exact: it would not fit, whoever of those before had which device.
            assert not really_fit(sizes[taken:], placed + devices)
    assert really_fit(sizes[taken:], placed)


def test_kinds_that_overlap_in_part_are_counted_one_after_the_other() -> None:
    first, second = asking(1, [({1, 2}, 1)]), asking(2, [({2, 3}, 1)])

    found = counted([slice_of("n1", [1, 2, 3])], [first, second])

    assert found.needs[first[0].uid].device_problem == ""
    assert "which other pods ask for" in found.needs[second[0].uid].device_problem


def test_a_node_whose_pool_is_not_complete_has_no_devices() -> None:
    part, taker = slice_of("n1", [1, 1])
    pod = asking(1, [({1}, 1)])

    found = counted([(replace(part, slices=2), taker)], [pod])

    assert "suits no device" in found.needs[pod[0].uid].device_problem


def test_devices_that_a_rule_taints_are_not_counted() -> None:
    pod = asking(1, [({1}, 1)])
    both = [slice_of("n1", [1, 1, 1]), slice_of("n2", [1, 1, 1])]
    rules = DeviceTaintRule(name="all", pool="n1"), DeviceTaintRule(name="one", driver=DRIVER, device="d0")

    found = counted(both, [pod], *rules)

    kind = "x devices of the request r0"
    assert [node.free.get(kind, 0) for node in found.existing_nodes] == [0, 2]


def test_a_rule_that_goes_gives_devices_back() -> None:
    book = StorageBook(follows_claims=True)
    rule = DeviceTaintRule(name="all")
    book.put(slice_of("n1", [1])[0])

    assert book.put(rule).device_nodes == ("n1",)
    assert book.devices.devices_of("n1")[DRIVER, "n1", "d0"].special == "has a taint"
    assert book.remove(Kind.DEVICE_TAINT_RULE, rule.key).device_nodes == ("n1",)
    assert book.devices.devices_of("n1")[DRIVER, "n1", "d0"].special == ""


def test_nothing_is_counted_while_it_is_not_known_which_devices_have_taints() -> None:
    pod = asking(1, [({1}, 1)])
    hidden = StorageBook(follows_claims=True)
    hidden.unreadable = frozenset({Kind.DEVICE_TAINT_RULE})
    about = ObjectRef(kind="DeviceTaintRule", name="odd")
    key = "resource.k8s.io/v1/odd"
    fact = ObjectSetAside(
        kind=Kind.DEVICE_TAINT_RULE, key=key, resource_version=1, about=about, problem="spec.taint: missing"
    )
    odd = StorageBook({(Kind.DEVICE_TAINT_RULE, key): fact}, follows_claims=True)

    problems = [
        counted([slice_of("n1", [1])], [pod], known=book).needs[pod[0].uid].device_problem
        for book in (hidden, odd)
    ]

    assert "no DeviceTaintRule can be read" in problems[0]
    assert problems[1].endswith(f"the DeviceTaintRule {key} taints is not known: spec.taint: missing")


def test_no_gpu_is_bought_that_a_rule_would_taint() -> None:
    pod, claim = asking(1, [])
    wanted = DeviceRequest(name="gpu", device_class="gpu")
    asker = pod, replace(claim, wishes=DeviceWishes(requests=(wanted,)))

    def models(*rules: DeviceTaintRule) -> tuple[int, str]:
        book = StorageBook(follows_claims=True)
        book.put(DeviceClass(name="gpu", selectors=(f"device.driver == '{NVIDIA_DRIVER}'",)))
        found = counted([], [asker], *rules, known=book)
        return sum(map(len, found.models.values())), found.needs[pod.uid].device_problem

    assert models(DeviceTaintRule(name="old", pool="n1"))[0] > 0
    assert models(DeviceTaintRule(name="other", driver="nic.x.io"))[0] > 0
    many, problem = models(DeviceTaintRule(name="all", driver=NVIDIA_DRIVER))
    assert many == 0
    assert problem.endswith("new ones have the taint of the DeviceTaintRule all")


def test_of_a_shared_claim_the_oldest_user_asks_and_the_others_follow() -> None:
    first, second = asking(1, [({1}, 2)]), asking(2, [({1}, 1)])
    sharing = replace(second[0], spec=first[0].spec)

    found = counted([slice_of("n1", [1, 1])], [first, (sharing, first[1])])

    one, other = found.needs[first[0].uid], found.needs[sharing.uid]
    assert (one.leads, one.follows, [amount for _, amount in one.devices]) == (("default/c1",), (), [2])
    assert (other.leads, other.follows, other.devices) == ((), ("default/c1",), ())
