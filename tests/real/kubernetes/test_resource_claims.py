"""Resource claims of a real API server: what is read of them, and only where pods with claims are placed."""

from __future__ import annotations

from typing import Any, Final

from tests.real.kubernetes.definitions import ok
from tests.real.kubernetes.test_reader import Rig
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE
from treenail.adapters.kubernetes.resources import RESOURCE_CLAIM, watched
from treenail.domain.model import labels
from treenail.domain.model.pods import Expression
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resource_claims import ResourceClaim

CLAIMS: Final = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
GATES: Final = {RESOURCE_CLAIM.kind: True}
TERM: Final = {"matchExpressions": [{"key": labels.ZONE, "operator": "In", "values": ["us-east-1b"]}]}


def claim(name: str) -> dict[str, Any]:
    asked = {"name": "nic", "exactly": {"deviceClassName": "nic.example.com"}}
    return {"metadata": {"name": name}, "spec": {"devices": {"requests": [asked]}}}


def allocated() -> dict[str, Any]:
    device = {"request": "nic", "driver": "nic.example.com", "pool": "racks", "device": "nic-0"}
    allocation = {"devices": {"results": [device]}, "nodeSelector": {"nodeSelectorTerms": [TERM]}}
    return {
        "status": {
            "allocation": allocation,
            "reservedFor": [{"resource": "pods", "name": "p", "uid": "u1"}],
        }
    }


def test_claims_are_known_with_the_nodes_of_their_devices_where_they_are_followed(
    server: ControlPlane,
) -> None:
    rig = Rig(server, watched=watched(gates=GATES))

    def known() -> list[ResourceClaim]:
        return [thing for thing in rig.mirror.holds.values() if isinstance(thing, ResourceClaim)]

    ok(server.request("POST", CLAIMS, claim("shared")))
    mirror = rig.start()
    [before] = known()
    assert (before.name, before.allocated, before.users) == ("shared", False, ())

    ok(server.request("PATCH", f"{CLAIMS}/shared/status", allocated(), MERGE))
    mirror.until(lambda: known()[0].allocated)
    [after] = known()
    assert after.nodes == ((Expression(labels.ZONE, Operator.IN, ("us-east-1b",)),),)
    assert after.users == ("u1",)

    released = {"status": {"allocation": None, "reservedFor": None}}
    ok(server.request("PATCH", f"{CLAIMS}/shared/status", released, MERGE))
    mirror.until(lambda: not known()[0].allocated)
    ok(server.request("DELETE", f"{CLAIMS}/shared"))
    mirror.until(lambda: not known())
    rig.close()


def test_claims_are_not_watched_unless_they_are_followed() -> None:
    assert RESOURCE_CLAIM not in watched()
    assert RESOURCE_CLAIM in watched(gates=GATES)
