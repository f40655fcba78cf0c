"""Running Karpenter: its Deployments, webhooks, and the Lease by which one of its replicas leads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from treenail.adapters.cli.takeover.estate import GROUPS, WEBHOOKS, Estate, Tree
from treenail.adapters.cli.takeover.findings import Finding, Verdict
from treenail.adapters.cli.takeover.karpenter_settings import Deployed, deployments
from treenail.domain.leadership.lease import IDENTITY_PREFIX

_SECTION: Final = "who runs"


def leaders(estate: Estate) -> Iterator[Finding]:
    """Yield what is to be done so that two never run at once."""
    found = deployments(estate)
    for deployed in found:
        yield _running(deployed)
        for tree in estate.trees("Lease"):
            metadata = tree.get("metadata") or {}
            if (metadata.get("namespace") or "default", metadata.get("name")) == deployed.lease:
                yield _held(tree, *deployed.lease)
    if not found and estate.live:
        yield Finding(_SECTION, "Karpenter", Verdict.SAME, "no Deployment of it was found")


def webhooks(estate: Estate) -> Iterator[Finding]:
    """Yield the admission webhooks of Karpenter: while they have no pods, its kinds cannot be written."""
    for kind in WEBHOOKS:
        for tree in estate.trees(kind):
            if not GROUPS.isdisjoint(_groups_of(tree)):
                name = (tree.get("metadata") or {}).get("name", "")
                then = f"after scaling it to 0, kubectl delete {kind} {name}"
                why = f"refuses all writes while Karpenter is away: {then}"
                yield Finding(_SECTION, f"{kind} {name}", Verdict.TO_DO, why)


def _groups_of(configuration: Tree) -> Iterator[str]:
    for webhook in configuration.get("webhooks") or ():
        for rule in webhook.get("rules") or ():
            yield from rule.get("apiGroups") or ()


def _running(deployed: Deployed) -> Finding:
    scale = f"kubectl -n {deployed.namespace} scale deployment {deployed.name} --replicas=0"
    if not deployed.replicas:
        return Finding(_SECTION, deployed.called, Verdict.SAME, "is scaled to 0")
    if not deployed.elects:
        why = f"runs without leader election, so nothing keeps ours from running beside it: {scale}"
        return Finding(_SECTION, deployed.called, Verdict.FIRST, why)
    return Finding(_SECTION, deployed.called, Verdict.TO_DO, f"runs: when you take over, {scale}")


def _held(lease: Tree, namespace: str, name: str) -> Finding:
    spec = lease.get("spec") or {}
    holder = str(spec.get("holderIdentity") or "")
    if holder.startswith(IDENTITY_PREFIX):
        why = f"held by Treenail ({holder.removeprefix(IDENTITY_PREFIX)})"
        return Finding(_SECTION, f"Lease {namespace}/{name}", Verdict.SAME, why)
    held = f"held by {holder}, renewed at {spec.get('renewTime')}" if holder else "held by nobody"
    ours = f"ours must use it too: install into {namespace}, or set leaderElection.namespace={namespace}"
    return Finding(_SECTION, f"Lease {namespace}/{name}", Verdict.TO_DO, f"{held}; {ours}")
