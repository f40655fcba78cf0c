"""EC2NodeClasses that break a rule, and the field that must be named. Reading refuses them too."""

from __future__ import annotations

from typing import Final

from tests.adapters.api.builders import node_class_tree
from tests.adapters.api.schema.trees import TAGGED, Refused, Tree, kubelet, volume


def interfaces(*each: tuple[int, int, str]) -> Tree:
    """Return a node class with these: the card's index, the device's, and the type."""
    keys = ("networkCardIndex", "deviceIndex", "interfaceType")
    return node_class_tree(networkInterfaces=[dict(zip(keys, one, strict=True)) for one in each])


_EBS: Final = "spec.blockDeviceMappings[0].ebs"

REFUSED_CLASSES: Final[dict[str, Refused]] = {
    "neither role nor profile": Refused(
        {**node_class_tree(), "spec": {k: v for k, v in node_class_tree()["spec"].items() if k != "role"}},
        "spec",
        "needs exactly one of role and instanceProfile",
    ),
    "role and profile": Refused(
        node_class_tree(instanceProfile="a"), "spec", "needs exactly one of role and instanceProfile"
    ),
    "empty role": Refused(
        node_class_tree(role=""), "spec.role", "should be at least 1 chars long", "must not be empty"
    ),
    "no subnets": Refused(
        node_class_tree(subnetSelectorTerms=[]),
        "spec.subnetSelectorTerms",
        "should have at least 1 items",
        "needs at least 1 item(s)",
    ),
    "31 subnets": Refused(
        node_class_tree(subnetSelectorTerms=TAGGED * 31),
        "spec.subnetSelectorTerms",
        "Too many: 31: must have at most 30 items",
        "has 31 items, 30 at most are allowed",
    ),
    "subnets by nothing": Refused(
        node_class_tree(subnetSelectorTerms=[{"tags": {}}]),
        "spec.subnetSelectorTerms[0]",
        "needs tags or id",
    ),
    "subnets by id and tags": Refused(
        node_class_tree(subnetSelectorTerms=[{"id": "subnet-1", "tags": {"a": "b"}}]),
        "spec.subnetSelectorTerms",
        "id cannot stand beside other fields",
        "cannot stand beside other fields",
    ),
    "empty tag": Refused(
        node_class_tree(subnetSelectorTerms=[{"tags": {"a": ""}}]),
        "spec.subnetSelectorTerms[0].tags",
        "neither a tag's key nor its value may be empty",
    ),
    "21 tags": Refused(
        node_class_tree(subnetSelectorTerms=[{"tags": {str(n): "a" for n in range(21)}}]),
        "spec.subnetSelectorTerms[0].tags",
        "Too many: 21: must have at most 20 items",
        "has 21 entries, 20 at most are allowed",
    ),
    "groups by nothing": Refused(
        node_class_tree(securityGroupSelectorTerms=[{"name": ""}]),
        "spec.securityGroupSelectorTerms[0]",
        "needs tags, id or name",
    ),
    "groups by id and name": Refused(
        node_class_tree(securityGroupSelectorTerms=[{"id": "sg-1", "name": "a"}]),
        "spec.securityGroupSelectorTerms",
        "id cannot stand beside other fields",
        "cannot stand beside other fields",
    ),
    "groups by name and tags": Refused(
        node_class_tree(securityGroupSelectorTerms=[{"name": "a", "tags": {"a": "b"}}]),
        "spec.securityGroupSelectorTerms",
        "name cannot stand beside other fields",
        "cannot stand beside other fields",
    ),
    "id of no group": Refused(
        node_class_tree(securityGroupSelectorTerms=[{"id": "subnet-1"}]),
        "spec.securityGroupSelectorTerms[0].id",
        "should match",
        '"subnet-1" is not a security group\'s id (sg-...)',
    ),
    "images by owner alone": Refused(
        node_class_tree(amiFamily="AL2", amiSelectorTerms=[{"owner": "self"}]),
        "spec.amiSelectorTerms[0]",
        "needs tags, id, name, alias or ssmParameter",
    ),
    "images by id and name": Refused(
        node_class_tree(amiFamily="AL2", amiSelectorTerms=[{"id": "ami-1", "name": "a"}]),
        "spec.amiSelectorTerms[0].id",
        "cannot stand beside other fields",
    ),
    "alias and owner": Refused(
        node_class_tree(amiSelectorTerms=[{"alias": "al2@latest", "owner": "self"}]),
        "spec.amiSelectorTerms[0].alias",
        "cannot stand beside other fields",
    ),
    "alias beside a term": Refused(
        node_class_tree(amiSelectorTerms=[{"alias": "al2@latest"}, {"id": "ami-1"}]),
        "spec.amiSelectorTerms",
        "an alias must be the only term",
    ),
    "alias without version": Refused(
        node_class_tree(amiSelectorTerms=[{"alias": "al2"}]),
        "spec.amiSelectorTerms[0].alias",
        "should match",
        '"al2" is not an alias (such as al2023@latest)',
    ),
    "alias of no family": Refused(
        node_class_tree(amiSelectorTerms=[{"alias": "ubuntu@latest"}]),
        "spec.amiSelectorTerms[0].alias",
        "is of none of al2, al2023, bottlerocket, windows2019, windows2022",
        '"ubuntu" is not one of al2, al2023, bottlerocket',
    ),
    "alias of old Windows": Refused(
        node_class_tree(amiSelectorTerms=[{"alias": "windows2019@v1@latest"}]),
        "spec.amiSelectorTerms[0].alias",
        "Windows has no other version than latest",
        '"windows2019@v1@latest" must be windows2019@latest: Windows',
    ),
    "another family than the alias": Refused(
        node_class_tree(amiFamily="AL2", amiSelectorTerms=[{"alias": "al2023@latest"}]),
        "spec.amiFamily",
        "is not the family of the alias",
    ),
    "neither family nor alias": Refused(
        node_class_tree(amiSelectorTerms=[{"id": "ami-1"}]),
        "spec.amiFamily",
        "is missing: it is needed where no alias is given",
    ),
    "51 tags of instances": Refused(
        node_class_tree(tags={str(n): "a" for n in range(51)}),
        "spec.tags",
        "must have at most 50 items",
        "has 51 entries, 50 at most are allowed",
    ),
    "tag of a cluster": Refused(
        node_class_tree(tags={"kubernetes.io/cluster": "a"}),
        "spec.tags",
        "eks:eks-cluster-name, karpenter.k8s.aws/ec2nodeclass",
        '"kubernetes.io/cluster" is restricted: instances get it by',
    ),
    "tag of the pool": Refused(
        node_class_tree(tags={"karpenter.sh/nodepool": "a"}),
        "spec.tags",
        "eks:eks-cluster-name, karpenter.k8s.aws/ec2nodeclass",
        '"karpenter.sh/nodepool" is restricted: instances get it by',
    ),
    "tag of a launch": Refused(
        node_class_tree(tags={"treenail.sh/launch": "a"}),
        "spec.tags",
        "eks:eks-cluster-name, karpenter.k8s.aws/ec2nodeclass",
        '"treenail.sh/launch" is restricted: instances get it by',
    ),
    "tag without key": Refused(node_class_tree(tags={"": "a"}), "spec.tags", "a tag has an empty key"),
    "two roots": Refused(
        node_class_tree(blockDeviceMappings=[{"rootVolume": True, "ebs": {"volumeSize": "5G"}}] * 2),
        "spec.blockDeviceMappings",
        "only one may have rootVolume",
    ),
    "device without volume": Refused(
        node_class_tree(blockDeviceMappings=[{"deviceName": "/dev/xvda"}]),
        "spec.blockDeviceMappings[0].ebs",
        "is missing",
    ),
    "volume of no size": Refused(
        node_class_tree(blockDeviceMappings=[{"ebs": {}}]), _EBS, "needs volumeSize or snapshotID"
    ),
    "volume under 1G": Refused(volume(volumeSize="999M"), f"{_EBS}.volumeSize", "is not between 1G and 64T"),
    "volume over 64T": Refused(volume(volumeSize="64Ti"), f"{_EBS}.volumeSize", "is not between 1G and 64T"),
    "volume of bytes": Refused(volume(volumeSize=100), f"{_EBS}.volumeSize", "is not between 1G and 64T"),
    "volume of text": Refused(
        volume(volumeSize="big"),
        f"{_EBS}.volumeSize",
        "should match",
        '"big" is not a quantity (such as 500m, 2 or 1.5Gi)',
    ),
    "unknown type of volume": Refused(
        volume(volumeType="gp4"),
        f"{_EBS}.volumeType",
        'Unsupported value: "gp4"',
        '"gp4" is not one of gp2, gp3, io1, io2, sc1, st1, standard',
    ),
    "rate without snapshot": Refused(
        volume(volumeInitializationRate=100), f"{_EBS}.volumeInitializationRate", "needs snapshotID"
    ),
    "rate of 99": Refused(
        volume(volumeInitializationRate=99, snapshotID="a"),
        f"{_EBS}.volumeInitializationRate",
        "should be greater than or equal to 100",
        "99 is not between 100 and 300",
    ),
    "no operations": Refused(
        volume(iops=0),
        f"{_EBS}.iops",
        "should be greater than or equal to 1",
        "0 is not between 1 and 2147483647",
    ),
    "unknown signal": Refused(
        kubelet(evictionHard={"memory": "5%"}),
        "spec.kubelet.evictionHard",
        "may only name imagefs.available, imagefs.inodesFree, memory.available",
        "is not one of imagefs.available, imagefs.inodesFree",
    ),
    "more than everything": Refused(
        kubelet(evictionHard={"pid.available": "100.1%"}),
        "spec.kubelet.evictionHard.pid.available",
        "should match",
        '"100.1%" is more than 100%',
    ),
    "threshold that is none": Refused(
        kubelet(evictionHard={"pid.available": "few"}),
        "spec.kubelet.evictionHard.pid.available",
        "should match",
        '"few" is not a quantity (such as 500m, 2 or 1.5Gi)',
    ),
    "threshold without period": Refused(
        kubelet(evictionSoft={"pid.available": "5%"}),
        "spec.kubelet.evictionSoft",
        "every signal must stand in evictionSoft and in evictionSoftGracePeriod",
        "pid.available must stand in evictionSoftGracePeriod too",
    ),
    "period without threshold": Refused(
        kubelet(evictionSoftGracePeriod={"pid.available": "5m"}),
        "spec.kubelet.evictionSoftGracePeriod",
        "every signal must stand in evictionSoft and in evictionSoftGracePeriod",
        "pid.available must stand in evictionSoftGracePeriod too",
    ),
    "period that is none": Refused(
        kubelet(evictionSoft={"pid.available": "5%"}, evictionSoftGracePeriod={"pid.available": "5"}),
        "spec.kubelet.evictionSoftGracePeriod.pid.available",
        "should match",
        '"5" is not a duration (such as 1m30s)',
    ),
    "unknown reservation": Refused(
        kubelet(kubeReserved={"pods": "5"}),
        "spec.kubelet.kubeReserved",
        "may only name cpu, ephemeral-storage, memory, pid",
        "is not one of cpu, ephemeral-storage, memory, pid",
    ),
    "negative reservation": Refused(
        kubelet(systemReserved={"cpu": "-5m"}),
        "spec.kubelet.systemReserved.cpu",
        "should match",
        '"-5m" must not be negative',
    ),
    "images kept and removed": Refused(
        kubelet(imageGCHighThresholdPercent=80, imageGCLowThresholdPercent=80),
        "spec.kubelet.imageGCHighThresholdPercent",
        "must be more than imageGCLowThresholdPercent",
    ),
    "more than all images": Refused(
        kubelet(imageGCHighThresholdPercent=101),
        "spec.kubelet.imageGCHighThresholdPercent",
        "should be less than or equal to 100",
        "101 is not between 0 and 100",
    ),
    "no pods at all": Refused(
        kubelet(maxPods=-1),
        "spec.kubelet.maxPods",
        "should be greater than or equal to 0",
        "-1 must not be negative",
    ),
    "65 hops": Refused(
        node_class_tree(metadataOptions={"httpPutResponseHopLimit": 65}),
        "spec.metadataOptions.httpPutResponseHopLimit",
        "should be less than or equal to 64",
        "65 is not between 1 and 64",
    ),
    "unknown policy of disks": Refused(
        node_class_tree(instanceStorePolicy="RAID1"),
        "spec.instanceStorePolicy",
        'Unsupported value: "RAID1"',
        '"RAID1" is not one of RAID0; did you mean RAID0?',
    ),
    "owner of no account": Refused(
        node_class_tree(capacityReservationSelectorTerms=[{"ownerID": "1"}]),
        "spec.capacityReservationSelectorTerms[0].ownerID",
        "should match",
        '"1" does not match ^[0-9]{12}$',
    ),
    "reservations of an owner alone": Refused(
        node_class_tree(capacityReservationSelectorTerms=[{"ownerID": "012345678901"}]),
        "spec.capacityReservationSelectorTerms[0]",
        "needs tags, id or instanceMatchCriteria",
    ),
    "reservations by id and criteria": Refused(
        node_class_tree(capacityReservationSelectorTerms=[{"id": "cr-1", "instanceMatchCriteria": "open"}]),
        "spec.capacityReservationSelectorTerms",
        "id cannot stand beside other fields",
        "cannot stand beside other fields",
    ),
    "interface of no kind": Refused(
        node_class_tree(
            networkInterfaces=[{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "efa"}]
        ),
        "spec.networkInterfaces[0].interfaceType",
        'Unsupported value: "efa"',
        '"efa" is not one of efa-only, interface',
    ),
    "no first interface": Refused(
        interfaces((0, 0, "efa-only"), (0, 1, "interface")),
        "spec.networkInterfaces",
        "needs one of interfaceType interface with networkCardIndex 0 and",
    ),
    "interface twice": Refused(
        interfaces((0, 0, "interface"), (1, 1, "interface"), (1, 1, "efa-only")),
        "spec.networkInterfaces",
        "two have the same networkCardIndex and deviceIndex",
    ),
    "two fabric interfaces on a card": Refused(
        interfaces((0, 0, "interface"), (1, 1, "efa-only"), (1, 2, "efa-only")),
        "spec.networkInterfaces",
        "only one for each networkCardIndex may be efa-only",
    ),
    "short tracking": Refused(
        node_class_tree(connectionTracking={"udpTimeout": 29}),
        "spec.connectionTracking.udpTimeout",
        "should be greater than or equal to 30",
        "29 is not between 30 and 60",
    ),
    "tracking of nothing": Refused(
        node_class_tree(connectionTracking={}),
        "spec.connectionTracking",
        "needs tcpEstablishedTimeout, udpStreamTimeout or udpTimeout",
    ),
    "group by nothing": Refused(
        node_class_tree(placementGroupSelector={}),
        "spec.placementGroupSelector",
        "needs exactly one of name and id",
    ),
    "group twice": Refused(
        node_class_tree(placementGroupSelector={"name": "a", "id": "pg-1"}),
        "spec.placementGroupSelector",
        "needs exactly one of name and id",
    ),
    "address that is none": Refused(
        kubelet(clusterDNS=["kube-dns"]),
        "spec.kubelet.clusterDNS[0]",
        "should match",
        '"kube-dns" is not an IP address',
    ),
    "address beyond 255": Refused(
        kubelet(clusterDNS=["10.0.0.256"]),
        "spec.kubelet.clusterDNS[0]",
        "should match",
        '"10.0.0.256" is not an IP address',
    ),
    "period of 11,000 years": Refused(
        kubelet(evictionSoft={"pid.available": "5%"}, evictionSoftGracePeriod={"pid.available": "99999999h"}),
        "spec.kubelet.evictionSoftGracePeriod[pid.available]",
        "must be less than 292 years",
        '"99999999h" is not a duration',
    ),
}
