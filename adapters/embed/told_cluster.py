"""The cluster that a rehearsal begins with, as a test tells it: a snapshot, or what `kubectl get` printed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from treenail.adapters.api.auto_mode import as_karpenter
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.manifests import Decoded, decode_all, parse_manifests, read_manifests


def cluster_of(told: str | Path) -> Decoded:
    """Return the objects of a file, a folder or a text of manifests.

    Raises:
        ValueError: they cannot be read, or say something wrong.
    """
    try:
        if isinstance(told, Path):
            read = read_manifests([told])
        else:
            check_text(told)
            read = parse_manifests(told.encode(), "snapshot")
        manifests, warnings = as_karpenter(read)
        decoded = decode_all(manifests, keep_parts=True)
    except ManifestError as error:
        raise ValueError(f"Conditions: snapshot: {error}") from None
    return replace(decoded, warnings=(*warnings, *decoded.warnings))


def check_text(text: str) -> None:
    """Refuse the name of a file, where the text of manifests is meant.

    Raises:
        ManifestError: it is one.
    """
    if "\n" not in text and text.endswith((".yaml", ".yml", ".json")):
        problem = f"is read as the text of manifests: for a file, write Path({text!r})"
        raise ManifestError(text, "", "", problem)
