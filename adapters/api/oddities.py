"""Oddities: what an API server takes, but hardly anybody means, told in a line each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from treenail.adapters.api.documents import Manifest
from treenail.adapters.api.kinds import KINDS

_BYTES: Final = ("memory", "ephemeral-storage", "storage")
_THOUSANDTHS: Final = re.compile(rb'(?:memory|storage)"\s*:\s*"[^"]*m"')
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


def oddities_of(manifest: Manifest, called: str) -> Iterator[str]:
    """Yield the warnings on an object, `called` so: of an idle namespace, and thousandths of bytes."""
    kind = KINDS.get((manifest.api_version, manifest.kind))
    if kind is not None and not kind.namespaced and manifest.namespace:
        whole = f"a {manifest.kind} is of the whole cluster"
        yield f"{manifest.file}: {called}: metadata.namespace: is left out: {whole}"
    content = manifest.content
    if isinstance(content, bytes):
        # Clusters of thousands of pods come as JSON: what cannot be there is not looked for.
        content = msgspec.json.decode(content) if _THOUSANDTHS.search(content) else {}
    for path, amount in _thousandths(content, "", within=False):
        yield (
            f"{manifest.file}: {called}: {path}: {amount!r} is in thousandths of a byte; "
            f"did you mean {amount[:-1]}Mi?"
        )


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
