"""Consistency of a set of manifests: no name twice, and every reference leads somewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from treenail.adapters.api.documents import Manifest
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.kinds import KINDS
from treenail.adapters.api.reading import Translation
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import Node
from treenail.domain.model.pods import Pod

# The kinds that are one in the domain, where a name must tell an object from all others.
_ONE_KIND = {"Provisioner": "NodePool", "Machine": "NodeClaim"}
_ONE_EACH = ("Account", "ClusterSnapshot")


@dataclass(frozen=True, slots=True)
class Entry:
    """A manifest and its translation."""

    manifest: Manifest
    translation: Translation


Problem: TypeAlias = tuple[int, FieldError]


def problems(
    entries: Sequence[Entry], *, node_classes_optional: bool, node_classes_there: Collection[NodeClassRef]
) -> Iterator[Problem]:
    """Yield what is wrong between objects, each with the index of the entry that should go."""
    yield from _twice(entries)
    yield from _more_than_one(entries)
    if not node_classes_optional:
        yield from _without_node_class(entries, node_classes_there)
    yield from _without_node(entries)


def _twice(entries: Sequence[Entry]) -> Iterator[Problem]:
    seen: dict[tuple[str, str, str], Manifest] = {}
    for n, entry in enumerate(entries):
        own = entry.manifest
        kind = KINDS[own.api_version, own.kind]
        namespace = (own.namespace or "default") if kind.namespaced else ""
        other = seen.setdefault((_ONE_KIND.get(own.kind, own.kind), namespace, own.name), own)
        if other is own:
            continue
        which = "another" if other.kind == own.kind else f"a {other.kind}"
        yield n, FieldError("metadata.name", f"{which} of this name stands in {other.file} already")


def _more_than_one(entries: Sequence[Entry]) -> Iterator[Problem]:
    """Yield the second account and snapshot: a cluster is in one region, and was written down once."""
    first: dict[str, Manifest] = {}
    for n, entry in enumerate(entries):
        own = entry.manifest
        if own.kind in _ONE_EACH and first.setdefault(own.kind, own) is not own:
            yield (
                n,
                FieldError(
                    "kind", f"there is {own.kind} {first[own.kind].name} in {first[own.kind].file} already"
                ),
            )


def _without_node_class(entries: Sequence[Entry], there: Collection[NodeClassRef]) -> Iterator[Problem]:
    objects = [(n, one) for n, entry in enumerate(entries) for one in entry.translation.objects]
    known = {*there, *(one.ref for _, one in objects if isinstance(one, NodeClass))}
    for n, one in objects:
        if isinstance(one, NodePool) and one.node_class not in known:
            old = one.generation is Generation.V1ALPHA5
            field = "spec.providerRef" if old else "spec.template.spec.nodeClassRef"
            yield n, FieldError(field, f"there is no {one.node_class.kind} {one.node_class.name}")


def _without_node(entries: Sequence[Entry]) -> Iterator[Problem]:
    objects = [(n, one) for n, entry in enumerate(entries) for one in entry.translation.objects]
    known = {one.name for _, one in objects if isinstance(one, Node)}
    for n, one in objects:
        if isinstance(one, Pod) and one.node_name and one.node_name not in known:
            yield n, FieldError("spec.nodeName", f"there is no Node {one.node_name}")
