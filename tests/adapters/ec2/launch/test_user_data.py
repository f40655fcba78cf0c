from __future__ import annotations

import shlex
from dataclasses import replace
from email import message_from_string
from typing import Any

import pytest
import yaml

from tests.adapters.ec2.launch.orders import FACTS, node_class, settings
from treenail.adapters.ec2.launch.user_data import user_data
from treenail.domain.node_classes import AmiFamily, Kubelet, NodeClass
from treenail.domain.ports import NodeClassNotReadyError
from treenail.domain.resources import Resources

FULL = Kubelet(
    max_pods=58,
    pods_per_core=10,
    system_reserved=Resources.parse({"cpu": "100m", "memory": "100Mi"}),
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
PARTS = """MIME-Version: 1.0
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


def parts(text: str) -> list[tuple[str, str]]:
    """Return the parts of user data as cloud-init reads them: type and text."""
    message = message_from_string(text)
    assert not message.defects
    return [(part.get_content_type(), str(part.get_payload())) for part in message.walk()][1:]


def node_config(of: NodeClass, kubelet: Kubelet = FULL) -> dict[str, Any]:
    kind, text = parts(user_data(of, FACTS, settings(kubelet)))[-1]
    assert kind == "application/node.eks.aws"
    return dict(yaml.safe_load(text))


def bootstrap(of: NodeClass, kubelet: Kubelet = FULL) -> dict[str, str]:
    """Return the options that bootstrap.sh is called with, by name."""
    kind, text = parts(user_data(of, FACTS, settings(kubelet)))[-1]
    assert kind == "text/x-shellscript"
    (call,) = (shlex.split(line) for line in text.splitlines() if line.startswith("/etc/eks"))
    assert call[:2] == ["/etc/eks/bootstrap.sh", "demo"]
    return dict(zip(call[2::2], call[3::2], strict=True))


def test_nodeadm_is_told_of_the_cluster_and_of_all_that_is_set() -> None:
    config = node_config(node_class())

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
                "systemReserved": {"cpu": "100m", "memory": "100Mi"},
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
    kubelet = node_config(node_class(), Kubelet())["spec"]["kubelet"]

    assert set(kubelet["config"]) == {"maxPods", "registerWithTaints"}
    assert set(bootstrap(node_class(AmiFamily.AL2), Kubelet())) == {
        "--apiserver-endpoint",
        "--b64-cluster-ca",
        "--dns-cluster-ip",
        "--use-max-pods",
        "--kubelet-extra-args",
    }


def test_local_disks_are_joined_where_the_class_says_so() -> None:
    assert node_config(node_class(instance_store_raid0=True))["spec"]["instance"] == {
        "localStorage": {"strategy": "RAID0"}
    }
    assert bootstrap(node_class(AmiFamily.AL2, instance_store_raid0=True))["--local-disks"] == "raid0"


@pytest.mark.parametrize("family", [AmiFamily.AL2, AmiFamily.UBUNTU])
def test_bootstrap_is_told_of_the_cluster_and_of_all_that_is_set(family: AmiFamily) -> None:
    assert bootstrap(node_class(family)) == {
        "--apiserver-endpoint": "https://api.example.com",
        "--b64-cluster-ca": "Q0E=",
        "--dns-cluster-ip": "10.100.0.53",
        "--container-runtime": "containerd",
        "--use-max-pods": "false",
        "--kubelet-extra-args": (
            "--node-labels=karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=web,team=a "
            "--register-with-taints=example.com/agent-not-ready=yes:NoSchedule,"
            "karpenter.sh/unregistered:NoExecute "
            "--max-pods=29 --pods-per-core=10 --system-reserved=cpu=100m,memory=100Mi "
            "--kube-reserved=cpu=200m "
            "--eviction-hard=memory.available<5%,nodefs.available<1Gi --eviction-soft=memory.available<10% "
            "--eviction-soft-grace-period=memory.available=1m30s --eviction-max-pod-grace-period=60 "
            "--image-gc-high-threshold=85 --image-gc-low-threshold=80 --cpu-cfs-quota=false"
        ),
    }


@pytest.mark.parametrize(
    ("cidr", "said"),
    [
        ("10.100.0.0/16", {"--dns-cluster-ip": "10.100.0.10"}),
        ("fd12::/108", {"--ip-family": "ipv6", "--dns-cluster-ip": "fd12::a"}),
        ("", {}),
    ],
)
def test_bootstrap_is_told_of_the_dns_that_eks_gives_a_cluster(cidr: str, said: dict[str, str]) -> None:
    text = user_data(node_class(AmiFamily.AL2), replace(FACTS, service_cidr=cidr), settings())

    words = shlex.split(next(line for line in text.splitlines() if line.startswith("/etc/eks")))[2:]
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert {key: value for key, value in options.items() if "dns" in key or "family" in key} == said


def test_the_name_of_a_cluster_is_no_shell_command() -> None:
    text = user_data(node_class(AmiFamily.AL2), replace(FACTS, name="a; rm -rf /"), settings())

    assert "/etc/eks/bootstrap.sh 'a; rm -rf /' --apiserver" in text


@pytest.mark.parametrize("family", [AmiFamily.AL2, AmiFamily.AL2023])
def test_parts_of_the_user_come_before_ours_with_their_headers(family: AmiFamily) -> None:
    text = user_data(node_class(family, user_data=PARTS), FACTS, settings())

    (first, second, _ours) = parts(text)
    assert first == ("text/x-shellscript", '#!/bin/bash\necho "hello"\n')
    assert second == ("text/cloud-config", "packages: [htop]\n")
    assert 'filename="hello.sh"' in text


@pytest.mark.parametrize(
    ("family", "text", "kind"),
    [
        (AmiFamily.AL2, "#!/bin/bash\necho hello", "text/x-shellscript"),
        (AmiFamily.AL2023, "#!/bin/bash\necho hello", "text/x-shellscript"),
        (AmiFamily.AL2023, "kind: NodeConfig\nspec: {}", "application/node.eks.aws"),
        (AmiFamily.AL2, "kind: NodeConfig\nspec: {}", "text/x-shellscript"),
        (AmiFamily.AL2023, "echo: [", "text/x-shellscript"),
        (AmiFamily.AL2, "Content-Type: text/cloud-config\n\npackages: [htop]", "text/cloud-config"),
    ],
)
def test_plain_text_of_the_user_is_a_part_of_its_kind(family: AmiFamily, text: str, kind: str) -> None:
    (theirs, _ours) = parts(user_data(node_class(family, user_data=text), FACTS, settings()))

    assert theirs[0] == kind
    assert theirs[1].strip() == text.rpartition("\n\n")[-1]


def test_the_text_of_a_custom_image_is_left_as_it_is() -> None:
    custom = node_class(AmiFamily.CUSTOM, user_data="#!/usr/bin/env nix\nanything")

    assert user_data(custom, FACTS, settings()) == "#!/usr/bin/env nix\nanything"


def test_equal_settings_make_equal_text_in_whatever_order_they_come() -> None:
    one = settings(a="1", b="2")
    other = replace(one, labels=dict(sorted(one.labels.items(), reverse=True)))

    assert user_data(node_class(), FACTS, one) == user_data(node_class(), FACTS, other)


@pytest.mark.parametrize(
    ("of", "facts", "why"),
    [
        (node_class(AmiFamily.BOTTLEROCKET), FACTS, "family Bottlerocket cannot be launched yet"),
        (node_class(AmiFamily.WINDOWS2022), FACTS, "family Windows2022 cannot be launched yet"),
        (node_class(), replace(FACTS, service_cidr=""), "range of the cluster's services"),
        (node_class(user_data="x" * 16_000), FACTS, "bytes long, of which EC2 takes 16384"),
        (
            node_class(
                user_data='MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="B"\n\nno parts'
            ),
            FACTS,
            "its MIME is broken",
        ),
    ],
)
def test_a_class_whose_nodes_could_not_join_is_not_ready(of: NodeClass, facts: Any, why: str) -> None:
    with pytest.raises(NodeClassNotReadyError, match=why):
        user_data(of, facts, settings())


@pytest.mark.parametrize("text", ["x: 2024-02-30\n", "[" * 5000])
def test_user_data_that_is_no_sound_yaml_is_a_script(text: str) -> None:
    [(kind, said), _] = parts(user_data(node_class(user_data=text), FACTS, settings()))

    assert (kind, said.strip()) == ("text/x-shellscript", text.strip())


@pytest.mark.parametrize("family", [AmiFamily.AL2, AmiFamily.UBUNTU])
def test_what_user_data_cannot_be_made_of_says_so_of_the_node_class(family: AmiFamily) -> None:
    odd = settings(Kubelet(cluster_dns=("kube-dns",)))

    with pytest.raises(NodeClassNotReadyError, match="user data cannot be made: 'kube-dns' does not appear"):
        user_data(node_class(family), FACTS, odd)
