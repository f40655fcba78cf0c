"""What launches are made of, to be varied by tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from treenail.adapters.ec2.launch.kubelet_settings import KubeletSettings
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model import labels
from treenail.domain.model.fleets import CLUSTER_TAG, LAUNCH_TAG, FleetRequest, Override
from treenail.domain.model.node_classes import DEFAULT_KUBELET, AmiFamily, Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.taints import UNREGISTERED, Effect, Taint

FACTS = ClusterFacts(
    name="demo",
    endpoint="https://api.example.com",
    certificate_authority="Q0E=",
    version="1.34",
    service_cidr="10.100.0.0/16",
)
STARTUP = Taint("example.com/agent-not-ready", Effect.NO_SCHEDULE, "yes")


def node_class(family: AmiFamily = AmiFamily.AL2023, **more: Any) -> NodeClass:
    ref = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
    return NodeClass(ref=ref, ami_family=family, instance_profile="nodes", **more)


def settings(kubelet: Kubelet = DEFAULT_KUBELET, **labelled: str) -> KubeletSettings:
    given = {labels.NODEPOOL: "web", labels.ARCH: "amd64", "node.k8s.io/x": "y", "team": "a", **labelled}
    return KubeletSettings(max_pods=29, labels=given, taints=(STARTUP, UNREGISTERED), kubelet=kubelet)


def request(*pools: str, **more: Any) -> FleetRequest:
    """request("m5.large/us-east-1a"): one instance on demand, of these types and zones."""
    pairs = [pool.split("/") for pool in pools or ("m5.large/us-east-1a",)]
    plain = FleetRequest(
        token="call-1",  # noqa: S106
        node_class=node_class(),
        capacity_type=labels.ON_DEMAND,
        overrides=tuple(Override(name, zone, 0.1) for name, zone in pairs),
        count=1,
        labels={labels.NODEPOOL: "web"},
        taints=(UNREGISTERED,),
        tags={CLUSTER_TAG: "demo", labels.NODEPOOL: "web", LAUNCH_TAG: "call-1"},
    )
    return replace(plain, **more)
