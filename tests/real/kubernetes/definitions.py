"""An API server with our definitions, and how it answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tests.real.parts.control_plane import ControlPlane
from treenail.adapters.api.manifests import read_manifests
from treenail.adapters.api.schema.catalogue import DEFINITIONS
from treenail.adapters.api.written.parts import Tree

ROOT: Final = Path(__file__).parents[3]
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACED: Final = {d.kind for d in DEFINITIONS if d.namespaced}
PLURALS: Final = {(f"{d.group}/{v.name}", d.kind): d.plural for d in DEFINITIONS for v in d.versions}
# Manifests of ours that must be accepted.
GOOD: Final = [
    m
    for m in read_manifests(
        [*sorted(ROOT.glob("examples/*.yaml")), ROOT / "tests/adapters/api/schema/everything.yaml"]
    )
    if (m.api_version, m.kind) in PLURALS
]


def place(tree: Tree, name: str = "", subresource: str = "") -> str:
    """The path of all of a manifest's kind, or of one of them, or of its subresource."""
    plural = PLURALS[tree["apiVersion"], tree["kind"]]
    within = "namespaces/default" if tree["kind"] in NAMESPACED else ""
    return "/".join(filter(None, ("/apis", tree["apiVersion"], within, plural, name, subresource)))


def ok(answer: tuple[int, Any]) -> Tree:
    status, body = answer
    assert status in (200, 201), body
    return dict(body)


def refusal(server: ControlPlane, method: str, path: str, tree: Tree, kind: str = "application/json") -> Tree:
    """The fields that the API server names, each with what it says, where it refuses."""
    status, answer = server.request(method, path, tree, kind)
    assert status == 422, answer
    said: dict[str, list[str]] = {}
    for cause in answer["details"]["causes"]:
        said.setdefault(cause["field"], []).append(cause["message"])
    return {field: "; ".join(messages) for field, messages in said.items()}


def holds(kept: Any, written: Any) -> bool:
    """Whether all that was `written` is there; mappings may say more."""
    match written:
        case dict():
            return all(key in kept and holds(kept[key], own) for key, own in written.items())
        case list():
            return len(kept) == len(written) and all(map(holds, kept, written))
        case _:
            return bool(kept == written)
