"""Cases of Karpenter's suites of NodeOverlay, each named by its file and line there, in v1.14.0 + 20."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from treenail.adapters.api.kinds import kind_of
from treenail.adapters.api.reading import Reading
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_overlays import NodeOverlay
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.overlaid_types import overlaid
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources, amount_of

Tree = dict[str, Any]
FUSE, BUZ, GIANT = "smarter-devices/fuse", "smarter-devices/buz", "hugepages-1Gi"
TYPE, ZONE, WAY = labels.INSTANCE_TYPE, labels.ZONE, labels.CAPACITY_TYPE
DEFAULT, SMALL, GPU, GPU_B = "default-instance-type", "small-instance-type", "gpu-vendor", "gpu-vendor-b"


def made(name: str, *offerings: Offering, arch: str = "amd64", os: str = "linux") -> InstanceType:
    sold = offerings or (Offering("zone-1", "spot", 1.02),)
    return InstanceType(
        name=name,
        requirements=Requirements(
            (
                Requirement(TYPE, frozenset((name,))),
                Requirement(labels.ARCH, frozenset((arch,))),
                Requirement(labels.OS, frozenset((os,))),
                Requirement(ZONE, frozenset(o.zone for o in sold)),
                Requirement(WAY, frozenset(o.capacity_type for o in sold)),
            )
        ),
        capacity=Resources({"cpu": 4000}),
        offerings=sold,
    )


ONE: Final = (made(DEFAULT),)
RESET: Final = tuple(
    made(name, arch="arm64" if name.startswith("arm") else "amd64")
    for name in (DEFAULT, SMALL, GPU, GPU_B, "arm-instance-type", "single-pod-instance-type")
)
SOLD: Final = (
    made(
        DEFAULT,
        Offering("zone-1", "spot", 1.02),
        Offering("zone-2", "on-demand", 2.02),
        Offering("zone-3", "spot", 3.02),
        Offering("zone-4", "reserved", 4.02),
    ),
)
APART: Final = (
    made("zone-one", Offering("zone-1", "spot", 1.02)),
    made("zone-two", Offering("zone-2", "on-demand", 2.02)),
    made("zone-four", Offering("zone-4", "reserved", 4.02)),
)
POOLS: Final = {"one": {}, "two": {"test-label": "test-value"}}


def asks(key: str, *values: str, operator: str = "In") -> Tree:
    return {"key": key, "operator": operator, "values": list(values)}


def overlay(name: str, *requirements: Tree, weight: int = 10, **spec: Any) -> Tree:
    return {
        "metadata": {"name": name},
        "spec": {"requirements": list(requirements), "weight": weight, **spec},
    }


@dataclass(frozen=True, kw_only=True)
class Case:
    """Overlays, which of them conflict, and what comes of prices and resources.

    `prices` are by pool, type and zone, `capacities` by pool, type and resource, None for none.
    """

    overlays: tuple[Tree, ...]
    types: tuple[InstanceType, ...] = ONE
    conflicts: frozenset[str] = frozenset()
    prices: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    capacities: Mapping[tuple[str, str, str], str | None] = field(default_factory=dict)


EXISTS: Final = asks(WAY, operator="Exists")
WHOLE: Final = asks(TYPE, DEFAULT)
BOTH: Final = asks(TYPE, DEFAULT, SMALL)
OTHERS: Final = asks(TYPE, DEFAULT, GPU)


def said(tree: Tree) -> NodeOverlay:
    whole = {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", **tree}
    (read,) = kind_of("karpenter.sh/v1alpha1", "NodeOverlay").read(whole, Reading()).objects
    assert isinstance(read, NodeOverlay)
    return read


def conflict(one: Tree, other: Tree, types: tuple[InstanceType, ...] = RESET) -> Case:
    return Case(overlays=(one, other), types=types, conflicts=frozenset({"overlay-a"}))


def agree(one: Tree, other: Tree, types: tuple[InstanceType, ...] = RESET) -> Case:
    return Case(overlays=(one, other), types=types)


def a(*requirements: Tree, **spec: Any) -> Tree:
    return overlay("overlay-a", *requirements, **spec)


def b(*requirements: Tree, **spec: Any) -> Tree:
    return overlay("overlay-b", *requirements, **spec)


SUITE: Final = "nodeoverlay/suite_test.go"
CASES: Final[dict[str, Case]] = {
    f"{SUITE}:105": Case(overlays=(), prices={("one", DEFAULT, "zone-1"): 1.02}),
    f"{SUITE}:118": Case(overlays=(a(WHOLE),), prices={("one", DEFAULT, "zone-1"): 1.02}),
    f"{SUITE}:189": conflict(a(asks(labels.ARCH, "arm64"), price="1.03"), b(EXISTS, price="23")),
    f"{SUITE}:234": agree(
        a(asks(labels.ARCH, "arm64"), price="1.03"),
        b(asks(labels.OS, "ios"), price="23"),
        (made("arm", arch="arm64"), made("amd", os="ios")),
    ),
    f"{SUITE}:331": conflict(a(asks(ZONE, "zone-1", "zone-4"), price="1.03"), b(EXISTS, price="23"), SOLD),
    f"{SUITE}:376": conflict(a(EXISTS, price="1.03"), b(asks(WAY, "spot"), price="23"), SOLD),
    f"{SUITE}:421": agree(
        a(asks(ZONE, "zone-6", "zone-4"), price="1.03"), b(asks(WAY, "spot"), price="23"), SOLD
    ),
    f"{SUITE}:466": conflict(
        a(asks(ZONE, "zone-1", "zone-4"), price="1.03"), b(asks(WAY, "spot"), price="23"), SOLD
    ),
    f"{SUITE}:562": conflict(a(BOTH, price="1.03"), b(OTHERS, price="23")),
    f"{SUITE}:563": conflict(a(BOTH, priceAdjustment="+54"), b(OTHERS, priceAdjustment="-2")),
    f"{SUITE}:612": conflict(a(BOTH, price="100"), b(OTHERS, price="100")),
    f"{SUITE}:613": conflict(a(BOTH, priceAdjustment="+100"), b(OTHERS, priceAdjustment="+100")),
    f"{SUITE}:661": agree(a(WHOLE, price="54"), b(asks(TYPE, DEFAULT, operator="NotIn"), price="23")),
    f"{SUITE}:662": agree(
        a(WHOLE, priceAdjustment="+54"), b(asks(TYPE, DEFAULT, operator="NotIn"), priceAdjustment="-2")
    ),
    f"{SUITE}:710": agree(a(WHOLE, price="34"), b(OTHERS, price="2", weight=20)),
    f"{SUITE}:711": agree(a(WHOLE, priceAdjustment="-4"), b(OTHERS, priceAdjustment="-2", weight=20)),
    f"{SUITE}:715": conflict(a(BOTH, capacity={FUSE: "1"}), b(OTHERS, capacity={FUSE: "54"})),
    f"{SUITE}:765": Case(
        overlays=(
            overlay("conflicting-overlay-1", BOTH, capacity={"hugepage-1Gi": "2Gi"}),
            overlay("good-overlay-1", WHOLE, capacity={FUSE: "1"}),
            overlay("conflicting-overlay-2", WHOLE, capacity={"hugepage-1Gi": "3Gi"}),
        ),
        types=RESET,
        conflicts=frozenset({"conflicting-overlay-1"}),
    ),
    f"{SUITE}:836": conflict(a(BOTH, capacity={FUSE: "54"}), b(OTHERS, capacity={FUSE: "54"})),
    f"{SUITE}:886": agree(
        a(WHOLE, capacity={FUSE: "54"}), b(asks(TYPE, DEFAULT, operator="NotIn"), capacity={FUSE: "5"})
    ),
    f"{SUITE}:936": agree(a(WHOLE, capacity={FUSE: "55"}), b(OTHERS, capacity={FUSE: "5"}, weight=20)),
    f"{SUITE}:986": agree(a(WHOLE, capacity={FUSE: "55"}), b(OTHERS, capacity={BUZ: "5"}, weight=20)),
    f"{SUITE}:1079": Case(
        overlays=(a(asks(labels.NODEPOOL, "one"), price="13234.223"),),
        prices={("one", DEFAULT, "zone-1"): 13234.223, ("two", DEFAULT, "zone-1"): 1.02},
    ),
    f"{SUITE}:1080": Case(
        overlays=(a(asks(labels.NODEPOOL, "one"), priceAdjustment="+1000"),),
        prices={("one", DEFAULT, "zone-1"): 1001.02, ("two", DEFAULT, "zone-1"): 1.02},
    ),
    f"{SUITE}:1133": Case(
        overlays=(
            a(asks(labels.NODEPOOL, "one"), price="13234.223"),
            b(asks(labels.NODEPOOL, "two"), price="2"),
        ),
        prices={("one", DEFAULT, "zone-1"): 13234.223, ("two", DEFAULT, "zone-1"): 2.0},
    ),
    f"{SUITE}:1185": Case(
        overlays=(a(asks("test-label", "test-value"), price="13234.223"),),
        prices={("one", DEFAULT, "zone-1"): 1.02, ("two", DEFAULT, "zone-1"): 13234.223},
    ),
    f"{SUITE}:1186": Case(
        overlays=(a(asks("test-label", "test-value"), priceAdjustment="+1000"),),
        prices={("one", DEFAULT, "zone-1"): 1.02, ("two", DEFAULT, "zone-1"): 1001.02},
    ),
    f"{SUITE}:1251": Case(
        overlays=(a(asks(TYPE, "not-found"), price="13234.223"),), prices={("one", DEFAULT, "zone-1"): 1.02}
    ),
    f"{SUITE}:1281": Case(
        overlays=(a(WHOLE, price="13234.223"),), prices={("one", DEFAULT, "zone-1"): 13234.223}
    ),
    f"{SUITE}:1282": Case(
        overlays=(a(WHOLE, priceAdjustment="+1000"),), prices={("one", DEFAULT, "zone-1"): 1001.02}
    ),
    f"{SUITE}:1346": Case(
        overlays=(a(asks(WAY, "reserved"), price="12321.32"),),
        types=SOLD,
        prices={("one", DEFAULT, "zone-4"): 12321.32, ("one", DEFAULT, "zone-1"): 1.02},
    ),
    f"{SUITE}:1411": Case(
        overlays=(a(asks(ZONE, "zone-1"), price="121.421"),),
        types=SOLD,
        prices={("one", DEFAULT, "zone-1"): 121.421, ("one", DEFAULT, "zone-2"): 2.02},
    ),
    f"{SUITE}:1505": Case(
        overlays=(a(asks(ZONE, "zone-2", "zone-4"), price="121.421"), b(asks(WAY, "spot"), price="165.421")),
        types=SOLD,
        prices={
            ("one", DEFAULT, "zone-2"): 121.421,
            ("one", DEFAULT, "zone-4"): 121.421,
            ("one", DEFAULT, "zone-1"): 165.421,
        },
    ),
    f"{SUITE}:1512": Case(
        overlays=(
            a(asks(ZONE, "zone-2", "zone-4"), priceAdjustment="+201"),
            b(asks(WAY, "spot"), priceAdjustment="-0.5"),
        ),
        types=SOLD,
        prices={
            ("one", DEFAULT, "zone-2"): 203.02,
            ("one", DEFAULT, "zone-4"): 205.02,
            ("one", DEFAULT, "zone-1"): 0.52,
        },
    ),
    f"{SUITE}:1611": Case(
        overlays=(
            a(asks(ZONE, "zone-2"), price="121.421", weight=20),
            b(asks(ZONE, "zone-2", "zone-4"), price="165.421"),
        ),
        types=SOLD,
        prices={("one", DEFAULT, "zone-2"): 121.421, ("one", DEFAULT, "zone-4"): 165.421},
    ),
    f"{SUITE}:1617": Case(
        overlays=(
            a(asks(ZONE, "zone-2"), priceAdjustment="+201", weight=20),
            b(asks(ZONE, "zone-2", "zone-4"), priceAdjustment="-1.5"),
        ),
        types=SOLD,
        prices={("one", DEFAULT, "zone-2"): 203.02, ("one", DEFAULT, "zone-4"): 2.52},
    ),
    # Different: there all of overlay-a is left out, here what conflicts with overlay-b.
    f"{SUITE}:1690": Case(
        overlays=(a(asks(TYPE, DEFAULT, SMALL, GPU_B), price="382"), b(asks(TYPE, SMALL, GPU), price="100")),
        types=RESET,
        conflicts=frozenset({"overlay-a"}),
        prices={
            ("one", DEFAULT, "zone-1"): 382,
            ("one", SMALL, "zone-1"): 100,
            ("one", GPU, "zone-1"): 100,
            ("one", GPU_B, "zone-1"): 382,
        },
    ),
    f"{SUITE}:1807": Case(
        overlays=(a(asks(labels.NODEPOOL, "one"), capacity={FUSE: "1"}),),
        capacities={("one", DEFAULT, FUSE): "1", ("two", DEFAULT, FUSE): None},
    ),
    f"{SUITE}:1843": Case(
        overlays=(
            a(asks(labels.NODEPOOL, "one"), capacity={FUSE: "1"}),
            b(asks(labels.NODEPOOL, "two"), capacity={BUZ: "2"}),
        ),
        capacities={("one", DEFAULT, FUSE): "1", ("two", DEFAULT, BUZ): "2", ("one", DEFAULT, BUZ): None},
    ),
    f"{SUITE}:1899": Case(
        overlays=(a(asks("test-label", "test-value"), capacity={FUSE: "1"}),),
        capacities={("one", DEFAULT, FUSE): None, ("two", DEFAULT, FUSE): "1"},
    ),
    f"{SUITE}:1971": Case(
        overlays=(a(asks(TYPE, "not-found"), capacity={FUSE: "1"}),),
        capacities={("one", DEFAULT, FUSE): None},
    ),
    f"{SUITE}:1999": Case(
        overlays=(a(WHOLE, capacity={FUSE: "1"}),), capacities={("one", DEFAULT, FUSE): "1"}
    ),
    f"{SUITE}:2029": Case(
        overlays=(
            a(asks(ZONE, "zone-2", "zone-4"), capacity={FUSE: "1"}),
            b(asks(WAY, "spot"), capacity={GIANT: "2Gi"}),
        ),
        types=APART,
        prices={("one", "zone-one", "zone-1"): 1.02, ("one", "zone-four", "zone-4"): 4.02},
        capacities={
            ("one", "zone-one", GIANT): "2Gi",
            ("one", "zone-one", FUSE): None,
            ("one", "zone-two", FUSE): "1",
            ("one", "zone-four", FUSE): "1",
        },
    ),
    f"{SUITE}:2124": Case(
        overlays=(a(WHOLE, capacity={FUSE: "1"}), b(WHOLE, capacity={GIANT: "2Gi"})),
        capacities={("one", DEFAULT, FUSE): "1", ("one", DEFAULT, GIANT): "2Gi"},
    ),
    f"{SUITE}:2277": Case(
        overlays=(a(WHOLE, capacity={FUSE: "5"}), b(WHOLE, capacity={FUSE: "99"}, weight=20)),
        capacities={("one", DEFAULT, FUSE): "99"},
    ),
    f"{SUITE}:2504": Case(
        overlays=(a(WHOLE, capacity={FUSE: "5"}), b(WHOLE, price="3", weight=20)),
        prices={("one", DEFAULT, "zone-1"): 3.0},
        capacities={("one", DEFAULT, FUSE): "5"},
    ),
    f"{SUITE}:2548": Case(overlays=(a(WHOLE, price="3"),), types=()),
}


@pytest.mark.parametrize("name", CASES)
def test_a_case_of_karpenter_comes_out_as_there(name: str) -> None:
    case = CASES[name]
    overlays = tuple(map(said, case.overlays))
    found: dict[tuple[str, str], InstanceType] = {}
    conflicts: set[str] = set()
    for pool, own in POOLS.items():
        ref = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
        seen = overlaid(case.types, NodePool(name=pool, node_class=ref, labels=own, overlays=overlays))
        conflicts |= {one.overlay for one in seen.conflicts}
        found |= {(pool, one.name): one for one in seen.types}

    assert conflicts == case.conflicts
    prices = {(pool, one, o.zone): o.price for (pool, one), t in found.items() for o in t.offerings}
    assert {at: prices[at] for at in case.prices} == pytest.approx(dict(case.prices))
    for (pool, one, resource), amount in case.capacities.items():
        wanted = None if amount is None else amount_of(resource, amount)
        assert found[pool, one].capacity.get(resource) == wanted


@pytest.mark.parametrize(
    ("name", "change", "price", "becomes"),
    [
        ("cloudprovider/suite_test.go:190", "-10%", 10.0, 9.0),
        ("cloudprovider/suite_test.go:191", "+10%", 10.0, 11.0),
        ("cloudprovider/suite_test.go:192", "-50%", 10.0, 5.0),
        ("cloudprovider/suite_test.go:193", "+100%", 10.0, 20.0),
        ("cloudprovider/suite_test.go:194", "-100%", 10.0, 0.0),
        ("cloudprovider/suite_test.go:196", "-25%", 1.5, 1.125),
        ("cloudprovider/suite_test.go:198", "+0", 10.0, 10.0),
        ("cloudprovider/suite_test.go:199", "+5", 10.0, 15.0),
        ("cloudprovider/suite_test.go:200", "-2.5", 10.0, 7.5),
        ("cloudprovider/suite_test.go:201", "-10", 10.0, 0.0),
        ("cloudprovider/suite_test.go:202", "-15", 10.0, 0.0),
        ("cloudprovider/suite_test.go:203", "+0.75", 1.25, 2.0),
        ("cloudprovider/suite_test.go:204", "+100", 0.001, 100.001),
        ("cloudprovider/suite_test.go:205", "+0.0001", 0.0001, 0.0002),
        ("cloudprovider/suite_test.go:208", "80.0", 82781.0, 80.0),
    ],
)
def test_a_price_becomes_what_it_does_there(name: str, change: str, price: float, becomes: float) -> None:
    del name
    field_name = "priceAdjustment" if change[0] in "+-" else "price"

    spec: Tree = {"requirements": [], field_name: change}
    read = said({"metadata": {"name": "case"}, "spec": spec})

    assert read.price is not None
    assert read.price.of(price) == pytest.approx(becomes)
