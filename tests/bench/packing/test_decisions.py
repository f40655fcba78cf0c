from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tests.bench.packing.catalogues import relaxation
from tests.bench.packing.decisions import Claim, Decision, Requirement
from tests.bench.packing.freshness import Pods
from tests.bench.packing.ours import Treenail
from tests.bench.packing.workloads import WORKLOADS, ZONE, Manifest, manifests, pod, spread
from tests.bench.packing.zone_order import in_no_order
from tests.fuzz.check.faults import Fault, Kind
from tests.fuzz.check.verdict import check
from treenail.adapters.kwok.catalogue import read_catalogue
from treenail.domain.packing.problem import PackingSettings

TYPES = relaxation(40)
ZONES = ("test-zone-1", "test-zone-2", "test-zone-3")


def decide(content: Manifest, folder: Path) -> Decision:
    (folder / "types.json").write_text(json.dumps(TYPES))
    (folder / "pods.json").write_text(json.dumps(content))
    side = Treenail(read_catalogue(folder / "types.json"), PackingSettings(), Pods.BARE)
    return side.decide(side.read(folder / "pods.json"))


def over_zones(fault: Fault) -> bool:
    """Whether the checker found no order for zones: for pods spread beside others' labels, it misses some."""
    return fault.kind is Kind.SPREAD and ZONE in fault.what


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_what_is_timed_places_every_pod_and_breaks_no_rule(name: str, seed: int, tmp_path: Path) -> None:
    content = manifests(name, 60, seed)

    decision = decide(content, tmp_path)

    assert decision.unschedulable == {}
    assert len(decision.placed) == decision.pods == 60
    assert decision.cost >= decision.lower_bound * (1 - 1e-9)
    faults = check(content["items"], TYPES, msgspec.to_builtins(decision)).faults
    if name == "diverse":
        faults = tuple(fault for fault in faults if not over_zones(fault))
        assert in_no_order(content["items"], decision, ZONES) == []
    assert faults == ()


def test_pods_that_are_spread_too_unevenly_could_have_come_in_no_order() -> None:
    own = {"my-label": "a"}
    items = [
        pod(f"p{n}", own, {"cpu": "1"}, {"topologySpreadConstraints": [spread(own, ZONE)]}) for n in range(4)
    ]

    def decision(*zones: str) -> Decision:
        claims = tuple(
            Claim(
                node_pool="default",
                pods=(f"default/p{n}",),
                instance_types=("t",),
                requirements=(Requirement(ZONE, "In", (zone,)),),
                price=1.0,
            )
            for n, zone in enumerate(zones)
        )
        return Decision(
            node_claims=claims,
            existing={},
            unschedulable={},
            cost=4.0,
            pods=4,
            seconds=(),
            processor_seconds=(),
        )

    assert in_no_order(items, decision(*ZONES, ZONES[0]), ZONES) == []
    assert len(in_no_order(items, decision(ZONES[0], ZONES[0], *ZONES[:2]), ZONES)) == 2
