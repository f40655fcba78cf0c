"""Files that were cut off where the rest is still YAML: a snapshot says so, another file may look so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from treenail.adapters.api.documents import Manifest
from treenail.adapters.api.errors import ManifestError

_HEAD: Final = ("treenail.sh/v1alpha1", "ClusterSnapshot")
# Kinds whose objects are valid without a spec, and do nothing then.
_IDLE: Final = ("LimitRange", "PodDisruptionBudget", "ResourceQuota")
_END: Final = ("treenail.sh/v1alpha1", "ClusterSnapshotEnd")


def cut_snapshots(manifests: Sequence[Manifest]) -> Iterator[ManifestError]:
    """Yield what is wrong with snapshots whose end is missing; those of older versions have none."""
    whole = {one.file for one in manifests if _kind(one) == _END}
    for one in manifests:
        if _kind(one) == _HEAD and one.file not in whole and "endsWith" in _spec(one):
            problem = (
                f"the file was cut off: {_END[1]}, its last document, is missing; write the snapshot again"
            )
            yield ManifestError(one.file, f"{one.kind} {one.name}", "", problem)


def cut_off_perhaps(manifests: Sequence[Manifest]) -> Iterator[str]:
    """Yield a line on each file whose end may be missing, as hardly anybody ends a file like that."""
    last = {one.file: one for one in manifests}
    for one in manifests:
        if _kind(one) == _HEAD and "endsWith" not in _spec(one):
            yield f"{one.file}: {one.kind} {one.name}: is of an older version, and cannot tell if it is whole"
    for file, one in last.items():
        content = one.content
        if isinstance(content, bytes):
            # JSON that was cut off is no JSON.
            continue
        called = f"{file}: {one.kind} {one.name}"
        if (path := _left_open(content)) is not None:
            yield f"{called}: {path}: the file ends with this field, which has no value: was it cut off?"
        elif "spec" not in content and one.kind in _IDLE:
            yield f"{called}: the file ends with this object, which has no spec: was it cut off?"


def _kind(manifest: Manifest) -> tuple[str, str]:
    return manifest.api_version, manifest.kind


def _spec(manifest: Manifest) -> Mapping[str, object]:
    content = manifest.content
    tree = msgspec.json.decode(content) if isinstance(content, bytes) else content
    spec = tree.get("spec")
    return spec if isinstance(spec, Mapping) else {}


def _left_open(tree: object) -> str | None:
    """Return the path of the last field of a tree if that has no value, else None."""
    path = ""
    while tree:
        if isinstance(tree, Mapping):
            key, tree = list(tree.items())[-1]
            path = f"{path}.{key}" if path else str(key)
        elif isinstance(tree, list):
            path, tree = f"{path}[{len(tree) - 1}]", tree[-1]
        else:
            return None
    return path if tree is None else None
