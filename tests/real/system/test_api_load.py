"""How much the controller asks of a real API server while nodes drain."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.bench.real.api_load import per_minute, what
from tests.bench.real.held_nodes import HeldNodes
from tests.real.kubernetes.proxy import Proxy
from tests.real.parts.control_plane import ControlPlane
from tests.real.system.cluster import Cluster
from tests.real.system.controller import Controller, eventually

FEW: Final = 5
MANY: Final = 25
POOL: Final = [
    {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "metadata": {"name": "kwok"}},
    {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "kwok"},
        "spec": {
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"},
            "template": {
                "spec": {
                    "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "kwok"},
                    "requirements": [
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
                    ],
                    "expireAfter": "Never",
                }
            },
        },
    },
]
# What was begun by a drain is over after the first of these, and when no event was written for the second:
# they are written one after the other. For so long as the third says is counted then.
SETTLE: Final = 8.0
QUIET: Final = 5.0
SECONDS: Final = 15.0


@pytest.fixture
def held(control_plane: ControlPlane) -> Iterator[HeldNodes]:
    cluster = Cluster(control_plane)
    cluster.install()
    cluster.apply(*POOL)
    held = HeldNodes(control_plane, selector={"karpenter.sh/nodepool": "kwok"})
    yield held
    held.clear()
    cluster.clear()


def settle(proxy: Proxy) -> None:
    time.sleep(SETTLE)

    def told() -> bool:
        return "create events" not in map(what, proxy.asked(since=time.monotonic() - QUIET))

    eventually(told, "no event is written any more")


def test_what_is_asked_of_the_api_server_does_not_grow_with_the_nodes_whose_volumes_are_awaited(
    control_plane: ControlPlane, held: HeldNodes, tmp_path: Path
) -> None:
    env = {"CLOUD": "kwok", "CLUSTER_NAME": "demo"}
    with ExitStack() as opened:
        proxy = opened.enter_context(Proxy(control_plane, tmp_path))
        opened.enter_context(Controller({**env, "KUBECONFIG": str(proxy.kubeconfig)}))
        held.make(FEW + MANY)
        held.drain(held.names[:FEW], attached=True)
        settle(proxy)
        few = per_minute(proxy, SECONDS)
        held.drain(held.names[FEW:], attached=True)
        settle(proxy)
        many = per_minute(proxy, SECONDS)
        assert held.left() == FEW + MANY

    asked = Counter(what(asked) for asked in proxy.asked())
    print(few, many, asked)  # noqa: T201
    assert 1 <= asked["watch volumeattachments"] <= 4
    assert asked["list volumeattachments"] <= 1
    # A watch that ends is opened again, and what is looked at every minute or two may fall into either time.
    assert sum(many.values()) <= sum(few.values()) + 10 * 60 / SECONDS
