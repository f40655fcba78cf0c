from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.ec2.launch.kubelets import FULL, PARTS
from tests.adapters.ec2.launch.orders import FACTS, node_class, settings
from tests.adapters.ec2.launch.readers import node_config, parts
from treenail.adapters.ec2.launch.user_data import user_data
from treenail.domain.model.node_classes import DEFAULT_KUBELET


def test_nodeadm_is_told_of_the_cluster_and_of_all_that_is_set() -> None:
    config = node_config(user_data(node_class(), FACTS, settings(FULL)))

    assert (config["apiVersion"], config["kind"]) == ("node.eks.aws/v1alpha1", "NodeConfig")
    assert config["spec"] == {
        "cluster": {
            "name": "demo",
            "apiServerEndpoint": "https://api.example.com",
            "certificateAuthority": "Q0E=",
            "cidr": "10.100.0.0/16",
        },
        "kubelet": {
            "config": {
                "maxPods": 29,
                "registerWithTaints": [
                    {"key": "example.com/agent-not-ready", "effect": "NoSchedule", "value": "yes"},
                    {"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
                ],
                "clusterDNS": ["10.100.0.53"],
                "podsPerCore": 10,
                "systemReserved": {"cpu": "100m", "memory": "100Mi", "ephemeral-storage": "1Gi"},
                "kubeReserved": {"cpu": "200m"},
                "evictionHard": {"memory.available": "5%", "nodefs.available": "1Gi"},
                "evictionSoft": {"memory.available": "10%"},
                "evictionSoftGracePeriod": {"memory.available": "1m30s"},
                "evictionMaxPodGracePeriod": 60,
                "imageGCHighThresholdPercent": 85,
                "imageGCLowThresholdPercent": 80,
                "cpuCFSQuota": False,
            },
            "flags": ["--node-labels=karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=web,team=a"],
        },
    }


def test_what_nobody_set_is_left_to_the_image() -> None:
    kubelet = node_config(user_data(node_class(), FACTS, settings(DEFAULT_KUBELET)))["spec"]["kubelet"]

    assert set(kubelet["config"]) == {"maxPods", "registerWithTaints"}


def test_local_disks_are_joined_where_the_class_says_so() -> None:
    config = node_config(user_data(node_class(instance_store_raid0=True), FACTS, settings()))

    assert config["spec"]["instance"] == {"localStorage": {"strategy": "RAID0"}}


def test_of_ipv6_the_range_of_services_is_enough() -> None:
    config = node_config(user_data(node_class(), replace(FACTS, service_cidr="fd12::/108"), settings()))

    assert config["spec"]["cluster"]["cidr"] == "fd12::/108"


def test_parts_of_the_user_come_before_ours_with_their_headers() -> None:
    text = user_data(node_class(user_data=PARTS), FACTS, settings())

    (first, second, _ours) = parts(text)
    assert first == ("text/x-shellscript", '#!/bin/bash\necho "hello"\n')
    assert second == ("text/cloud-config", "packages: [htop]\n")
    assert 'filename="hello.sh"' in text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("#!/bin/bash\necho hello", "text/x-shellscript"),
        ("kind: NodeConfig\nspec: {}", "application/node.eks.aws"),
        ("echo: [", "text/x-shellscript"),
        ("x: 2024-02-30\n", "text/x-shellscript"),
        ("[" * 5000, "text/x-shellscript"),
        ("Content-Type: text/cloud-config\n\npackages: [htop]", "text/cloud-config"),
    ],
)
def test_plain_text_of_the_user_is_a_part_of_its_kind(text: str, kind: str) -> None:
    (theirs, _ours) = parts(user_data(node_class(user_data=text), FACTS, settings()))

    assert theirs[0] == kind
    assert theirs[1].strip() == text.rpartition("\n\n")[-1].strip()
