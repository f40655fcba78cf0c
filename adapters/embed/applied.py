"""Manifests that are applied to a rehearsal: paths, text and objects, decoded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from treenail.adapters.api.auto_mode import as_karpenter
from treenail.adapters.api.errors import ManifestError, first_of
from treenail.adapters.api.manifests import Decoded, Manifest, decode_all, parse_manifests, read_manifests
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.embed.adoption import lived
from treenail.adapters.embed.told_cluster import check_text
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Pod


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
            check_text(one)
            manifests += parse_manifests(one.encode(), "manifest")
        else:
            objects.append(one)
    known = [one.ref for one in (*objects, *there) if isinstance(one, NodeClass)]
    decoded = decode_all(manifests, at=at, node_classes_there=known, keep_parts=True)
    if late := _too_late(decoded):
        raise first_of(late)
    return decoded, tuple(objects)


def _too_late(decoded: Decoded) -> list[ManifestError]:
    """Return an error for each object that can only be there from the start.

    Applied later, an account would be passed over, and what ran in a cluster would be there as if it had just
    been made: nodes of this moment, without instances.
    """
    start = "it counts from the start, in a file of -f or as Conditions"
    account, cluster = f"no cluster has it: {start}(account=...)", f"{start}(snapshot=...)"
    was = f"says that it was in a cluster: {cluster}; without the uid it is made anew"
    there: tuple[Node | NodeClaim | Pod, ...] = (*decoded.nodes, *decoded.node_claims, *decoded.pods)
    lived_in = [one for one in there if lived(one)]
    return [
        *(ManifestError("", f"Account {one.name}", "", account) for one in decoded.accounts),
        *(ManifestError("", f"ClusterSnapshot {one.name}", "", cluster) for one in decoded.snapshots),
        *(ManifestError("", f"{type(one).__name__} {one.name}", "metadata.uid", was) for one in lived_in),
    ]


def decode_leniently(path: str | Path, at: datetime) -> Decoded:
    """Return the manifests of a file, decoded; those that cannot be used are in `set_aside`.

    Node classes of EKS Auto Mode are those of Karpenter, as in the files that a rehearsal begins with.

    Raises:
        ManifestError: the file cannot be read at all.
    """
    manifests, warnings = as_karpenter(read_manifests([str(path)]))
    decoded = decode_all(manifests, lenient=True, at=at, node_classes_optional=True, keep_parts=True)
    return replace(
        decoded,
        warnings=(*warnings, *decoded.warnings),
        set_aside=(*decoded.set_aside, *_too_late(decoded)),
        nodes=tuple(one for one in decoded.nodes if not lived(one)),
        node_claims=tuple(one for one in decoded.node_claims if not lived(one)),
        pods=tuple(one for one in decoded.pods if not lived(one)),
    )
