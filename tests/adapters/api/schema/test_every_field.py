"""Every field of a spec is acted on, or it is said that it is not: none is silently ignored."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import pytest

from treenail.adapters.api.documents import Manifest
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.kinds import kind_of
from treenail.adapters.api.manifests import read_manifests
from treenail.adapters.api.reading import Reading
from treenail.domain.model import node_classes, node_pools

Steps: TypeAlias = tuple[str | int, ...]

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[3]
EVERYTHING: Final = read_manifests([HERE / "everything.yaml"])

# Fields that mean nothing by themselves, and why; as paths of a schema, less what stands before.
SAYS_NOTHING: Final = {
    "providerRef.apiVersion": "an AWSNodeTemplate is meant; another group is refused",
    "providerRef.kind": "an AWSNodeTemplate is meant; another kind is refused",
    "machineTemplateRef.apiVersion": "an AWSNodeTemplate is meant; another group is refused",
    "machineTemplateRef.kind": "an AWSNodeTemplate is meant; another kind is refused",
    "nodeClassRef.apiVersion": "an EC2NodeClass of AWS is meant; another group is refused",
    "nodeClassRef.kind": "an EC2NodeClass is meant; another kind is refused",
    "provider.apiVersion": "Karpenter lets one write what a provider is, and makes nothing of it",
    "provider.kind": "Karpenter lets one write what a provider is, and makes nothing of it",
    "spec.apiVersion": "Karpenter lets one write what a provider is, and makes nothing of it",
    "spec.kind": "Karpenter lets one write what a provider is, and makes nothing of it",
    "template.spec.resources": "only {} is allowed: what pods need stands in claims alone",
}


def leaves(tree: Any, at: Steps) -> Iterator[Steps]:
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from leaves(value, (*at, key))
    elif isinstance(tree, list) and tree:
        for n, value in enumerate(tree):
            yield from leaves(value, (*at, n))
    else:
        yield at


def without(tree: Any, path: Steps) -> Any:
    made = copy.deepcopy(tree)
    at = made
    for step in path[:-1]:
        at = at[step]
    del at[path[-1]]
    return made


def written(path: Steps) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def says_nothing(path: Steps) -> bool:
    return any(written(path).endswith(known) for known in SAYS_NOTHING)


@pytest.mark.parametrize("manifest", EVERYTHING, ids=lambda m: f"{m.api_version} {m.kind} {m.name}")
def test_what_a_spec_says_changes_what_it_means_or_is_told_not_to(manifest: Manifest) -> None:
    tree = msgspec.to_builtins(manifest.content)
    kind = kind_of(manifest.api_version, manifest.kind)
    whole = kind.read(tree, Reading())
    told = tuple(whole.not_acted_on)
    ignored = []
    for path in leaves(tree["spec"], ("spec",)):
        try:
            same = kind.read(without(tree, path), Reading()).objects == whole.objects
        except FieldError:
            continue
        if same and not written(path).startswith(told) and not says_nothing(path):
            ignored.append(written(path))

    assert ignored == []


def test_every_field_that_says_nothing_is_one_there_is() -> None:
    paths = {
        re.sub(r"\[\d+\]", "", written(path))
        for manifest in EVERYTHING
        for path in leaves(msgspec.to_builtins(manifest.content)["spec"], ("spec",))
    }

    assert [known for known in SAYS_NOTHING if not any(path.endswith(known) for path in paths)] == []


def asked_for() -> set[str]:
    """Every attribute that the code asks some object for, but for what reads and writes manifests."""
    return {
        node.attr
        for part in ("domain", "actors", "adapters")
        for file in sorted((ROOT / part).rglob("*.py"))
        if not {"api", "fake"} & set(file.relative_to(ROOT).parts)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }


def test_what_is_read_of_pools_and_node_classes_is_asked_for() -> None:
    known = asked_for()
    nobody_asks = [
        f"{kind.__name__}.{field.name}"
        for module in (node_pools, node_classes)
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
        for field in dataclasses.fields(kind)
        if field.name not in known
    ]

    assert nobody_asks == []
