"""The namespace that the controller is in, or belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from treenail.adapters.settings.settings import Settings

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
# Where the docs install the chart, for a controller that runs outside of the cluster.
_OTHERWISE: Final = "kube-system"


def lease_namespace(settings: Settings, *, account: Path = ACCOUNT) -> str:
    """Return where the lease is: as the settings say, else the pod's own namespace, as Karpenter has it."""
    return settings.leader_election_namespace or own_namespace(
        "", otherwise=settings.system_namespace, account=account
    )


def own_namespace(named: str, *, otherwise: str = "", account: Path = ACCOUNT) -> str:
    """Return the namespace that is `named`, else the pod's own, else `otherwise`, else kube-system.

    `account` is the file that names the namespace a pod is in.
    """
    try:
        pods = account.read_text().strip()
    except OSError:
        pods = ""
    return named or pods or otherwise or _OTHERWISE
