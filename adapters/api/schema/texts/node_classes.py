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
_USER_DATA: Final = (
    "A script or settings for the start of an instance, merged with those of its image family."
)
_MONITORING: Final = "Monitoring of instances every minute, at a price."
_CONTEXT: Final = "EC2's reserved field in a fleet request; few accounts need it."

NODE_CLASSES: Final[Texts] = {
    EC2NodeClassModel: {
        "": "Settings of the instances that nodes on EC2 run on.",
        "spec": "The desired state.",
    },
    EC2NodeClassSpecModel: {
        "": "The desired instances.",
        "subnetSelectorTerms": "The subnets that instances may be in: those of any of the terms.",
        "securityGroupSelectorTerms": "The security groups that instances are in: those of any of the terms.",
        "amiSelectorTerms": "The images that instances may start from: those of any of the terms.",
        "amiFamily": "The family of the images, which decides how they are set up. An alias implies it.",
        "role": "The IAM role of the nodes.",
        "instanceProfile": "The instance profile of the nodes, in place of a role.",
        "userData": _USER_DATA,
        "context": _CONTEXT,
        "tags": "Tags that everything gets that is made in EC2.",
        "blockDeviceMappings": "The volumes of an instance.",
        "metadataOptions": "Access to instance metadata. Left out: enabled, IMDSv2 only, for one hop.",
        "kubelet": "Settings of the nodes' kubelet.",
        "instanceStorePolicy": "The use of disks within the instance. RAID0 makes them one, for pods.",
        "detailedMonitoring": _MONITORING,
        "associatePublicIPAddress": "A public address for instances, or none. As the subnet says if unset.",
        "capacityReservationSelectorTerms": "The capacity reservations to use: those of any of the terms.",
        "placementGroupSelector": "The placement group that instances are in.",
        "ipPrefixCount": "The number of address prefixes that the primary network interface gets.",
        "networkInterfaces": "The network interfaces of an instance.",
        "connectionTracking": "Timeouts after which idle connections are not tracked any more, in seconds.",
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
        "owner": "The owner of the image: an account, self or amazon.",
        "alias": "A family of images and a version of it, such as al2023@latest.",
        "ssmParameter": "A parameter of SSM that holds the image's id.",
    },
    CapacityReservationTermModel: {
        "tags": _TAGS,
        "id": "The reservation's id.",
        "ownerID": "The account that owns the reservation.",
        "instanceMatchCriteria": "The instances that run in it: all that fit, or only those that name it.",
    },
    PlacementGroupSelectorModel: {"name": "The group's name.", "id": "The group's id."},
    NetworkInterfaceModel: {
        "networkCardIndex": "The network card that it is of.",
        "deviceIndex": "Its place on the network card.",
        "interfaceType": "The traffic of the interface: IP, or EFA only.",
    },
    ConnectionTrackingModel: {
        "tcpEstablishedTimeout": "The timeout of established TCP connections.",
        "udpStreamTimeout": "The timeout of UDP flows with more than one request and response.",
        "udpTimeout": "The timeout of UDP flows in one direction, or with one request and response.",
    },
    CpuOptionsModel: {"nestedVirtualization": "Support for virtual machines within the instance."},
    BlockDeviceMappingModel: {
        "deviceName": "The device's name, such as /dev/xvda.",
        "rootVolume": "Marks the volume that the files of kubelet and container runtime are on.",
        "ebs": "The EBS volume that it is.",
    },
    EbsModel: {
        "deleteOnTermination": "Deletes the volume with its instance.",
        "encrypted": "Encrypts the volume.",
        "iops": "Operations a second.",
        "throughput": "MiB a second, for gp3.",
        "kmsKeyID": "The key to encrypt it with.",
        "snapshotID": "The snapshot that it is made from.",
        "volumeInitializationRate": "MiB a second at which the snapshot is loaded.",
        "volumeSize": "Its size, from 1G to 64T.",
        "volumeType": "The type of the volume.",
    },
    MetadataOptionsModel: {
        "httpEndpoint": "Access to the metadata, on or off.",
        "httpProtocolIPv6": "Access to the metadata over IPv6, on or off.",
        "httpPutResponseHopLimit": "The most network hops that an answer may take.",
        "httpTokens": "Tokens, as IMDSv2 demands them: required, or optional.",
    },
    KWOKNodeClassModel: {"": "Settings of nodes that KWOK simulates.", "spec": "The desired state."},
    KWOKNodeClassSpecModel: {
        "": "The desired nodes.",
        "nodeRegistrationDelay": "A delay before Karpenter makes the node.",
    },
    AWSNodeTemplateModel: {
        "": "Settings of the instances that nodes on EC2 run on, as v1alpha1 has them.",
        "spec": "The desired state.",
    },
    ProviderModel: {
        "apiVersion": "Allowed, and says nothing.",
        "kind": "Allowed, and says nothing.",
        "amiFamily": "The family of the images, which decides how they are set up. AL2 where it is left out.",
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
        "": "The desired instances.",
        "userData": _USER_DATA,
        "amiSelector": "Tags, aws-ids, names or owners of the images that instances may start from.",
        "detailedMonitoring": _MONITORING,
    },
}
