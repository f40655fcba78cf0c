"""v1beta1 over the real API server, which asks our webhook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.real.kubernetes.definitions import ok
from tests.real.kubernetes.subject import install_crds, remove_crds
from tests.real.kubernetes.webhooks import Replica, forget_authority, stored, v1beta1
from tests.real.parts.control_plane import ControlPlane
from tests.real.system.controller import eventually
from treenail.adapters.kubernetes.definitions import CONVERTED
from treenail.adapters.kubernetes.resources import NODE_POOL

OLD_POOLS = v1beta1(NODE_POOL).path()
POOLS = NODE_POOL.path()


def old_pool(name: str = "default", **spec: Any) -> dict[str, Any]:
    template = {
        "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        "nodeClassRef": {"name": "default"},
        "kubelet": {"maxPods": 20},
    }
    disruption = {"consolidationPolicy": "WhenUnderutilized", "expireAfter": "720h"}
    return {
        "apiVersion": "karpenter.sh/v1beta1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": {"spec": template}, "disruption": disruption, **spec},
    }


@pytest.fixture(scope="module")
def server(api_server: ControlPlane) -> Iterator[ControlPlane]:
    install_crds(api_server)
    yield api_server
    remove_crds(api_server)


@pytest.fixture
def replica(server: ControlPlane) -> Iterator[Replica]:
    replica = Replica(server)
    replica.settle()
    wait_until_served(server)
    yield replica
    for resource in CONVERTED:
        server.request("DELETE", resource.path())
    replica.close()
    forget_authority(server)


def wait_until_served(server: ControlPlane) -> None:
    """The API server takes note of who converts a little later."""
    for resource in CONVERTED:
        path = v1beta1(resource).path()
        eventually(lambda path=path: server.request("GET", path)[0] == 200, f"{path} is not served")  # type: ignore[misc]


def test_what_is_written_in_v1beta1_is_stored_in_v1_and_read_in_both(
    server: ControlPlane, replica: Replica
) -> None:
    eventually(lambda: server.request("POST", OLD_POOLS, old_pool())[0] == 201, "never created")

    kept = ok(server.request("GET", f"{POOLS}/default"))
    back = ok(server.request("GET", f"{OLD_POOLS}/default"))

    assert stored(server, NODE_POOL)["default"]["apiVersion"] == "karpenter.sh/v1"
    assert kept["spec"]["template"]["spec"]["nodeClassRef"] == {
        "group": "karpenter.k8s.aws",
        "kind": "EC2NodeClass",
        "name": "default",
    }
    assert kept["spec"]["template"]["spec"]["expireAfter"] == "720h"
    assert back["spec"]["template"]["spec"]["kubelet"] == {"maxPods": 20}
    assert replica.said
