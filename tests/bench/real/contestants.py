"""The controllers that are compared: Karpenter's KWOK build, and ours with the cloud of played nodes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.real.parts import binaries
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import says

POOL_PATH: Final = "/apis/karpenter.sh/v1/nodepools/default"
ROOT: Final = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """How to run a controller: its command, its own variables, and the folder of its CRDs.

    `settled` tells when it has taken in the pool. With `nodes_first` its nodes are there before the pods are
    asked for: nothing can be sooner.
    """

    name: str
    command: Sequence[str | Path]
    crds: Path
    settled: Callable[[ControlPlane], bool]
    env: Mapping[str, str] = field(default_factory=dict)
    nodes_first: bool = False


def common_env(kubeconfig: Path, *, metrics_port: int, health_port: int) -> dict[str, str]:
    """Return what both are told, under Karpenter's names."""
    return {
        "KUBECONFIG": str(kubeconfig),
        "CLUSTER_NAME": "bench",
        "SYSTEM_NAMESPACE": "kube-system",
        "DISABLE_LEADER_ELECTION": "true",
        "DISABLE_WEBHOOK": "true",
        "METRICS_PORT": str(metrics_port),
        "HEALTH_PROBE_PORT": str(health_port),
    }


def karpenter() -> Contestant:
    """Return the peer.

    Raises:
        NotBuiltError: it is not built: `tests/real/parts/build peer`.
    """
    return Contestant(
        name="karpenter",
        command=[binaries.program("karpenter-kwok")],
        crds=binaries.place("karpenter-crds"),
        settled=_pool_is_ready,
        env={
            "KUBERNETES_MIN_VERSION": "1.19.0-0",
            "KARPENTER_SERVICE": "karpenter",
            # It derives how much it does at once from this: so many thousandths of a core.
            "CPU_REQUESTS": "2000",
        },
    )


def treenail() -> Contestant:
    """Return ours, from this checkout."""
    return Contestant(
        name="treenail",
        command=[Path(sys.executable).with_name("treenail"), "controller"],
        crds=ROOT / "deploy" / "crds",
        settled=lambda _: True,
        env={"CLOUD": "kwok"},
    )


def treenail_for_pods() -> Contestant:
    """Return ours, buying for the pods that are there alone."""
    return replace(treenail(), name="treenail-for-pods", env={"CLOUD": "kwok", "PROVISION_FOR": "pods"})


def nodes_made_beforehand() -> Contestant:
    """Return ours, with all nodes there before the pods are asked for."""
    return replace(treenail(), name="nodes-beforehand", nodes_first=True)


def _pool_is_ready(parts: ControlPlane) -> bool:
    return says(parts.request("GET", POOL_PATH)[1], "Ready")
