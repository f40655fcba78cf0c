"""Resource claims of a real API server: what is read of them, and only where pods with claims are placed."""

from __future__ import annotations

from typing import Any, Final

from tests.real.kubernetes.definitions import ok
from tests.real.kubernetes.test_reader import Rig
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE
from treenail.adapters.kubernetes.resources import OF_CLAIMS, RESOURCE_CLAIM, watched
from treenail.domain.model import labels
from treenail.domain.model.devices import (
    DeviceClass,
    DeviceRequest,
    DeviceTaintRule,
    ResourceClaimTemplate,
    ResourceSlice,
)
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


DRIVER: Final = "nic.example.com"
OF_NODE: Final = "device.driver == 'nic.example.com'"
GROUP: Final = "/apis/resource.k8s.io/v1"


def test_what_the_api_server_takes_of_devices_is_understood(server: ControlPlane) -> None:
    """The server has its own defaults and rules; what it drops (gates that are off) cannot be tested here."""
    pool = {"name": "n1", "generation": 3, "resourceSliceCount": 1}
    nic = {
        "name": "nic-0",
        "attributes": {"speed": {"int": 100}, "model": {"string": "X"}, "y.io/v": {"version": "1.2.3"}},
        "capacity": {"queues": {"value": "64"}},
    }
    asked = {"name": "nic", "exactly": {"deviceClassName": "nic.example.com", "selectors": selectors()}}
    both = [
        {"name": "one", "deviceClassName": "nic.example.com"},
        {"name": "other", "deviceClassName": "nic.example.com", "count": 2},
    ]
    wanted = {"requests": [asked, {"name": "any", "firstAvailable": both}]}
    of_node = {"driver": "nic.example.com", "nodeName": "n1", "pool": pool, "devices": [nic]}
    made = {
        "deviceclasses": named("nic.example.com", {"selectors": selectors()}),
        "namespaces/default/resourceclaimtemplates": named("nics", {"spec": {"devices": wanted}}),
        "resourceslices": named("n1-nics", of_node),
    }
    for plural, tree in made.items():
        ok(server.request("POST", f"{GROUP}/{plural}", tree))
    rig = Rig(server, watched=watched(gates=GATES))
    rig.start()

    known = {type(thing): thing for thing in rig.mirror.holds.values()}
    assert_known(known[DeviceClass], known[ResourceClaimTemplate], known[ResourceSlice])

    for plural, tree in made.items():
        ok(server.request("DELETE", f"{GROUP}/{plural}/{tree['metadata']['name']}"))
    rig.close()


def test_taint_rules_are_known_where_the_server_has_them_on() -> None:
    on = ("--runtime-config=resource.k8s.io/v1alpha3=true", "--feature-gates=DRADeviceTaints=true")
    without = {"kwok", "kube-controller-manager", "kube-scheduler"}
    with ControlPlane(without=without, args={"kube-apiserver": on}) as server:
        rules = "/apis/resource.k8s.io/v1alpha3/devicetaintrules"
        taint = {"key": "broken", "effect": "NoSchedule"}
        for name, selector in (("by-driver", {"driver": DRIVER}), ("by-class", {"deviceClassName": DRIVER})):
            tree = {"deviceSelector": selector, "taint": taint}
            ok(server.request("POST", rules, named(name, tree)))
        rig = Rig(server, watched=watched(gates=GATES))
        mirror = rig.start()

        version = "resource.k8s.io/v1alpha3"
        known = [one for one in mirror.holds.values() if isinstance(one, DeviceTaintRule)]
        assert [(one.key, one.driver) for one in known] == [(f"{version}/by-driver", DRIVER)]
        aside = {fact.key: fact.problem for fact in mirror.full_lists[0].set_aside}
        assert aside == {f"{version}/by-class": "spec.deviceSelector.deviceClassName: is not understood"}

        ok(server.request("DELETE", f"{rules}/by-driver"))
        mirror.until(lambda: not any(isinstance(one, DeviceTaintRule) for one in mirror.holds.values()))
        rig.close()


def named(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def selectors() -> list[dict[str, Any]]:
    return [{"cel": {"expression": OF_NODE}}]


def assert_known(of: object, template: object, slice_: object) -> None:
    assert isinstance(of, DeviceClass)
    assert isinstance(template, ResourceClaimTemplate)
    assert isinstance(slice_, ResourceSlice)
    assert of.selectors == (OF_NODE,)
    exact, choice = template.wishes.requests
    assert exact == DeviceRequest(name="nic", device_class="nic.example.com", selectors=(OF_NODE,))
    assert "firstAvailable" in choice.special
    (device,) = slice_.devices
    assert (device.special, dict(device.traits.attributes)["nic.example.com", "speed"]) == ("", 100)
    assert (slice_.node, slice_.generation, slice_.slices) == ("n1", 3, 1)


def test_claims_are_not_watched_unless_they_are_followed() -> None:
    assert RESOURCE_CLAIM not in watched()
    assert set(OF_CLAIMS) <= set(watched(gates=GATES))
