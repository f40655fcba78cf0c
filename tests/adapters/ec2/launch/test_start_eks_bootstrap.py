from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest

from tests.adapters.ec2.launch.kubelets import FULL, FULL_FLAGS
from tests.adapters.ec2.launch.orders import FACTS, node_class, settings
from tests.adapters.ec2.launch.readers import powershell
from treenail.adapters.ec2.launch.user_data import user_data
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import DEFAULT_KUBELET, AmiFamily, Kubelet, NodeClass

FAMILIES = pytest.mark.parametrize("family", [family for family in AmiFamily if family.windows])


def of(**more: Any) -> NodeClass:
    return node_class(AmiFamily.WINDOWS2022, **more)


@FAMILIES
def test_windows_is_told_of_the_cluster_and_of_all_that_is_set(family: AmiFamily) -> None:
    commands, arguments, more = powershell(user_data(node_class(family), FACTS, settings(FULL)))

    assert (commands, more) == ([], "")
    extra = arguments.pop("KubeletExtraArgs")
    assert arguments == {
        "EKSClusterName": "demo",
        "APIServerEndpoint": "https://api.example.com",
        "Base64ClusterCA": "Q0E=",
        "DNSClusterIP": "10.100.0.53",
        "ContainerRuntime": "containerd",
    }
    assert '--eviction-hard="memory.available<5%,nodefs.available<1Gi"' in extra
    assert shlex.split(extra) == FULL_FLAGS


def test_what_nobody_set_is_left_to_the_image() -> None:
    _, arguments, _ = powershell(user_data(of(), FACTS, settings(DEFAULT_KUBELET)))

    assert arguments["DNSClusterIP"] == "10.100.0.10"
    assert "ContainerRuntime" not in arguments
    flags = [flag.partition("=")[0] for flag in shlex.split(arguments["KubeletExtraArgs"])]
    assert flags == ["--node-labels", "--register-with-taints", "--max-pods"]


@pytest.mark.parametrize(
    ("text", "commands", "more"),
    [
        ('Write-Host "a"\r\nWrite-Host "b"\r\n', ['Write-Host "a"', 'Write-Host "b"'], ""),
        ("<powershell>\nWrite-Host 1\n</powershell>", ["Write-Host 1"], ""),
        (
            "\n<PowerShell>Write-Host 1</PowerShell>\n<persist>true</persist>\n",
            ["Write-Host 1"],
            "<persist>true</persist>\n",
        ),
    ],
)
def test_commands_of_the_user_come_first_within_one_block(text: str, commands: list[str], more: str) -> None:
    found = powershell(user_data(of(user_data=text), FACTS, settings()))

    assert (found[0], found[2]) == (commands, more)


def test_the_name_of_a_cluster_is_no_command() -> None:
    odd = replace(FACTS, name="a'; Stop-Computer; '")

    assert powershell(user_data(of(), odd, settings()))[1]["EKSClusterName"] == odd.name


@pytest.mark.parametrize(
    ("one", "facts", "kubelet", "why"),
    [
        (
            of(user_data="<powershell>\nWrite-Host 1"),
            FACTS,
            DEFAULT_KUBELET,
            "the only block of <powershell>",
        ),
        (
            of(user_data="<powershell>1</powershell><powershell>2</powershell>"),
            FACTS,
            DEFAULT_KUBELET,
            "the only block of <powershell>",
        ),
        (of(user_data="1\n<powershell>2</powershell>"), FACTS, DEFAULT_KUBELET, "begins with the only block"),
        (of(instance_store_raid0=True), FACTS, DEFAULT_KUBELET, "instanceStorePolicy cannot be met"),
        (of(), replace(FACTS, service_cidr="fd12::/108"), DEFAULT_KUBELET, "cannot join a cluster of IPv6"),
        (of(), FACTS, Kubelet(cluster_dns=("10.0.0.1", "10.0.0.2")), "takes one address"),
    ],
)
def test_what_windows_cannot_makes_the_class_not_ready(
    one: NodeClass, facts: ClusterFacts, kubelet: Kubelet, why: str
) -> None:
    with pytest.raises(NodeClassNotReadyError, match=why):
        user_data(one, facts, settings(kubelet))
