"""Random scenes of devices: slices of a node, classes, the claims of a pod, and what other claims have."""

from __future__ import annotations

import random
from typing import Any, Final

Tree = dict[str, Any]
DRIVER: Final = "x.io"
NODE: Final = "n1"

_A: Final = f"device.attributes['{DRIVER}']"
_MEMORY: Final = f"device.capacity['{DRIVER}'].memory"
SELECTORS: Final = (
    *(f"device.driver == '{DRIVER}'", f"{_A}.size == 1", f"{_A}.size in [1, 2]", f"{_A}.size > 1"),
    *(f"{_A}.size != 3", f"{_A}.size + 1 == 2", f"{_A}.size % 2 == 0", f"{_A}.size / 2 == 1"),
    *(f"{_A}['size'] == 1", "device.attributes[device.driver].size == 1", f"string({_A}.size) == '1'"),
    *(f"{_A}.size == 1.0", f"int('2') == {_A}.size", "true", "1 == 1 && !false"),
    *(f"{_A}.model == 'A'", f"{_A}.model.startsWith('A')", f"{_A}.model.matches('^A.*')"),
    *(f"{_A}.model.lowerAscii() == 'ab'", f"{_A}.model + 'B' == 'AB'", f"size({_A}.model) == 2"),
    *(f"{_A}.model.contains('B')", f"{_A}.model.endsWith('B')", f"{_A}.model < 'AA'", f"{_A}.model == 1"),
    *(f"has({_A}.model)", f"'model' in {_A}", f"!('odd' in {_A})", f"{_A}.odd == 1"),
    *("'y.io' in device.attributes", "device.attributes['y.io'].k == 1"),
    *(f"{_MEMORY}.compareTo(quantity('10Gi')) >= 0", f"{_MEMORY}.isGreaterThan(quantity('1500Mi'))"),
    *(f"{_MEMORY}.isLessThan(quantity('1e10'))", f"{_MEMORY} == quantity('10Gi')"),
    *(f"{_A}.v.isGreaterThan(semver('1.2.0'))", f"{_A}.v.compareTo(semver('1.10.0')) == 0"),
    *(f"{_A}.v == semver('1.2.3')", f"{_A}.v.isLessThan(semver('1.2.3'))"),
    *(f"['A', 'AB'].exists(m, m == {_A}.model)", f"['A'].all(m, m != {_A}.model)"),
    *(f"[1, 2, 3].exists_one(n, n == {_A}.size)", f"{_A}.fast", f"!{_A}.fast", f"{_A}.fast == true"),
    *(f"{_A}.size == 1 ? {_A}.fast : {_A}.model == 'A'", f"{_A}.odd == 1 || {_A}.size >= 1"),
    *(f"{_A}.size >= 1 || {_A}.odd == 1", f"{_A}.odd == 1 && {_A}.size > 5"),
)


def scene(seed: int) -> Tree:
    """Return a scene, as the allocator's program takes it."""
    dice = random.Random(seed)
    slices = [one for pool in range(dice.choice((1, 1, 2))) for one in _pool(dice, pool)]
    classes = [_object("DeviceClass", f"c{n}", {"selectors": _selectors(dice, (0, 1, 1))}) for n in range(2)]
    claims = [_claim(dice, n) for n in range(dice.choice((1, 1, 2)))]
    there = [
        (spec["driver"], spec["pool"]["name"], device["name"])
        for spec in (one["spec"] for one in slices)
        for device in spec["devices"]
    ]
    taken = [one for one in there if dice.random() < 0.15]
    return {"node": NODE, "slices": slices, "classes": classes, "claims": claims, "taken": taken}


def _object(kind: str, name: str, spec: Tree) -> Tree:
    meta = {"name": name, **({"namespace": "default"} if kind == "ResourceClaim" else {})}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": meta, "spec": spec}


def _pool(dice: random.Random, number: int) -> list[Tree]:
    """Return the slices of a pool; one of ten pools lacks a slice."""
    count = dice.choice((1, 1, 2))
    driver = "w.io" if count == 1 and dice.random() < 0.25 else DRIVER
    told = count + (dice.random() < 0.1)
    pool = {"name": f"p{number}", "generation": 1, "resourceSliceCount": told}
    found: list[Tree] = []
    for part in range(count):
        devices = [_device(dice, f"d{part}{n}") for n in range(dice.choice((0, 1, 2, 3, 4)))]
        spec = {"driver": driver, "nodeName": NODE, "pool": pool, "devices": devices}
        found.append(_object("ResourceSlice", f"s{number}{part}", spec))
    return found


def _device(dice: random.Random, name: str) -> Tree:
    attributes: Tree = {
        "size": {"int": dice.choice((1, 2, 3))},
        "v": {"version": dice.choice(("1.2.3", "1.10.0", "1.2.0", "2.0.0-rc.1"))},
        "fast": {"bool": dice.random() < 0.5},
    }
    if dice.random() < 0.9:
        attributes["model"] = {"string": dice.choice(("A", "B", "AB", ""))}
    if dice.random() < 0.2:
        attributes["y.io/k"] = {"int": 1}
    memory = dice.choice(("10Gi", "1Gi", "16384Mi", "2e9", "1500Mi"))
    device: Tree = {"name": name, "attributes": attributes, "capacity": {"memory": {"value": memory}}}
    if dice.random() < 0.1:
        effect = dice.choice(("NoSchedule", "NoExecute", "None"))
        device["taints"] = [{"key": "k", "effect": effect}]
    return device


def _selectors(dice: random.Random, counts: tuple[int, ...]) -> list[Tree]:
    return [{"cel": {"expression": dice.choice(SELECTORS)}} for _ in range(dice.choice(counts))]


def _claim(dice: random.Random, number: int) -> Tree:
    requests: list[Tree] = []
    for n in range(dice.choice((1, 1, 2))):
        exactly: Tree = {
            "deviceClassName": dice.choice(("c0", "c1")),
            "selectors": _selectors(dice, (0, 1, 1, 2)),
            "allocationMode": "ExactCount",
            "count": dice.choice((1, 1, 2, 3)),
        }
        if dice.random() < 0.05:
            exactly["tolerations"] = [{"operator": "Exists"}]
        requests.append({"name": f"r{n}", "exactly": exactly})
    return _object("ResourceClaim", f"k{number}", {"devices": {"requests": requests}})
