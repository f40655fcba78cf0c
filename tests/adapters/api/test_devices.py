from __future__ import annotations

import json
from typing import Any

import pytest

from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.domain.model.device_versions import version_of
from treenail.domain.model.devices import (
    TAINT_RULE_VERSIONS,
    Device,
    DeviceClass,
    DeviceRequest,
    DeviceTaintRule,
    Span,
    Traits,
)

EXPRESSION = "device.driver == 'gpu.x.io'"
SELECTORS = [{"cel": {"expression": EXPRESSION}}]


def manifest(kind: str, spec: Any) -> dict[str, Any]:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def read(kind: str, spec: Any) -> Decoded:
    return decode_all(parse_manifests(json.dumps(manifest(kind, spec)).encode(), "devices.yaml"))


def slice_of(*devices: Any, **more: Any) -> dict[str, Any]:
    pool = {"name": "n1", "generation": 2, "resourceSliceCount": 1}
    return {"driver": "gpu.x.io", "pool": pool, "nodeName": "n1", "devices": list(devices), **more}


def wishes(*requests: Any, **more: Any) -> dict[str, Any]:
    return {"devices": {"requests": list(requests), **more}}


def exactly(**more: Any) -> dict[str, Any]:
    return {"name": "gpu", "exactly": {"deviceClassName": "gpu", **more}}


def test_a_class_is_read_with_its_selectors() -> None:
    (found,) = read("DeviceClass", {"selectors": SELECTORS, "config": []}).device_classes

    assert found == DeviceClass(name="x", selectors=(EXPRESSION,))


def test_names_without_a_domain_are_of_the_driver() -> None:
    attributes = {"model": {"string": "A"}, "y.io/cores": {"int": 3}, "v": {"version": "1.2.3"}}
    one = {"name": "gpu-0", "attributes": attributes, "capacity": {"memory": {"value": "1Ki"}}}

    (found,) = read("ResourceSlice", slice_of(one)).resource_slices

    traits = Traits(
        driver="gpu.x.io",
        attributes=(
            (("gpu.x.io", "model"), "A"),
            (("gpu.x.io", "v"), version_of("1.2.3") or ""),
            (("y.io", "cores"), 3),
        ),
        capacity=((("gpu.x.io", "memory"), Span(1024_000, 1024_000)),),
    )
    assert found.devices == (Device(name="gpu-0", traits=traits),)
    assert (found.node, found.generation, found.slices) == ("n1", 2, 1)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"consumesCounters": [{"counterSet": "c", "counters": {}}]}, "shares counters"),
        ({"taints": [{"key": "k", "effect": "NoSchedule"}]}, "has a taint"),
        ({"allowMultipleAllocations": True}, "allocated several times"),
        ({"bindingConditions": ["c"]}, "waits for conditions"),
        ({"nodeName": "n2"}, "by itself where"),
        ({"allNodes": True}, "by itself where"),
        ({"lentTo": "x"}, "the field lentTo, which is not understood"),
    ],
)
def test_a_device_that_is_more_than_one_of_many_is_special(more: dict[str, Any], said: str) -> None:
    (found,) = read("ResourceSlice", slice_of({"name": "gpu-0", **more})).resource_slices

    assert said in found.devices[0].special


def test_an_attribute_of_a_new_type_is_one_that_is_not_known() -> None:
    one = {"name": "gpu-0", "attributes": {"modes": {"strings": ["a", "b"]}}}
    (found,) = read("ResourceSlice", slice_of(one)).resource_slices

    assert found.devices[0].traits == Traits(driver="gpu.x.io", partly=True)


@pytest.mark.parametrize(
    ("request_", "special"),
    [
        (exactly(), ""),
        (exactly(allocationMode="All"), "all devices"),
        (exactly(allocationMode="Some"), "the allocation mode Some, which is not understood"),
        (exactly(priority=3), "the field priority, which is not understood"),
        (exactly(adminAccess=True), "administrators"),
        (exactly(capacity={"requests": {"memory": "1Gi"}}), "a part"),
        ({"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": "gpu"}]}, ""),
        (
            {"name": "gpu", "firstAvailable": [{"name": n, "deviceClassName": n} for n in ("a", "b")]},
            "firstAvailable",
        ),
    ],
)
def test_a_request_of_more_than_a_number_of_devices_says_so(request_: Any, special: str) -> None:
    (found,) = read("ResourceClaim", wishes(request_)).resource_claims

    (asked,) = found.wishes.requests
    assert special in asked.special
    assert bool(special) == bool(asked.special)


def test_constraints_are_kept_as_something_that_is_not_counted() -> None:
    spec = wishes(exactly(count=2, selectors=SELECTORS), constraints=[{"matchAttribute": "x.io/numa"}])
    (found,) = read("ResourceClaimTemplate", {"spec": spec}).resource_claim_templates

    expected = DeviceRequest(name="gpu", device_class="gpu", selectors=(EXPRESSION,), count=2)
    assert found.wishes.requests == (expected,)
    assert "constraints" in found.wishes.special


@pytest.mark.parametrize(
    ("kind", "spec", "of"),
    [
        ("ResourceClaim", wishes({**exactly(), "anyOf": []}), "resource_claims"),
        ("ResourceClaim", wishes(exactly(), spread={}), "resource_claims"),
        ("ResourceClaim", {**wishes(exactly()), "near": {}}, "resource_claims"),
        ("ResourceClaimTemplate", {"spec": {**wishes(exactly()), "near": {}}}, "resource_claim_templates"),
        ("ResourceClaimTemplate", {"spec": wishes(exactly()), "near": {}}, "resource_claim_templates"),
        ("DeviceClass", {"selectors": SELECTORS, "nodes": {}}, "device_classes"),
        ("ResourceSlice", slice_of({"name": "gpu-0"}, lentTo="x"), "resource_slices"),
    ],
)
def test_a_field_that_is_not_known_is_never_passed_over(kind: str, spec: Any, of: str) -> None:
    (found,) = getattr(read(kind, spec), of)

    assert "which is not understood" in repr(found)


def test_the_metadata_of_claims_to_be_made_from_a_template_changes_nothing() -> None:
    spec = {"metadata": {"labels": {"a": "b"}}, "spec": wishes(exactly())}
    (found,) = read("ResourceClaimTemplate", spec).resource_claim_templates

    assert found.wishes.special == ""


def test_a_taint_counts_unless_it_says_that_it_has_no_effect() -> None:
    taints = [{"key": "k", "effect": "None"}]
    (found,) = read("ResourceSlice", slice_of({"name": "gpu-0", "taints": taints})).resource_slices
    assert found.devices[0].special == ""

    taints.append({"key": "k", "effect": "NoWork"})
    (found,) = read("ResourceSlice", slice_of({"name": "gpu-0", "taints": taints})).resource_slices
    assert found.devices[0].special == "has a taint"


def test_devices_that_an_administrator_looks_at_are_not_taken() -> None:
    results = [
        {"request": "gpu", "driver": "gpu.x.io", "pool": "n1", "device": f"gpu-{n}", "adminAccess": bool(n)}
        for n in range(2)
    ]
    tree = manifest("ResourceClaim", wishes(exactly()))
    tree["status"] = {"allocation": {"devices": {"results": results}}}
    (found,) = decode_all(parse_manifests(json.dumps(tree).encode(), "claims.yaml")).resource_claims

    assert found.devices == (("gpu.x.io", "n1", "gpu-0"),)


def taint_rule(
    version: str = "resource.k8s.io/v1", effect: str = "NoSchedule", **more: Any
) -> DeviceTaintRule:
    spec = {"taint": {"key": "k", "effect": effect}, **more}
    tree = {**manifest("DeviceTaintRule", spec), "apiVersion": version}
    (found,) = decode_all(parse_manifests(json.dumps(tree).encode(), "rules.yaml")).device_taint_rules
    return found


@pytest.mark.parametrize("version", TAINT_RULE_VERSIONS)
def test_a_taint_rule_is_read_in_any_version(version: str) -> None:
    found = taint_rule(version, deviceSelector={"driver": "gpu.x.io", "device": "gpu-0"})

    assert found == DeviceTaintRule(name="x", version=version, driver="gpu.x.io", device="gpu-0")
    assert found.taints(("gpu.x.io", "n1", "gpu-0"))
    assert not found.taints(("gpu.x.io", "n1", "gpu-1"))
    assert not found.taints(("nic.x.io", "n1", "gpu-0"))


def test_an_empty_selector_is_about_all_devices_and_none_about_none() -> None:
    device = ("gpu.x.io", "n1", "gpu-0")

    assert taint_rule(deviceSelector={}).taints(device)
    assert taint_rule(deviceSelector={}).taints_new("gpu.x.io")
    assert not taint_rule(deviceSelector={"pool": "n1"}).taints_new("gpu.x.io")
    assert not taint_rule().taints(device)
    assert not taint_rule(effect="None", deviceSelector={}).taints(device)
    assert taint_rule(effect="NoWork", deviceSelector={}).taints(device)


GPU_0 = {"name": "gpu-0"}
BAD: list[tuple[str, Any, str]] = [
    ("ResourceClaimTemplate", None, "spec"),
    ("ResourceClaimTemplate", {}, "spec.spec"),
    ("ResourceClaimTemplate", {"spec": []}, "spec.spec"),
    ("ResourceClaim", {"devices": []}, "spec.devices"),
    ("DeviceClass", None, "spec"),
    ("DeviceClass", {"selectors": [{}]}, "spec.selectors[0].cel"),
    ("DeviceClass", {"selectors": [{"cel": {"expression": ""}}]}, "spec.selectors[0].cel.expression"),
    (
        "DeviceClass",
        {"selectors": [{"cel": {"expression": "x" * 10241}}]},
        "spec.selectors[0].cel.expression",
    ),
    ("DeviceClass", {"selectors": SELECTORS * 33}, "spec.selectors"),
    ("ResourceSlice", {"pool": slice_of()["pool"]}, "spec.driver"),
    ("ResourceSlice", {"driver": "x"}, "spec.pool"),
    ("ResourceSlice", slice_of(pool={"name": "n", "generation": 1}), "spec.pool.resourceSliceCount"),
    (
        "ResourceSlice",
        slice_of(pool={"name": "n", "generation": 1, "resourceSliceCount": 0}),
        "spec.pool.resourceSliceCount",
    ),
    ("ResourceSlice", slice_of({}), "spec.devices[0].name"),
    ("ResourceSlice", slice_of(GPU_0, GPU_0), "spec.devices"),
    ("ResourceSlice", slice_of({**GPU_0, "attributes": {"a b": {"int": 1}}}), "spec.devices[0].attributes"),
    (
        "ResourceSlice",
        slice_of({**GPU_0, "attributes": {"a": {"int": 1, "bool": True}}}),
        "spec.devices[0].attributes.a",
    ),
    (
        "ResourceSlice",
        slice_of({**GPU_0, "attributes": {"a": {"version": "1.2"}}}),
        "spec.devices[0].attributes.a.version",
    ),
    (
        "ResourceSlice",
        slice_of({**GPU_0, "capacity": {"memory": {"value": "much"}}}),
        "spec.devices[0].capacity.memory.value",
    ),
    (
        "ResourceSlice",
        slice_of({**GPU_0, "capacity": {"memory": {}}}),
        "spec.devices[0].capacity.memory.value",
    ),
    ("ResourceClaim", wishes({"name": "gpu"}), "spec.devices.requests[0]"),
    ("ResourceClaim", wishes({"exactly": {"deviceClassName": "gpu"}}), "spec.devices.requests[0].name"),
    ("ResourceClaim", wishes({"name": "a", "exactly": {}}), "requests[0].exactly.deviceClassName"),
    ("ResourceClaim", wishes(exactly(count=0)), "requests[0].exactly.count"),
    ("ResourceClaim", wishes(exactly(count="many")), "requests[0].exactly.count"),
    ("ResourceClaim", wishes(exactly(), exactly()), "spec.devices.requests"),
    ("DeviceTaintRule", {"deviceSelector": {}}, "spec.taint"),
    ("DeviceTaintRule", {"taint": {"key": "k"}}, "spec.taint.effect"),
    (
        "DeviceTaintRule",
        {"deviceSelectors": [{"driver": "x"}], "taint": {"key": "k", "effect": "NoSchedule"}},
        "spec.deviceSelectors",
    ),
    (
        "DeviceTaintRule",
        {"deviceSelector": {}, "taint": {"key": "k", "effect": "None", "effects": ["NoExecute"]}},
        "spec.taint.effects",
    ),
    (
        "DeviceTaintRule",
        {"deviceSelector": {"deviceClassName": "gpu"}, "taint": {"key": "k", "effect": "NoSchedule"}},
        "spec.deviceSelector.deviceClassName",
    ),
    (
        "DeviceTaintRule",
        {"deviceSelector": {"driver": 3}, "taint": {"key": "k", "effect": "NoSchedule"}},
        "spec.deviceSelector.driver",
    ),
    ("ResourceClaimTemplate", wishes(exactly()), "spec.spec"),
    ("ResourceClaimTemplate", {"spec": wishes(exactly(count="two"))}, "exactly.count"),
]


@pytest.mark.parametrize(("kind", "spec", "field"), BAD)
def test_what_cannot_be_understood_of_devices_is_said(kind: str, spec: Any, field: str) -> None:
    with pytest.raises(ManifestError) as caught:
        read(kind, spec)

    assert f"{kind} x" in str(caught.value)
    assert field in str(caught.value)
