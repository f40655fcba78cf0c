"""Kubelet settings of every kind, and the user data of a user's own that goes before ours."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from treenail.domain.model.node_classes import Kubelet
from treenail.domain.model.resources import Resources

GOLDENS: Final = Path(__file__).parent / "goldens"
FULL: Final = Kubelet(
    max_pods=58,
    pods_per_core=10,
    system_reserved=Resources.parse({"cpu": "100m", "memory": "100Mi", "ephemeral-storage": "1Gi"}),
    kube_reserved=Resources.parse({"cpu": "200m"}),
    eviction_hard=(("memory.available", "5%"), ("nodefs.available", "1Gi")),
    eviction_soft=(("memory.available", "10%"),),
    eviction_soft_grace_period=(("memory.available", "1m30s"),),
    eviction_max_pod_grace_period=60,
    image_gc_high_threshold_percent=85,
    image_gc_low_threshold_percent=80,
    cpu_cfs_quota=False,
    cluster_dns=("10.100.0.53",),
    container_runtime="containerd",
)
# What a kubelet is called with that is set up so, for the node of the orders.
FULL_FLAGS: Final = [
    "--node-labels=karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=web,team=a",
    "--register-with-taints=example.com/agent-not-ready=yes:NoSchedule,karpenter.sh/unregistered:NoExecute",
    "--max-pods=29",
    "--pods-per-core=10",
    "--system-reserved=cpu=100m,ephemeral-storage=1Gi,memory=100Mi",
    "--kube-reserved=cpu=200m",
    "--eviction-hard=memory.available<5%,nodefs.available<1Gi",
    "--eviction-soft=memory.available<10%",
    "--eviction-soft-grace-period=memory.available=1m30s",
    "--eviction-max-pod-grace-period=60",
    "--image-gc-high-threshold=85",
    "--image-gc-low-threshold=80",
    "--cpu-cfs-quota=false",
]
PARTS: Final = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="BOUNDARY"

--BOUNDARY
Content-Type: text/x-shellscript; charset="us-ascii"
Content-Disposition: attachment; filename="hello.sh"

#!/bin/bash
echo "hello"

--BOUNDARY
Content-Type: text/cloud-config

packages: [htop]
--BOUNDARY--
"""


def golden(name: str) -> str:
    """Return a golden file's text."""
    return (GOLDENS / name).read_text()
