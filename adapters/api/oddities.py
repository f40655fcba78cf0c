"""Oddities: what an API server takes, but hardly anybody means, told in a line each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from treenail.adapters.api.conversion.annotations import V1_FIELDS, V1BETA1_FIELDS
from treenail.adapters.api.diagnosis import meant
from treenail.adapters.api.documents import Manifest
from treenail.adapters.api.kinds import KINDS
from treenail.adapters.api.workloads import RUNS_FOR
from treenail.domain.model import labels

_BYTES: Final = ("memory", "ephemeral-storage", "storage")
_THOUSANDTHS: Final = re.compile(rb'(?:memory|storage)"\s*:\s*"[^"]*m"')
_OURS: Final = "treenail.sh/"
# The annotations of ours that somebody may write, or that a conversion keeps fields in.
_OF_POOLS: Final = (
    labels.MIN_NODES,
    labels.NODE_OVERHEAD_COST,
    labels.PAYBACK,
    labels.PROVISION_FOR,
    labels.RETURN,
    V1_FIELDS,
    V1BETA1_FIELDS,
)
_ANNOTATIONS: Final = {
    **dict.fromkeys(("NodePool", "Provisioner"), _OF_POOLS),
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "Job"), (labels.PROVISION_FOR,)),
    "CronJob": (),
}
_OF_JOBS: Final = ("Job", "CronJob")
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


def oddities_of(manifest: Manifest, called: str) -> Iterator[str]:
    """Yield the warnings on an object, `called` so: of idle metadata, and thousandths of bytes."""
    kind = KINDS.get((manifest.api_version, manifest.kind))
    if kind is not None and not kind.namespaced and manifest.namespace:
        whole = f"a {manifest.kind} is of the whole cluster"
        yield f"{manifest.file}: {called}: metadata.namespace: is left out: {whole}"
    content = manifest.content
    if isinstance(content, bytes):
        # Clusters of thousands of pods come as JSON: what cannot be there is not looked for.
        odd = _THOUSANDTHS.search(content) or (manifest.kind in _ANNOTATIONS and _OURS.encode() in content)
        content = msgspec.json.decode(content) if odd else {}
    for key, near in _idle_annotations(manifest.kind, content):
        yield f"{manifest.file}: {called}: metadata.annotations[{key}]: changes nothing there{near}"
    for path, amount in _thousandths(content, "", within=False):
        yield (
            f"{manifest.file}: {called}: {path}: {amount!r} is in thousandths of a byte; "
            f"did you mean {amount[:-1]}Mi?"
        )


def _idle_annotations(kind: str, content: object) -> Iterator[tuple[str, str]]:
    """Yield annotations of ours that an object of a `kind` cannot have, and what each may have meant."""
    known = _ANNOTATIONS.get(kind)
    metadata = content.get("metadata") if isinstance(content, Mapping) else None
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if known is not None and isinstance(annotations, Mapping):
        for key in map(str, annotations):
            if key.startswith(_OURS) and key not in known:
                of_pods = key == RUNS_FOR and kind in _OF_JOBS
                yield key, "; it is read from the template of the pods" if of_pods else meant(key, known)


def _thousandths(tree: object, path: str, *, within: bool) -> Iterator[tuple[str, str]]:
    """Yield path and text of each amount of bytes in containers that is written with an m."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            below = f"{path}.{key}" if path else str(key)
            if within and key in _BYTES and isinstance(value, str) and value.endswith("m"):
                yield below, value
            yield from _thousandths(value, below, within=within or key in _CONTAINERS)
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from _thousandths(value, f"{path}[{number}]", within=within)
