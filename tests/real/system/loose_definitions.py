"""Definitions as they may have been before ours: they take anything, so that anything can be stored."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import yaml

from tests.real.parts.control_plane import ControlPlane
from tests.real.system.cluster import CRDS
from tests.real.system.controller import eventually

_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ANYTHING: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
# Each of our definitions refuses one of them.
_WRONG: Final = {"template": 5, "requirements": 5, "tags": 5, "nodeRegistrationDelay": 5, "podTemplateRef": 5}


@contextmanager
def loose_definitions(plane: ControlPlane) -> Iterator[None]:
    """Let the API server take anything of our kinds meanwhile; what it took stays stored afterwards."""
    ours = {d["metadata"]["name"]: d for file in sorted(CRDS.glob("*.yaml")) for d in _all(file.read_text())}
    try:
        for definition in ours.values():
            _put(plane, _loosened(definition))
        eventually(lambda: all(_takes_anything(plane, d) for d in ours.values()), "definitions are not loose")
        yield
    finally:
        for definition in ours.values():
            _put(plane, definition)
        eventually(lambda: not any(_takes_anything(plane, d) for d in ours.values()), "definitions are loose")


def _all(text: str) -> list[dict[str, Any]]:
    return [definition for definition in yaml.safe_load_all(text) if definition]


def _loosened(definition: dict[str, Any]) -> dict[str, Any]:
    loose = copy.deepcopy(definition)
    for version in loose["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"] = _ANYTHING
    return loose


def _put(plane: ControlPlane, definition: dict[str, Any]) -> None:
    where = f"{_PATH}/{definition['metadata']['name']}"
    _, there = plane.request("GET", where)
    version = there["metadata"]["resourceVersion"]
    body = {**definition, "metadata": {**definition["metadata"], "resourceVersion": version}}
    status, answer = plane.request("PUT", where, body)
    assert status == 200, answer


def _takes_anything(plane: ControlPlane, definition: dict[str, Any]) -> bool:
    spec = definition["spec"]
    version = f"{spec['group']}/{spec['versions'][-1]['name']}"
    tried = {
        "apiVersion": version,
        "kind": spec["names"]["kind"],
        "metadata": {"name": "probe"},
        "spec": _WRONG,
    }
    within = "/namespaces/default" if spec["scope"] == "Namespaced" else ""
    path = f"/apis/{version}{within}/{spec['names']['plural']}?dryRun=All"
    return plane.request("POST", path, tried)[0] == 201
