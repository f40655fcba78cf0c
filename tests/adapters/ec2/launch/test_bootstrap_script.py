from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from tests.adapters.ec2.launch.kubelets import FULL, FULL_FLAGS, PARTS
from tests.adapters.ec2.launch.orders import FACTS, node_class, settings
from tests.adapters.ec2.launch.readers import bootstrap_call, parts
from treenail.adapters.ec2.launch.user_data import user_data
from treenail.domain.model.node_classes import DEFAULT_KUBELET, AmiFamily, Kubelet

FAMILIES = pytest.mark.parametrize("family", [AmiFamily.AL2, AmiFamily.UBUNTU])


@FAMILIES
def test_bootstrap_is_told_of_the_cluster_and_of_all_that_is_set(family: AmiFamily) -> None:
    cluster, options = bootstrap_call(user_data(node_class(family), FACTS, settings(FULL)))

    assert cluster == "demo"
    assert shlex.split(options.pop("--kubelet-extra-args")) == FULL_FLAGS
    assert options == {
        "--apiserver-endpoint": "https://api.example.com",
        "--b64-cluster-ca": "Q0E=",
        "--dns-cluster-ip": "10.100.0.53",
        "--container-runtime": "containerd",
        "--use-max-pods": "false",
    }


@FAMILIES
def test_what_nobody_set_is_left_to_the_image(family: AmiFamily) -> None:
    _, options = bootstrap_call(user_data(node_class(family), FACTS, settings(DEFAULT_KUBELET)))

    assert set(options) == {
        "--apiserver-endpoint",
        "--b64-cluster-ca",
        "--dns-cluster-ip",
        "--use-max-pods",
        "--kubelet-extra-args",
    }


def test_local_disks_are_joined_where_the_class_says_so() -> None:
    of = node_class(AmiFamily.AL2, instance_store_raid0=True)

    assert bootstrap_call(user_data(of, FACTS, settings()))[1]["--local-disks"] == "raid0"


@pytest.mark.parametrize(
    ("cidr", "set_to", "said"),
    [
        ("10.100.0.0/16", (), {"--dns-cluster-ip": "10.100.0.10"}),
        ("10.100.0.0/16", ("10.1.1.1", "10.1.1.2"), {"--dns-cluster-ip": "10.1.1.1,10.1.1.2"}),
        ("fd12::/108", (), {"--ip-family": "ipv6", "--dns-cluster-ip": "fd12::a"}),
        ("", (), {}),
    ],
)
def test_bootstrap_is_told_of_the_dns_that_is_set_or_that_eks_gives_a_cluster(
    cidr: str, set_to: tuple[str, ...], said: dict[str, str]
) -> None:
    told = settings(Kubelet(cluster_dns=set_to))
    text = user_data(node_class(AmiFamily.AL2), replace(FACTS, service_cidr=cidr), told)

    _, options = bootstrap_call(text)
    assert {key: value for key, value in options.items() if "dns" in key or "family" in key} == said


def test_the_name_of_a_cluster_is_no_shell_command() -> None:
    text = user_data(node_class(AmiFamily.AL2), replace(FACTS, name="a; rm -rf /"), settings())

    assert "/etc/eks/bootstrap.sh 'a; rm -rf /' --apiserver" in text


@FAMILIES
def test_parts_of_the_user_come_before_ours(family: AmiFamily) -> None:
    text = user_data(node_class(family, user_data=PARTS), FACTS, settings())

    (first, second, _ours) = parts(text)
    assert first == ("text/x-shellscript", '#!/bin/bash\necho "hello"\n')
    assert second == ("text/cloud-config", "packages: [htop]\n")


@FAMILIES
def test_text_of_the_user_that_is_no_mime_is_a_script(family: AmiFamily) -> None:
    text = "kind: NodeConfig\nspec: {}"
    (theirs, _ours) = parts(user_data(node_class(family, user_data=text), FACTS, settings()))

    assert theirs == ("text/x-shellscript", text + "\n")
