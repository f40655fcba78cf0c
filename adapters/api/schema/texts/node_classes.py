"""Texts of node classes, of both generations."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.aws.launch_options import BlockDeviceMappingModel, EbsModel, MetadataOptionsModel
from treenail.adapters.api.aws.v1_node_class import (
    ConnectionTrackingModel,
    CpuOptionsModel,
    EC2NodeClassModel,
    EC2NodeClassSpecModel,
    NetworkInterfaceModel,
    PlacementGroupSelectorModel,
)
from treenail.adapters.api.aws.v1_selectors import (
    AmiTermModel,
    CapacityReservationTermModel,
    SecurityGroupTermModel,
    SubnetTermModel,
)
from treenail.adapters.api.aws.v1alpha1_node_template import AWSNodeTemplateModel, AWSNodeTemplateSpecModel
from treenail.adapters.api.aws.v1alpha1_provider import ProviderModel
from treenail.adapters.api.kwok.v1alpha1_node_class import KWOKNodeClassModel, KWOKNodeClassSpecModel
from treenail.adapters.api.schema.texts.shared import Texts

_TAGS: Final = "Tags that it must have; the value * stands for any."
_USER_DATA: Final = "What an instance runs when it starts, merged with what its image family needs."
_MONITORING: Final = "Whether instances are monitored every minute, at a price."
_CONTEXT: Final = "EC2's reserved field in a fleet request; few accounts need it."

NODE_CLASSES: Final[Texts] = {
    EC2NodeClassModel: {"": "How instances are made for nodes on EC2.", "spec": "What is wanted."},
    EC2NodeClassSpecModel: {
        "": "What is wanted of the instances.",
        "subnetSelectorTerms": "The subnets that instances may be in: those of any of the terms.",
        "securityGroupSelectorTerms": "The security groups that instances are in: those of any of the terms.",
        "amiSelectorTerms": "The images that instances may start from: those of any of the terms.",
        "amiFamily": "What the images are, and so how they are set up. An alias tells it too.",
        "role": "The IAM role of the nodes.",
        "instanceProfile": "The instance profile of the nodes, in place of a role.",
        "userData": _USER_DATA,
        "context": _CONTEXT,
        "tags": "Tags that everything gets that is made in EC2.",
        "blockDeviceMappings": "The volumes of an instance.",
        "metadataOptions": "Access to instance metadata. Left out: enabled, IMDSv2 only, for one hop.",
        "kubelet": "Settings of the nodes' kubelet.",
        "instanceStorePolicy": "What is done with disks within the instance. RAID0 makes them one, for pods.",
        "detailedMonitoring": _MONITORING,
        "associatePublicIPAddress": "Whether instances get a public address. As the subnet says if left out.",
        "capacityReservationSelectorTerms": "The capacity reservations to use: those of any of the terms.",
        "placementGroupSelector": "The placement group that instances are in.",
        "ipPrefixCount": "How many prefixes of addresses the primary network interface gets.",
        "networkInterfaces": "The network interfaces of an instance.",
        "connectionTracking": "How long idle connections are tracked.",
        "cpuOptions": "Options of an instance's CPU.",
    },
    SubnetTermModel: {"tags": _TAGS, "id": "The subnet's id."},
    SecurityGroupTermModel: {
        "tags": _TAGS,
        "id": "The security group's id.",
        "name": "The security group's name, which is not its tag Name.",
    },
    AmiTermModel: {
        "tags": _TAGS,
        "id": "The image's id.",
        "name": "The image's name, which is not its tag Name.",
        "owner": "Who owns the image: an account, self or amazon.",
        "alias": "A family of images and a version of it, such as al2023@latest.",
        "ssmParameter": "A parameter of SSM that holds the image's id.",
    },
    CapacityReservationTermModel: {
        "tags": _TAGS,
        "id": "The reservation's id.",
        "ownerID": "The account that owns the reservation.",
        "instanceMatchCriteria": "Which instances it takes: all that fit, or those that name it.",
    },
    PlacementGroupSelectorModel: {"name": "The group's name.", "id": "The group's id."},
    NetworkInterfaceModel: {
        "networkCardIndex": "The network card that it is of.",
        "deviceIndex": "Its place on the network card.",
        "interfaceType": "Whether it carries IP, or EFA only.",
    },
    ConnectionTrackingModel: {
        "tcpEstablishedTimeout": "For TCP connections that are established.",
        "udpStreamTimeout": "For UDP flows with more than one request and response.",
        "udpTimeout": "For UDP flows in one direction, or with one request and response.",
    },
    CpuOptionsModel: {"nestedVirtualization": "Whether virtual machines may run within the instance."},
    BlockDeviceMappingModel: {
        "deviceName": "The device's name, such as /dev/xvda.",
        "rootVolume": "Whether the kubelet's and the container runtime's files are on this one.",
        "ebs": "The EBS volume that it is.",
    },
    EbsModel: {
        "deleteOnTermination": "Whether the volume goes with its instance.",
        "encrypted": "Whether the volume is encrypted.",
        "iops": "Operations a second.",
        "throughput": "MiB a second, for gp3.",
        "kmsKeyID": "The key to encrypt it with.",
        "snapshotID": "The snapshot that it is made from.",
        "volumeInitializationRate": "MiB a second at which the snapshot is loaded.",
        "volumeSize": "Its size, from 1G to 64T.",
        "volumeType": "The type of the volume.",
    },
    MetadataOptionsModel: {
        "httpEndpoint": "Whether it can be read at all.",
        "httpProtocolIPv6": "Whether it can be read over IPv6.",
        "httpPutResponseHopLimit": "How many network hops an answer may take.",
        "httpTokens": "Whether a token is needed, as IMDSv2 demands.",
    },
    KWOKNodeClassModel: {"": "How nodes are made that KWOK plays.", "spec": "What is wanted."},
    KWOKNodeClassSpecModel: {
        "": "What is wanted of the nodes.",
        "nodeRegistrationDelay": "How long Karpenter waits before it makes the node.",
    },
    AWSNodeTemplateModel: {
        "": "How instances are made for nodes on EC2, in the words of v1alpha1.",
        "spec": "What is wanted.",
    },
    ProviderModel: {
        "apiVersion": "Allowed, and says nothing.",
        "kind": "Allowed, and says nothing.",
        "amiFamily": "What the images are, and so how they are set up. AL2 where it is left out.",
        "context": _CONTEXT,
        "instanceProfile": "The instance profile of the nodes.",
        "subnetSelector": "Tags, or aws-ids, of the subnets that instances may be in.",
        "securityGroupSelector": "Tags, or aws-ids, of the security groups that instances are in.",
        "tags": "Tags that everything gets that is made in EC2.",
        "launchTemplate": "A launch template of yours, which then says most of this.",
        "metadataOptions": "Access to instance metadata. Left out: enabled, IMDSv2 only, for two hops.",
        "blockDeviceMappings": "The volumes of an instance.",
    },
    AWSNodeTemplateSpecModel: {
        "": "What is wanted of the instances.",
        "userData": _USER_DATA,
        "amiSelector": "Tags, aws-ids, names or owners of the images that instances may start from.",
        "detailedMonitoring": _MONITORING,
    },
}
