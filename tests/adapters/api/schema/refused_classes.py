"""Node classes, and what is of the old generation, that break a rule, and the field that must be named."""

from __future__ import annotations

from typing import Final

from tests.adapters.api.builders import node_class_tree, provisioner_tree
from tests.adapters.api.schema.trees import (
    PROVIDER,
    TAGGED,
    TAINT,
    TEMPLATE,
    Tree,
    asking,
    kubelet,
    old,
    only,
    template,
    thing,
    volume,
)


def interfaces(*each: tuple[int, int, str]) -> Tree:
    """Return a node class with these: the card's index, the device's, and the type."""
    keys = ("networkCardIndex", "deviceIndex", "interfaceType")
    return node_class_tree(networkInterfaces=[dict(zip(keys, one, strict=True)) for one in each])


_EBS: Final = "spec.blockDeviceMappings[0].ebs"

REFUSED_CLASSES: Final[dict[str, tuple[Tree, str]]] = {
    # EC2NodeClass
    "neither role nor profile": (
        {**node_class_tree(), "spec": {k: v for k, v in node_class_tree()["spec"].items() if k != "role"}},
        "spec",
    ),
    "role and profile": (node_class_tree(instanceProfile="a"), "spec"),
    "empty role": (node_class_tree(role=""), "spec.role"),
    "no subnets": (node_class_tree(subnetSelectorTerms=[]), "spec.subnetSelectorTerms"),
    "31 subnets": (node_class_tree(subnetSelectorTerms=TAGGED * 31), "spec.subnetSelectorTerms"),
    "subnets by nothing": (
        node_class_tree(subnetSelectorTerms=[{"tags": {}}]),
        "spec.subnetSelectorTerms[0]",
    ),
    "subnets by id and tags": (
        node_class_tree(subnetSelectorTerms=[{"id": "subnet-1", "tags": {"a": "b"}}]),
        "spec.subnetSelectorTerms",
    ),
    "empty tag": (
        node_class_tree(subnetSelectorTerms=[{"tags": {"a": ""}}]),
        "spec.subnetSelectorTerms[0].tags",
    ),
    "21 tags": (
        node_class_tree(subnetSelectorTerms=[{"tags": {str(n): "a" for n in range(21)}}]),
        "spec.subnetSelectorTerms[0].tags",
    ),
    "groups by nothing": (
        node_class_tree(securityGroupSelectorTerms=[{"name": ""}]),
        "spec.securityGroupSelectorTerms[0]",
    ),
    "groups by id and name": (
        node_class_tree(securityGroupSelectorTerms=[{"id": "sg-1", "name": "a"}]),
        "spec.securityGroupSelectorTerms",
    ),
    "groups by name and tags": (
        node_class_tree(securityGroupSelectorTerms=[{"name": "a", "tags": {"a": "b"}}]),
        "spec.securityGroupSelectorTerms",
    ),
    "id of no group": (
        node_class_tree(securityGroupSelectorTerms=[{"id": "subnet-1"}]),
        "spec.securityGroupSelectorTerms[0].id",
    ),
    "images by owner alone": (
        node_class_tree(amiFamily="AL2", amiSelectorTerms=[{"owner": "self"}]),
        "spec.amiSelectorTerms[0]",
    ),
    "images by id and name": (
        node_class_tree(amiFamily="AL2", amiSelectorTerms=[{"id": "ami-1", "name": "a"}]),
        "spec.amiSelectorTerms[0].id",
    ),
    "alias and owner": (
        node_class_tree(amiSelectorTerms=[{"alias": "al2@latest", "owner": "self"}]),
        "spec.amiSelectorTerms[0].alias",
    ),
    "alias beside a term": (
        node_class_tree(amiSelectorTerms=[{"alias": "al2@latest"}, {"id": "ami-1"}]),
        "spec.amiSelectorTerms",
    ),
    "alias without version": (
        node_class_tree(amiSelectorTerms=[{"alias": "al2"}]),
        "spec.amiSelectorTerms[0].alias",
    ),
    "alias of no family": (
        node_class_tree(amiSelectorTerms=[{"alias": "ubuntu@latest"}]),
        "spec.amiSelectorTerms[0].alias",
    ),
    "alias of old Windows": (
        node_class_tree(amiSelectorTerms=[{"alias": "windows2019@v1@latest"}]),
        "spec.amiSelectorTerms[0].alias",
    ),
    "another family than the alias": (
        node_class_tree(amiFamily="AL2", amiSelectorTerms=[{"alias": "al2023@latest"}]),
        "spec.amiFamily",
    ),
    "neither family nor alias": (node_class_tree(amiSelectorTerms=[{"id": "ami-1"}]), "spec.amiFamily"),
    "tag of a cluster": (node_class_tree(tags={"kubernetes.io/cluster": "a"}), "spec.tags"),
    "tag of the pool": (node_class_tree(tags={"karpenter.sh/nodepool": "a"}), "spec.tags"),
    "tag of a launch": (node_class_tree(tags={"treenail.sh/launch": "a"}), "spec.tags"),
    "tag without key": (node_class_tree(tags={"": "a"}), "spec.tags"),
    "two roots": (
        node_class_tree(blockDeviceMappings=[{"rootVolume": True, "ebs": {"volumeSize": "5G"}}] * 2),
        "spec.blockDeviceMappings",
    ),
    "device without volume": (
        node_class_tree(blockDeviceMappings=[{"deviceName": "/dev/xvda"}]),
        "spec.blockDeviceMappings[0].ebs",
    ),
    "volume of no size": (node_class_tree(blockDeviceMappings=[{"ebs": {}}]), _EBS),
    "volume under 1G": (volume(volumeSize="999M"), f"{_EBS}.volumeSize"),
    "volume over 64T": (volume(volumeSize="64Ti"), f"{_EBS}.volumeSize"),
    "volume of bytes": (volume(volumeSize=100), f"{_EBS}.volumeSize"),
    "volume of text": (volume(volumeSize="big"), f"{_EBS}.volumeSize"),
    "unknown type of volume": (volume(volumeType="gp4"), f"{_EBS}.volumeType"),
    "rate without snapshot": (volume(volumeInitializationRate=100), f"{_EBS}.volumeInitializationRate"),
    "rate of 99": (volume(volumeInitializationRate=99, snapshotID="a"), f"{_EBS}.volumeInitializationRate"),
    "no operations": (volume(iops=0), f"{_EBS}.iops"),
    "unknown signal": (kubelet(evictionHard={"memory": "5%"}), "spec.kubelet.evictionHard"),
    "more than everything": (
        kubelet(evictionHard={"pid.available": "100.1%"}),
        "spec.kubelet.evictionHard.pid.available",
    ),
    "threshold that is none": (
        kubelet(evictionHard={"pid.available": "few"}),
        "spec.kubelet.evictionHard.pid.available",
    ),
    "threshold without period": (
        kubelet(evictionSoft={"pid.available": "5%"}),
        "spec.kubelet.evictionSoft",
    ),
    "period without threshold": (
        kubelet(evictionSoftGracePeriod={"pid.available": "5m"}),
        "spec.kubelet.evictionSoftGracePeriod",
    ),
    "period that is none": (
        kubelet(evictionSoft={"pid.available": "5%"}, evictionSoftGracePeriod={"pid.available": "5"}),
        "spec.kubelet.evictionSoftGracePeriod.pid.available",
    ),
    "unknown reservation": (kubelet(kubeReserved={"pods": "5"}), "spec.kubelet.kubeReserved"),
    "negative reservation": (kubelet(systemReserved={"cpu": "-5m"}), "spec.kubelet.systemReserved.cpu"),
    "images kept and removed": (
        kubelet(imageGCHighThresholdPercent=80, imageGCLowThresholdPercent=80),
        "spec.kubelet.imageGCHighThresholdPercent",
    ),
    "more than all images": (
        kubelet(imageGCHighThresholdPercent=101),
        "spec.kubelet.imageGCHighThresholdPercent",
    ),
    "no pods at all": (kubelet(maxPods=-1), "spec.kubelet.maxPods"),
    "65 hops": (
        node_class_tree(metadataOptions={"httpPutResponseHopLimit": 65}),
        "spec.metadataOptions.httpPutResponseHopLimit",
    ),
    "unknown policy of disks": (node_class_tree(instanceStorePolicy="RAID1"), "spec.instanceStorePolicy"),
    "owner of no account": (
        node_class_tree(capacityReservationSelectorTerms=[{"ownerID": "1"}]),
        "spec.capacityReservationSelectorTerms[0].ownerID",
    ),
    "interface of no kind": (
        node_class_tree(
            networkInterfaces=[{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "efa"}]
        ),
        "spec.networkInterfaces[0].interfaceType",
    ),
    "no first interface": (interfaces((0, 0, "efa-only"), (0, 1, "interface")), "spec.networkInterfaces"),
    "interface twice": (
        interfaces((0, 0, "interface"), (1, 1, "interface"), (1, 1, "efa-only")),
        "spec.networkInterfaces",
    ),
    "two fabric interfaces on a card": (
        interfaces((0, 0, "interface"), (1, 1, "efa-only"), (1, 2, "efa-only")),
        "spec.networkInterfaces",
    ),
    "short tracking": (
        node_class_tree(connectionTracking={"udpTimeout": 29}),
        "spec.connectionTracking.udpTimeout",
    ),
    "tracking of nothing": (node_class_tree(connectionTracking={}), "spec.connectionTracking"),
    "group by nothing": (node_class_tree(placementGroupSelector={}), "spec.placementGroupSelector"),
    "group twice": (
        node_class_tree(placementGroupSelector={"name": "a", "id": "pg-1"}),
        "spec.placementGroupSelector",
    ),
    # Provisioner and AWSNodeTemplate
    "provisioner of nothing": ({k: v for k, v in provisioner_tree().items() if k != "spec"}, "spec"),
    "neither provider": (only(provisioner_tree()), "spec"),
    "two providers": (provisioner_tree(provider=PROVIDER), "spec.providerRef"),
    "provider of a foreign kind": (
        provisioner_tree(providerRef={"name": "a", "apiVersion": "apps/v1", "kind": "AWSNodeTemplate"}),
        "spec.providerRef",
    ),
    "time beyond Go": (provisioner_tree(ttlSecondsUntilExpired=10**10), "spec.ttlSecondsUntilExpired"),
    "time below zero": (provisioner_tree(ttlSecondsAfterEmpty=-1), "spec.ttlSecondsAfterEmpty"),
    "empty and consolidated": (
        provisioner_tree(ttlSecondsAfterEmpty=1, consolidation={"enabled": True}),
        "spec.ttlSecondsAfterEmpty",
    ),
    "old label of Kubernetes": (provisioner_tree(labels={"a.k8s.io/b": "c"}), "spec.labels"),
    "old key of Kubernetes": (
        provisioner_tree(**asking("kubernetes.io/b", "Exists")),
        "spec.requirements[0].key",
    ),
    "old taint twice": (provisioner_tree(taints=[TAINT, TAINT]), "spec.taints"),
    "old limit below zero": (
        provisioner_tree(limits={"resources": {"cpu": -1}}),
        "spec.limits.resources.cpu",
    ),
    "old threshold": (
        provisioner_tree(kubeletConfiguration={"evictionHard": {"pid.available": "few"}}),
        "spec.kubeletConfiguration.evictionHard.pid.available",
    ),
    "custom images within": (old(amiFamily="Custom"), "spec.provider.amiFamily"),
    "provider without subnets": (old(subnetSelector={}), "spec.provider.subnetSelector"),
    "provider without groups": (old(securityGroupSelector={}), "spec.provider.securityGroupSelector"),
    "family beside a template": (
        only(provisioner_tree(), provider={**TEMPLATE, "amiFamily": "AL2"}),
        "spec.provider.amiFamily",
    ),
    "custom without images": (template(amiFamily="Custom"), "spec.amiSelector"),
    "unknown old family": (template(amiFamily="AL2023"), "spec.amiFamily"),
    "user data beside a template": (only(template(), **TEMPLATE, userData="a"), "spec.userData"),
    "images beside a template": (only(template(), **TEMPLATE, amiSelector={"a": "b"}), "spec.amiSelector"),
    "groups beside a template": (
        only(template(), **TEMPLATE, securityGroupSelector={"a": "b"}),
        "spec.securityGroupSelector",
    ),
    "volumes beside a template": (
        only(template(), **TEMPLATE, blockDeviceMappings=[{"ebs": {"volumeSize": "1G"}}]),
        "spec.blockDeviceMappings",
    ),
    "metadata beside a template": (only(template(), **TEMPLATE, metadataOptions={}), "spec.metadataOptions"),
    "empty value of a selector": (template(subnetSelector={"a": ""}), "spec.subnetSelector.a"),
    "empty item of a selector": (template(subnetSelector={"a": "b,,c"}), "spec.subnetSelector.a"),
    "empty key of a selector": (template(subnetSelector={"": "b"}), "spec.subnetSelector"),
    "ids beside tags": (template(subnetSelector={"aws-ids": "subnet-1", "a": "b"}), "spec.subnetSelector"),
    "ids of other things": (template(subnetSelector={"aws-ids": "subnet-1, sg-1"}), "spec.subnetSelector"),
    "ids of no groups": (
        template(securityGroupSelector={"aws::ids": "subnet-1"}),
        "spec.securityGroupSelector",
    ),
    "ids of no images": (template(amiSelector={"aws-ids": "sg-1", "a": "b"}), "spec.amiSelector"),
    "other ids of no subnets": (template(subnetSelector={"aws::ids": "a"}), "spec.subnetSelector"),
    "other ids of no groups": (
        template(securityGroupSelector={"aws-ids": "a"}),
        "spec.securityGroupSelector",
    ),
    "other ids of no images": (template(amiSelector={"aws::ids": "ami-1,a"}), "spec.amiSelector"),
    "old tag of a cluster": (template(tags={"kubernetes.io/cluster/a": "b"}), "spec.tags"),
    "old tag of the pool": (template(tags={"karpenter.sh/provisioner-name": "b"}), "spec.tags"),
    # KWOKNodeClass
    "delay that is none": (
        thing("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass", {"nodeRegistrationDelay": "soon"}),
        "spec.nodeRegistrationDelay",
    ),
}
