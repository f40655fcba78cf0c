from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.errors import FieldError, ManifestError
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.api.snapshot.redaction import redacted
from treenail.domain.model.devices import TAINT_RULE_VERSIONS

V1: Final = "resource.k8s.io/v1"
PLANTED: Final = "hunter2"
SECRET: Final = {"token": PLANTED}
CONFIG: Final = [{"requests": ["gpu"], "opaque": {"driver": "x.io", "parameters": SECRET}}]
SELECTORS: Final = [{"cel": {"expression": "true", "more": PLANTED}}]
NODES: Final = {"nodeSelectorTerms": [{"matchFields": [PLANTED]}]}


def wishes(*requests: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"devices": {"requests": list(requests), "config": CONFIG, **more}}


def exactly(**more: Any) -> dict[str, Any]:
    tolerations = [{"key": PLANTED, "value": PLANTED}]
    return {"deviceClassName": "gpu", "selectors": SELECTORS, "tolerations": tolerations, **more}


def slice_of(*devices: dict[str, Any], **more: Any) -> dict[str, Any]:
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    counters = [{"name": "c", "counters": SECRET}]
    own = {"driver": "x.io", "pool": pool, "sharedCounters": counters, "devices": list(devices)}
    return {"nodeName": "n", **own, **more}


def rule(**more: Any) -> dict[str, Any]:
    taint = {"key": PLANTED, "value": PLANTED, "effect": "NoSchedule", "timeAdded": PLANTED}
    return {"deviceSelector": {"driver": "x.io"}, "taint": taint, **more}


NAMED: Final = {"name": "gpu"}
DEVICE: Final = {
    "name": "d",
    "attributes": {"type": {"string": "gpu"}},
    "capacity": {"mem": {"value": "1Gi"}},
}
WISHES: Final = [
    wishes({**NAMED, "exactly": exactly(count=2)}),
    wishes({**NAMED, "exactly": exactly(capacity={"requests": SECRET})}),
    wishes({**NAMED, "exactly": exactly(future=PLANTED)}),
    wishes({**NAMED, "exactly": exactly(future=None)}),
    wishes({**NAMED, "exactly": exactly(selectors=None, adminAccess=True)}),
    wishes({**NAMED, "firstAvailable": [exactly(name="a"), exactly(name="b", future=SECRET)]}),
    wishes({**NAMED, "future": SECRET}),
    wishes({**NAMED, "exactly": exactly()}, constraints=[{"matchAttribute": PLANTED}]),
    wishes({**NAMED, "exactly": exactly()}, future=[SECRET]),
    {},
    {**wishes({**NAMED, "exactly": exactly()}), "future": SECRET},
]
SLICES: Final = [
    slice_of(DEVICE),
    slice_of(DEVICE, future=PLANTED),
    slice_of(DEVICE, nodeSelector=NODES),
    slice_of({**DEVICE, "future": SECRET}),
    slice_of({**DEVICE, "nodeSelector": NODES}),
    slice_of({**DEVICE, "attributes": {"type": {"future": PLANTED}}}),
    slice_of({**DEVICE, "consumesCounters": [{"counterSet": "c", "counters": SECRET}]}),
    slice_of({**DEVICE, "taints": [{"key": PLANTED, "value": PLANTED, "effect": "NoExecute"}]}),
    slice_of({**DEVICE, "taints": [{"key": PLANTED, "effect": "None"}]}),
    slice_of({**DEVICE, "taints": [{"key": PLANTED}]}),
]
CLASSES: Final = [
    {"selectors": SELECTORS, "config": CONFIG},
    {"config": CONFIG, "extendedResourceName": "x.io/gpu"},
    {"future": SECRET},
]
RULES: Final = [
    rule(),
    rule(deviceSelector={}),
    rule(deviceSelector=None),
    rule(deviceSelector={"driver": "x.io", "pool": "p", "device": "d"}),
    rule(deviceSelector={"future": PLANTED}),
    rule(deviceSelectors=[SECRET]),
    rule(taint={"key": PLANTED, "effect": "None"}),
    rule(taint={"key": PLANTED, "effect": "None", "effects": [PLANTED]}),
]
ALL: Final[list[tuple[str, str, Any]]] = [
    *((V1, "ResourceClaim", one) for one in WISHES),
    *((V1, "ResourceClaimTemplate", {"spec": one}) for one in WISHES),
    (V1, "ResourceClaimTemplate", {"spec": WISHES[0], "metadata": {"labels": {"a": PLANTED}}}),
    (V1, "ResourceClaimTemplate", {"spec": WISHES[0], "future": SECRET}),
    *((V1, "ResourceSlice", one) for one in SLICES),
    *((V1, "DeviceClass", one) for one in CLASSES),
    *((version, "DeviceTaintRule", one) for version in TAINT_RULE_VERSIONS for one in RULES),
]


def understood(tree: dict[str, Any]) -> Decoded | str:
    """Return what is read of an object, or why it is not understood."""
    try:
        return decode_all(parse_manifests(json.dumps(tree).encode(), "x.yaml"))
    except ManifestError as error:
        return str(error)


@pytest.mark.parametrize(("api_version", "kind", "spec"), ALL)
def test_device_objects_are_understood_from_a_snapshot_as_they_were_and_tell_no_more(
    api_version: str, kind: str, spec: dict[str, Any]
) -> None:
    tree = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    if kind == "ResourceClaim":
        tree["status"] = {"allocation": {"devices": {"results": [], "config": CONFIG}}}

    written = redacted(api_version, kind, tree)

    assert PLANTED not in json.dumps(written)
    assert understood(written) == understood(tree)


def test_a_part_that_cannot_be_read_is_named_by_its_path() -> None:
    def refused(kind: str, spec: Any) -> Callable[[], object]:
        return lambda: redacted(V1, kind, {"metadata": {"name": "a"}, "spec": spec})

    for write, path in (
        (refused("ResourceSlice", slice_of(DEVICE, {})), "spec.devices[1].name"),
        (refused("ResourceClaim", wishes({**NAMED, "exactly": {}})), "spec.devices.requests[0].exactly"),
        (refused("DeviceTaintRule", {"taint": {"key": "k"}}), "spec.taint.effect"),
    ):
        with pytest.raises(FieldError) as caught:
            write()
        assert caught.value.field.startswith(path)
