"""Definitions of Karpenter's kinds: the versions served, and those that objects are stored in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from treenail.adapters.cli.takeover.estate import Estate, Tree
from treenail.adapters.cli.takeover.findings import Finding, Verdict

_SECTION: Final = "definitions"
_GROUPS: Final = ("karpenter.sh", "karpenter.k8s.aws", "karpenter.kwok.sh", "autoscaling.x-k8s.io")
_CONVERTED: Final = ("NodePool", "NodeClaim", "EC2NodeClass")
_NEW: Final = "v1"
_OUR_PATH: Final = "/convert"
_APPLY: Final = "apply the definitions of deploy/crds"
CONVERT: Final = "treenail takeover convert"


def definitions(estate: Estate) -> Iterator[Finding]:
    """Yield what is to be done about each definition before Treenail starts, or after."""
    for tree in estate.trees("CustomResourceDefinition"):
        spec = tree.get("spec") or {}
        if spec.get("group") not in _GROUPS:
            continue
        kind = (spec.get("names") or {}).get("kind", "")
        verdict, why = _verdict(kind, tree)
        yield Finding(_SECTION, str((tree.get("metadata") or {}).get("name", "")), verdict, why)
    for plural, error in sorted(estate.unreadable.items()):
        yield Finding(_SECTION, plural, Verdict.FIRST, f"its objects cannot be read: {error}")


def _verdict(kind: str, tree: Tree) -> tuple[Verdict, str]:
    spec = tree["spec"]
    versions = [one["name"] for one in spec.get("versions") or () if one.get("served", True)]
    stored = (tree.get("status") or {}).get("storedVersions") or []
    told = f"serves {', '.join(versions)}" + (f", stored in {', '.join(stored)}" if stored else "")
    if kind not in _CONVERTED:
        return Verdict.SAME, told
    if _NEW not in versions:
        return Verdict.FIRST, f"{told}: {_APPLY}, which serve v1 too and convert by our webhook"
    if set(stored) <= {_NEW}:
        return Verdict.SAME, told
    if not webhook_of(tree).endswith(_OUR_PATH):
        return Verdict.FIRST, f"{told}: Karpenter's webhook goes with it: {_APPLY}"
    return Verdict.TO_DO, f"{told}: once the controller runs, {CONVERT}"


def webhook_of(tree: Tree) -> str:
    """Return the path of the webhook that converts a definition's objects, "" where none does."""
    conversion = (tree.get("spec") or {}).get("conversion") or {}
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    place = (client.get("service") or {}).get("path") or client.get("url") or ""
    return str(place) if conversion.get("strategy") == "Webhook" else ""
