"""What Provisioners of the old API ask for, and what is asked of their nodes and pods in its words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.manifests import Manifest, deployment, need, text
from tests.scenarios.watching import told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.resources import CPU, PODS
from treenail.domain.model.taints import Effect, Taint

AGENT = Taint(key="example.com/agent-not-ready", effect=Effect.NO_SCHEDULE)


def template(name: str = "default") -> Manifest:
    spec = {"subnetSelector": {"discovery": "demo"}, "securityGroupSelector": {"discovery": "demo"}}
    return {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": name},
        "spec": {**spec, "instanceProfile": "nodes"},
    }


def provisioner(name: str = "default", **spec: Any) -> Manifest:
    families = need("karpenter.k8s.aws/instance-family", "c5", "m5")
    plain = {"providerRef": {"name": "default"}, "requirements": [families], "ttlSecondsAfterEmpty": 30}
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": name},
        "spec": {k: v for k, v in {**plain, **spec}.items() if v is not None},
    }


def test_pods_that_select_a_provisioner_by_name_get_its_nodes_whatever_its_weight() -> None:
    with Rehearsal(seed=1) as rehearsal:
        chosen = deployment(node_selector={"karpenter.sh/provisioner-name": "light"})
        rehearsal.apply(text(template(), provisioner("heavy", weight=100), provisioner("light"), chosen))
        rehearsal.run("5m")

        assert rehearsal.running() == 3
        assert {node.labels["karpenter.sh/provisioner-name"] for node in rehearsal.nodes()} == {"light"}


def test_all_machines_of_a_provisioner_stay_within_its_limits() -> None:
    with Rehearsal(seed=1) as rehearsal:
        limited = provisioner(limits={"resources": {"cpu": "8"}})
        rehearsal.apply(text(template(), limited, deployment(replicas=20)))
        rehearsal.run("5m")

        assert 0 < sum(claim.capacity[CPU] for claim in rehearsal.claims()) <= 8000
        assert 0 < rehearsal.running() < 20


def test_kubelets_of_a_provisioner_are_told_what_it_says() -> None:
    with Rehearsal(seed=1) as rehearsal:
        kubelet = {"maxPods": 12, "systemReserved": {"cpu": "500m"}}
        rehearsal.apply(text(template(), provisioner(kubeletConfiguration=kubelet), deployment()))
        rehearsal.run("5m")

        assert rehearsal.running() == 3
        assert {node.capacity[PODS] for node in rehearsal.nodes()} == {12}
        assert all(node.capacity[CPU] - node.allocatable[CPU] >= 500 for node in rehearsal.nodes())


def test_a_machine_is_initialized_when_its_startup_taints_are_gone() -> None:
    with Rehearsal(seed=1) as rehearsal:
        startup = [{"key": AGENT.key, "effect": "NoSchedule"}]
        rehearsal.apply(text(template(), provisioner(startupTaints=startup), deployment()))
        rehearsal.run("3m")

        assert told(rehearsal, "NodeRegistered")
        assert told(rehearsal, "NodeInitialized") == []
        assert rehearsal.running() == 0

        for node in rehearsal.nodes():
            rehearsal.cluster.patch_node(node.name, NodePatch(remove_taints=(AGENT,)))
        rehearsal.run("1m")

        assert len(told(rehearsal, "NodeInitialized")) == len(rehearsal.nodes())
        assert rehearsal.running() == 3


def test_without_a_time_to_live_an_empty_node_stays() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(template(), provisioner(ttlSecondsAfterEmpty=None), deployment()))
        rehearsal.run("5m")
        rehearsal.scale("web", 0)
        rehearsal.run("30m")

        assert rehearsal.nodes()


@pytest.mark.parametrize("key", ["karpenter.sh/do-not-consolidate", "karpenter.sh/do-not-disrupt"])
def test_an_empty_node_that_somebody_keeps_stays_until_it_is_kept_no_more(key: str) -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(template(), provisioner(), deployment()))
        rehearsal.run("5m")
        kept = [node.name for node in rehearsal.nodes()]
        for name in kept:
            rehearsal.cluster.patch_node(name, NodePatch(annotations={key: "true"}))
        rehearsal.scale("web", 0)
        rehearsal.run("10m")

        assert [node.name for node in rehearsal.nodes()] == kept
        assert {entry.fields["why"] for entry in told(rehearsal, "DisruptionRefused")} == {
            f'disruption is blocked through the "{key}" annotation'
        }

        for name in kept:
            rehearsal.cluster.patch_node(name, NodePatch(annotations={key: "false"}))
        rehearsal.run("2m")

        assert rehearsal.nodes() == ()
