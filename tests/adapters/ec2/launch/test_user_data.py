from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.adapters.ec2.launch.kubelets import FULL, PARTS, golden
from tests.adapters.ec2.launch.orders import FACTS, node_class, settings
from treenail.adapters.ec2.launch.user_data import user_data
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import DEFAULT_KUBELET, AmiFamily, NodeClass

WINDOWS = [family for family in AmiFamily if family.windows]
OWN = {
    AmiFamily.AL2: PARTS,
    AmiFamily.AL2023: PARTS,
    AmiFamily.UBUNTU: "#!/bin/bash\necho hello",
    AmiFamily.BOTTLEROCKET: '[settings.ntp]\ntime-servers = ["169.254.169.123"]\n',
    **dict.fromkeys(WINDOWS, 'Write-Host "hello"'),
}


@pytest.mark.parametrize("family", list(OWN))
def test_user_data_is_to_the_letter_what_it_was(family: AmiFamily) -> None:
    kind = "windows" if family.windows else family.value.lower()
    plain = user_data(node_class(family), FACTS, settings(DEFAULT_KUBELET))
    full = user_data(node_class(family, user_data=OWN[family]), FACTS, settings(FULL))

    assert plain == golden(f"{kind}.txt")
    assert full == golden(f"{kind}-full.txt")


def test_the_text_of_a_custom_image_is_left_as_it_is() -> None:
    custom = node_class(AmiFamily.CUSTOM, user_data="#!/usr/bin/env nix\nanything")

    assert user_data(custom, FACTS, settings(FULL)) == "#!/usr/bin/env nix\nanything"


@pytest.mark.parametrize("family", list(OWN))
def test_equal_settings_make_equal_text_in_whatever_order_they_come(family: AmiFamily) -> None:
    one = settings(a="1", b="2")
    other = replace(one, labels=dict(sorted(one.labels.items(), reverse=True)))

    assert user_data(node_class(family), FACTS, one) == user_data(node_class(family), FACTS, other)


@pytest.mark.parametrize("family", list(OWN))
def test_labels_that_a_kubelet_may_not_give_itself_are_left_out_everywhere(family: AmiFamily) -> None:
    text = user_data(node_class(family), FACTS, settings())

    assert "karpenter.sh/do-not-sync-taints" in text
    assert "karpenter.sh/unregistered" in text
    assert "kubernetes.io/arch" not in text
    assert "node.k8s.io/x" not in text


@pytest.mark.parametrize(
    ("of", "facts", "reason", "why"),
    [
        (node_class(), replace(FACTS, service_cidr=""), "ClusterCIDRNotFound", "range of the cluster's serv"),
        (
            node_class(user_data="x" * 16_000),
            FACTS,
            "UserDataSizeLimitExceeded",
            "bytes, of which EC2 takes 16384",
        ),
        (
            node_class(
                user_data='MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="B"\n\nno parts'
            ),
            FACTS,
            "UserDataInvalid",
            "its MIME is broken",
        ),
        (
            node_class(AmiFamily.BOTTLEROCKET, user_data="echo hello"),
            FACTS,
            "UserDataInvalid",
            "it is not TOML",
        ),
    ],
)
def test_a_class_whose_nodes_could_not_join_is_not_ready(
    of: NodeClass, facts: Any, reason: str, why: str
) -> None:
    with pytest.raises(NodeClassNotReadyError, match=why) as caught:
        user_data(of, facts, settings())

    assert caught.value.reason == reason
    assert str(caught.value).startswith("EC2NodeClass/default: ")


@pytest.mark.parametrize("family", [f for f in OWN if f is not AmiFamily.AL2023])
def test_what_user_data_cannot_be_made_of_says_so_of_the_node_class(family: AmiFamily) -> None:
    odd = settings(replace(FULL, cluster_dns=("kube-dns",)))

    with pytest.raises(
        NodeClassNotReadyError, match=r"spec\.userData: none can be made: 'kube-dns' does not appear"
    ):
        user_data(node_class(family), FACTS, odd)
