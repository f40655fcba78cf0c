"""Carry out on manifests what a simulation said would help."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.scenarios.manifests import Manifest

_TEMPLATED = ("Deployment", "ReplicaSet", "StatefulSet")


def with_changes(
    manifests: Sequence[Manifest], changes: Iterable[Mapping[str, Any]], pods: Sequence[str]
) -> tuple[Manifest, ...]:
    """Return the manifests with `changes`, those of pods made to the ones named namespace/name."""
    copies: list[Manifest] = json.loads(json.dumps(list(manifests)))
    for change in changes:
        objects = _objects(copies, change["object"], pods)
        path = change["path"].split(".")
        done = [_change(o, path, change["from"], change["to"]) for o in objects]
        if path[-1] == "limits":
            # What a device is limited to it requests too, where that is written.
            done += [_change(o, (*path[:-1], "requests"), change["from"], change["to"]) for o in objects]
        assert any(done), f"there is nothing to change at {change['path']} of {change['object']}"
    return tuple(copies)


def _objects(manifests: Sequence[Manifest], named: str, pods: Sequence[str]) -> list[Manifest]:
    """Return what is to be changed: a pool, or pods and the templates of pods."""
    if named != "Pod":
        kind, _, name = named.partition(" ")
        return [m for m in manifests if (m["kind"], m["metadata"]["name"]) == (kind, name)]
    found = []
    for manifest in manifests:
        meta = manifest["metadata"]
        key = f"{meta.get('namespace', 'default')}/{meta['name']}"
        if manifest["kind"] == "Pod" and key in pods:
            found.append(manifest)
        if manifest["kind"] in _TEMPLATED and any(pod.rpartition("-")[0] == key for pod in pods):
            found.append(manifest["spec"]["template"])
    return found


def _change(at: Any, path: Sequence[str], before: Any, after: Any) -> bool:
    """Change what stands at `path` below `at`; return whether there was anything to change."""
    if not path:
        return _change_mapping(at, before, after)
    name, several = path[0].removesuffix("[]"), path[0].endswith("[]")
    if len(path) == 1 and several:
        return _change_list(at, name, before, after)
    if before is None:
        at.setdefault(name, {})
    if name not in at:
        return False
    below = at[name] if several else [at[name]]
    return any(_change(one, path[1:], before, after) for one in below)


def _change_list(at: dict[str, Any], name: str, before: Any, after: Any) -> bool:
    if before is None:
        at.setdefault(name, []).append(after)
        return True
    for element in at.get(name, []):
        if _has(element, before):
            if after is None:
                at[name].remove(element)
                return True
            return _change_mapping(element, before, after)
    return False


def _change_mapping(at: dict[str, Any], before: Any, after: Any) -> bool:
    if before is not None and not _has(at, before):
        return False
    for key in before or {}:
        del at[key]
    at.update(after or {})
    return True


def _has(one: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(key in one and _same(one[key], value) for key, value in wanted.items())


def _same(one: Any, other: Any) -> bool:
    """Return whether two values say the same: lists of words in any order, and numbers as text too."""
    if isinstance(one, list) and all(isinstance(word, str) for word in (*one, *other)):
        return sorted(one) == sorted(other)
    return one == other or str(one) == str(other)
