from __future__ import annotations

import pytest

from tests.adapters.api.builders import (
    node_class_tree,
    problem_of,
)

NODE_CLASSES = {
    "role and instance profile": (
        node_class_tree(instanceProfile="x"),
        "spec: needs exactly one of role and instanceProfile",
    ),
    "unknown family": (
        node_class_tree(amiSelectorTerms=[{"alias": "al2024@latest"}]),
        (
            'spec.amiSelectorTerms[0].alias: "al2024" is not one of'
            " al2, al2023, bottlerocket, windows2019, windows2022, windows2025"
        ),
    ),
    "alias beside other terms": (
        node_class_tree(amiSelectorTerms=[{"alias": "al2@latest"}, {"id": "ami-1"}]),
        "spec.amiSelectorTerms: an alias must be the only term",
    ),
    "alias of another family": (
        node_class_tree(amiFamily="AL2"),
        "spec.amiFamily: AL2 is not the family of the alias, AL2023",
    ),
    "no family": (
        node_class_tree(amiSelectorTerms=[{"id": "ami-1"}]),
        "spec.amiFamily: is missing: it is needed where no alias is given",
    ),
    "pinned Windows": (
        node_class_tree(amiSelectorTerms=[{"alias": "windows2022@v1"}]),
        (
            'spec.amiSelectorTerms[0].alias: "windows2022@v1" must be windows2022@latest:'
            " Windows has no other version"
        ),
    ),
    "id of another thing": (
        node_class_tree(subnetSelectorTerms=[{"id": "sg-1"}]),
        'spec.subnetSelectorTerms[0].id: "sg-1" is not a subnet\'s id (subnet-...)',
    ),
    "empty selector": (
        node_class_tree(subnetSelectorTerms=[]),
        "spec.subnetSelectorTerms: needs at least 1 item(s)",
    ),
    "term that selects by nothing": (
        node_class_tree(securityGroupSelectorTerms=[{}]),
        "spec.securityGroupSelectorTerms[0]: needs tags, id or name",
    ),
    "negative pods": (
        node_class_tree(kubelet={"maxPods": -1}),
        "spec.kubelet.maxPods: -1 must not be negative",
    ),
    "name for an address": (
        node_class_tree(kubelet={"clusterDNS": ["10.0.0.10", "kube-dns"]}),
        'spec.kubelet.clusterDNS[1]: "kube-dns" is not an IP address (such as 10.100.0.10)',
    ),
    "unknown reservation": (
        node_class_tree(kubelet={"kubeReserved": {"gpu": 1}}),
        "spec.kubelet.kubeReserved.gpu: is not one of cpu, ephemeral-storage, memory, pid",
    ),
    "threshold over everything": (
        node_class_tree(kubelet={"evictionHard": {"memory.available": "120%"}}),
        'spec.kubelet.evictionHard[memory.available]: "120%" is more than 100%',
    ),
    "grace period without threshold": (
        node_class_tree(kubelet={"evictionSoftGracePeriod": {"memory.available": "1m"}}),
        (
            "spec.kubelet.evictionSoft: memory.available must stand in evictionSoftGracePeriod too,"
            " and the other way round"
        ),
    ),
    "volume too large": (
        node_class_tree(blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "100T"}}]),
        'spec.blockDeviceMappings[0].ebs.volumeSize: "100T" is not between 1G and 64T',
    ),
    "volume without size": (
        node_class_tree(blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {}}]),
        "spec.blockDeviceMappings[0].ebs: needs volumeSize or snapshotID",
    ),
    "too many hops": (
        node_class_tree(metadataOptions={"httpPutResponseHopLimit": 65}),
        "spec.metadataOptions.httpPutResponseHopLimit: 65 is not between 1 and 64",
    ),
    "a tag of ours": (
        node_class_tree(tags={"kubernetes.io/cluster/demo": "owned"}),
        'spec.tags: "kubernetes.io/cluster/demo" is restricted: instances get it by themselves',
    ),
}


@pytest.mark.parametrize("case", sorted(NODE_CLASSES))
def test_a_bad_node_class_is_refused_in_one_line_with_field_and_problem(case: str) -> None:
    tree, line = NODE_CLASSES[case]

    assert problem_of(tree) == f"EC2NodeClass default: {line}"
