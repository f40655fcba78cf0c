"""Manifests that are applied to a rehearsal: paths, text and objects, decoded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from treenail.adapters.api.account import Account
from treenail.adapters.api.auto_mode import as_karpenter
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.manifests import Decoded, Manifest, decode_all, parse_manifests, read_manifests
from treenail.adapters.api.workloads import ApiObject
from treenail.domain.model.node_classes import NodeClass


def decode_applied(
    what: Iterable[str | Path | ApiObject], there: Iterable[NodeClass], at: datetime
) -> tuple[Decoded, tuple[ApiObject, ...]]:
    """Return the manifests of paths and texts, decoded, and the objects. Node classes may be `there` already.

    Raises:
        ManifestError: a manifest cannot be read or says something wrong.
    """
    manifests: list[Manifest] = []
    objects: list[ApiObject] = []
    for one in what:
        if isinstance(one, Path):
            manifests += read_manifests([one])
        elif isinstance(one, str):
            _check_text(one)
            manifests += parse_manifests(one.encode(), "manifest")
        else:
            objects.append(one)
    known = [one.ref for one in (*objects, *there) if isinstance(one, NodeClass)]
    decoded = decode_all(manifests, at=at, node_classes_there=known, keep_parts=True)
    for account in decoded.accounts:
        raise _too_late(account)
    return decoded, tuple(objects)


def _too_late(account: Account) -> ManifestError:
    problem = "no cluster has it: it counts from the start, in a file of -f or as Conditions(account=...)"
    return ManifestError("", f"Account {account.name}", "", problem)


def _check_text(text: str) -> None:
    """Refuse the name of a file, where the text of manifests is meant."""
    if "\n" not in text and text.endswith((".yaml", ".yml", ".json")):
        problem = f"is read as the text of manifests: for a file, write Path({text!r})"
        raise ManifestError(text, "", "", problem)


def decode_leniently(path: str | Path, at: datetime) -> Decoded:
    """Return the manifests of a file, decoded; those that cannot be used are in `set_aside`.

    Node classes of EKS Auto Mode are those of Karpenter, as in the files that a rehearsal begins with.

    Raises:
        ManifestError: the file cannot be read at all.
    """
    manifests, warnings = as_karpenter(read_manifests([str(path)]))
    decoded = decode_all(manifests, lenient=True, at=at, node_classes_optional=True, keep_parts=True)
    set_aside = (*decoded.set_aside, *map(_too_late, decoded.accounts))
    return replace(decoded, warnings=(*warnings, *decoded.warnings), set_aside=set_aside)
