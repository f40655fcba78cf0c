"""The namespace that the controller is in, or belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
# Where the docs install the chart, for a controller that runs outside of the cluster.
_OTHERWISE: Final = "kube-system"


def own_namespace(named: str, *, account: Path = ACCOUNT) -> str:
    """Return the namespace that is `named`, else the pod's own, else kube-system.

    `account` is the file that names the namespace a pod is in.
    """
    try:
        return named or account.read_text().strip() or _OTHERWISE
    except OSError:
        return _OTHERWISE
