"""Leaders of the cluster: Karpenter's replicas, and the Lease by which one of them leads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from treenail.adapters.cli.takeover.estate import Estate, Tree
from treenail.adapters.cli.takeover.findings import Finding, Verdict
from treenail.adapters.cli.takeover.karpenter_settings import Deployed, deployments

_SECTION: Final = "who runs"


def leaders(estate: Estate) -> Iterator[Finding]:
    """Yield what is to be done so that two never run at once."""
    found = deployments(estate)
    for deployed in found:
        yield _running(deployed)
        for tree in estate.trees("Lease"):
            metadata = tree.get("metadata") or {}
            if metadata.get("name") == deployed.lease:
                yield Finding(_SECTION, f"Lease {deployed.lease}", Verdict.SAME, _held(tree))
    if not found and estate.live:
        yield Finding(_SECTION, "Karpenter", Verdict.SAME, "no Deployment of it was found")


def _running(deployed: Deployed) -> Finding:
    scale = f"kubectl -n {deployed.namespace} scale deployment {deployed.name} --replicas=0"
    if not deployed.replicas:
        return Finding(_SECTION, deployed.called, Verdict.SAME, "is scaled to 0")
    if not deployed.elects:
        why = f"runs without leader election, so nothing keeps ours from running beside it: {scale}"
        return Finding(_SECTION, deployed.called, Verdict.FIRST, why)
    return Finding(_SECTION, deployed.called, Verdict.TO_DO, f"runs: when you take over, {scale}")


def _held(lease: Tree) -> str:
    spec = lease.get("spec") or {}
    holder = spec.get("holderIdentity")
    return f"held by {holder}, renewed at {spec.get('renewTime')}" if holder else "held by nobody"
