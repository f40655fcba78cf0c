from __future__ import annotations

import msgspec

from tests.bench.real.scaled_down import ScaledDown, table

RUN = ScaledDown(
    controller="treenail",
    pods=66,
    nodes_before=20,
    dollars_per_hour_before=4.3,
    rest_seconds=100.0,
    nodes=8,
    dollars_per_hour=1.5,
    evicted=50,
    started=50,
    least_ready=60,
    cpu_seconds=5.0,
    resident_mib=110.0,
    load=1.0,
)


def test_the_table_has_the_medians_of_each_controller() -> None:
    runs = [
        RUN,
        msgspec.structs.replace(RUN, rest_seconds=300.0),
        msgspec.structs.replace(RUN, rest_seconds=200.0, evicted=40),
        msgspec.structs.replace(RUN, controller="karpenter", rest_seconds=400.0),
    ]

    _, _, peer, own = table(runs).splitlines()

    assert peer.startswith("| karpenter | 66 | 20 | 1 | 400 | 8 | 1.5 | 50 |")
    assert own.startswith("| treenail | 66 | 20 | 3 | 200 | 8 | 1.5 | 50 |")
