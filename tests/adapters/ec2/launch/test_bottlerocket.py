from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.adapters.ec2.launch.kubelets import FULL
from tests.adapters.ec2.launch.orders import FACTS, node_class, settings
from tests.adapters.ec2.launch.readers import bottlerocket_settings
from treenail.adapters.ec2.launch.user_data import user_data
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import AmiFamily, Kubelet, NodeClass, SelectorTerm

THEIRS = """
[settings]
motd = "hello"

[settings.kubernetes]
max-pods = 5
cluster-name = "another"
kube-api-qps = 30
no-such-setting = true
eviction-hard = {"memory.available" = "12%"}

[settings.kubernetes.node-labels]
custom = "yes"
team = "b"

[settings.kubernetes.node-taints]
foo = ["bar:NoExecute"]

[settings.network]
hosts = [["10.0.0.0", ["test.example.com"]]]

[settings.bootstrap-commands.100-mine]
commands = [["apiclient", "get"]]
mode = "once"
"""


def of(**more: Any) -> NodeClass:
    return node_class(AmiFamily.BOTTLEROCKET, **more)


def read(one: NodeClass, kubelet: Kubelet = FULL, **facts: str) -> dict[str, Any]:
    return bottlerocket_settings(user_data(one, replace(FACTS, **facts), settings(kubelet)))


def test_bottlerocket_is_told_of_the_cluster_and_of_all_that_is_set() -> None:
    assert read(of()) == {
        "kubernetes": {
            "cluster-name": "demo",
            "api-server": "https://api.example.com",
            "cluster-certificate": "Q0E=",
            "cluster-dns-ip": "10.100.0.53",
            "max-pods": 29,
            "node-labels": {
                "karpenter.sh/do-not-sync-taints": "true",
                "karpenter.sh/nodepool": "web",
                "team": "a",
            },
            "node-taints": {
                "example.com/agent-not-ready": ["yes:NoSchedule"],
                "karpenter.sh/unregistered": [":NoExecute"],
            },
            "system-reserved": {"cpu": "100m", "memory": "100Mi", "ephemeral-storage": "1Gi"},
            "kube-reserved": {"cpu": "200m"},
            "eviction-hard": {"memory.available": "5%", "nodefs.available": "1Gi"},
            "eviction-soft": {"memory.available": "10%"},
            "eviction-soft-grace-period": {"memory.available": "1m30s"},
            "eviction-max-pod-grace-period": 60,
            "image-gc-high-threshold-percent": "85",
            "image-gc-low-threshold-percent": "80",
            "cpu-cfs-quota-enforced": False,
        }
    }


def test_what_nobody_set_is_left_to_the_image() -> None:
    assert set(read(of(), Kubelet())["kubernetes"]) == {
        "cluster-name",
        "api-server",
        "cluster-certificate",
        "cluster-dns-ip",
        "max-pods",
        "node-labels",
        "node-taints",
    }


def test_ours_win_over_the_users_labels_are_put_together_and_the_rest_stays() -> None:
    found = read(of(user_data=THEIRS), Kubelet())

    kubernetes = found["kubernetes"]
    assert (kubernetes["max-pods"], kubernetes["cluster-name"]) == (29, "demo")
    assert kubernetes["kube-api-qps"] == 30
    assert kubernetes["eviction-hard"] == {"memory.available": "12%"}
    assert kubernetes["node-labels"] == {
        "custom": "yes",
        "karpenter.sh/do-not-sync-taints": "true",
        "karpenter.sh/nodepool": "web",
        "team": "a",
    }
    assert set(kubernetes["node-taints"]) == {"example.com/agent-not-ready", "karpenter.sh/unregistered"}
    assert found["motd"] == "hello"
    assert found["network"] == {"hosts": [["10.0.0.0", ["test.example.com"]]]}


def test_what_no_image_knows_of_kubernetes_is_left_out() -> None:
    assert "no-such-setting" not in read(of(user_data=THEIRS))["kubernetes"]


def test_the_users_thresholds_give_way_to_those_of_the_class_as_a_whole() -> None:
    kubelet = Kubelet(eviction_hard=(("nodefs.available", "1Gi"),))

    assert read(of(user_data=THEIRS), kubelet)["kubernetes"]["eviction-hard"] == {"nodefs.available": "1Gi"}


@pytest.mark.parametrize(
    ("terms", "explicit"),
    [
        ((), False),
        ((SelectorTerm(alias="bottlerocket@latest"),), False),
        ((SelectorTerm(alias="bottlerocket@v1.46.0"),), False),
        ((SelectorTerm(alias="bottlerocket@1.45.9"),), True),
        ((SelectorTerm(id="ami-1"),), True),
    ],
)
def test_local_disks_are_joined_and_bound_as_the_version_can(
    terms: tuple[SelectorTerm, ...], *, explicit: bool
) -> None:
    commands = read(of(ami_terms=terms, instance_store_raid0=True, user_data=THEIRS))["bootstrap-commands"]

    dirs = ["--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"] if explicit else []
    assert commands["000-mount-instance-storage"] == {
        "commands": [
            ["apiclient", "ephemeral-storage", "init"],
            ["apiclient", "ephemeral-storage", "bind", *dirs],
        ],
        "essential": True,
        "mode": "always",
    }
    assert commands["100-mine"] == {"commands": [["apiclient", "get"]], "mode": "once"}


@pytest.mark.parametrize(
    ("cidr", "set_to", "said"),
    [
        ("10.100.0.0/16", (), "10.100.0.10"),
        ("fd12::/108", (), "fd12::a"),
        ("fd12::/108", ("fd12::53", "fd12::54"), ["fd12::53", "fd12::54"]),
        ("", (), None),
    ],
)
def test_the_dns_is_as_set_or_as_eks_gives_it(cidr: str, set_to: tuple[str, ...], said: object) -> None:
    found = read(of(), Kubelet(cluster_dns=set_to), service_cidr=cidr)

    assert found["kubernetes"].get("cluster-dns-ip") == said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo hello", "it is not TOML: Expected '='"),
        ("x = " + "[" * 5000, "it is (nested without end|not TOML)"),
        ("settings = 3", "settings is not a table"),
        ("[settings]\nkubernetes = 3", "kubernetes is not a table"),
        ("[settings.kubernetes]\nnode-labels = []", "node-labels is not a table"),
    ],
)
def test_what_is_not_settings_makes_the_class_not_ready(text: str, why: str) -> None:
    with pytest.raises(NodeClassNotReadyError, match=f"EC2NodeClass/default: .*{why}"):
        read(of(user_data=text, instance_store_raid0=True))
