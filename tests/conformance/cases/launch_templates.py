"""What machines are launched with: tags, devices, interfaces, metadata, and what their kubelets are told."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Suite
from tests.conformance.objects import alias, ec2, pod, pool
from tests.conformance.steps.placement import on, refused
from tests.conformance.steps.templates import (
    boots_with,
    boots_without,
    kubelet_config,
    tags_have,
    template_has,
    templates,
)

case = Suite("aws/providers/launchtemplate/suite_test.go").case
GIB_10: Final = {"volumeType": "io2", "iops": 10_000, "encrypted": True, "deleteOnTermination": True}
RESERVED: Final = {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "2Gi"}
SIGNALS: Final = {"memory.available": "10%", "nodefs.available": "15%", "nodefs.inodesFree": "5%"}
PATIENCE: Final = {"memory.available": "1m", "nodefs.available": "180s", "nodefs.inodesFree": "5m"}
SHELL: Final = "#!/bin/bash\necho 'Running custom user data script'\n"
INTERFACES: Final = [
    {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
    {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"},
    {"networkCardIndex": 1, "deviceIndex": 1, "interfaceType": "interface"},
]


def device(name: str, size: str, **more: Any) -> dict[str, Any]:
    return {"deviceName": name, "ebs": {**GIB_10, "volumeSize": size, **more}}


def launched(
    line: int, what: str, *steps: Any, of_pool: Any = None, of_pod: Any = None, differs: str = "", **spec: Any
) -> Case:
    """Return a case in which one node of a class is launched."""
    given = ec2(**spec), of_pool or pool(), of_pod or pod(), on("p")
    return case(line, what, *given, *steps, differs=differs)


def told(
    line: int, what: str, kubelet: dict[str, Any], key: str, wanted: object, *, differs: str = ""
) -> Case:
    """Return a case in which a kubelet is told what its class says."""
    step = kubelet_config(key, wanted)
    return launched(line, f"AL2023 is told {what}", step, kubelet=kubelet, differs=differs)


TAGS: Final = (
    launched(580, "tags of a class", tags_have(tag1="one", tag2="two"), tags={"tag1": "one", "tag2": "two"}),
    launched(
        603,
        "tags of a class on interfaces and spot requests",
        tags_have(tag1="one"),
        template_has("TagSpecifications.0.ResourceType", "network-interface"),
        template_has("TagSpecifications.1.ResourceType", "spot-instances-request"),
        template_has("TagSpecifications.2", None),
        of_pool=pool("default", "way In spot"),
        tags={"tag1": "one"},
    ),
    launched(630, "a class's own tag Name", tags_have(Name="mine"), tags={"Name": "mine"}),
)

DEVICES: Final = (
    *(
        launched(
            line,
            f"the devices of {what}",
            template_has("BlockDeviceMappings.0.Ebs.VolumeSize", 20),
            template_has("BlockDeviceMappings.0.Ebs.VolumeType", "gp3"),
            template_has("BlockDeviceMappings.0.Ebs.Iops", None),
            template_has("BlockDeviceMappings.1", None),
            amiSelectorTerms=alias(f"{what}@latest"),
        )
        for line, what in ((655, "al2"), (669, "al2023"))
    ),
    launched(
        683,
        "a class's own devices, in GB and in GiB",
        template_has("BlockDeviceMappings.0.Ebs.VolumeSize", 187),
        template_has("BlockDeviceMappings.1.Ebs.VolumeSize", 200),
        template_has("BlockDeviceMappings.1.Ebs.Iops", 10_000),
        template_has("BlockDeviceMappings.1.Ebs.Encrypted", wanted=True),
        template_has("BlockDeviceMappings.1.Ebs.KmsKeyId", "arn:aws:kms:us-west-2:111122223333:key/1"),
        blockDeviceMappings=[
            device("/dev/xvda", "200G", kmsKeyID="arn:aws:kms:us-west-2:111122223333:key/1"),
            device("/dev/xvdb", "200Gi", kmsKeyID="arn:aws:kms:us-west-2:111122223333:key/1"),
        ],
    ),
    launched(
        732,
        "devices of GB are rounded up to GiB",
        template_has("BlockDeviceMappings.0.Ebs.VolumeSize", 4),
        template_has("BlockDeviceMappings.1.Ebs.VolumeSize", 2),
        blockDeviceMappings=[device("/dev/xvda", "4G", iops=150), device("/dev/xvdb", "2G", iops=100)],
    ),
    launched(
        768,
        "the two devices of Bottlerocket",
        template_has("BlockDeviceMappings.0.Ebs.VolumeSize", 4),
        template_has("BlockDeviceMappings.1.Ebs.VolumeSize", 20),
        template_has("BlockDeviceMappings.1.Ebs.VolumeType", "gp3"),
        amiSelectorTerms=alias("bottlerocket@latest"),
    ),
    launched(
        787,
        "no devices of a family of one's own",
        template_has("BlockDeviceMappings", None),
        amiFamily="Custom",
        amiSelectorTerms=[{"tags": {"*": "*"}}],
        userData=SHELL,
    ),
    launched(
        799,
        "one's own devices of a family of one's own",
        template_has("BlockDeviceMappings.0.Ebs.VolumeSize", 40),
        template_has("BlockDeviceMappings.0.Ebs.VolumeType", "io2"),
        template_has("BlockDeviceMappings.1", None),
        amiFamily="Custom",
        amiSelectorTerms=[{"tags": {"*": "*"}}],
        blockDeviceMappings=[device("/dev/xvda", "40Gi")],
        userData=SHELL,
    ),
)

KUBELETS: Final = (
    launched(
        1203,
        "AL2 counts pods by interfaces",
        boots_with("--use-max-pods false"),
        amiSelectorTerms=alias("al2@latest"),
    ),
    launched(
        1211,
        "AL2 is told how many pods a class allows",
        boots_with("--use-max-pods false", "--max-pods=29"),
        amiSelectorTerms=alias("al2@latest"),
        kubelet={"maxPods": 29},
    ),
    told(1233, "what to keep for the system", {"systemReserved": RESERVED}, "systemReserved", RESERVED),
    told(1255, "what to keep for itself", {"kubeReserved": RESERVED}, "kubeReserved", RESERVED),
    told(1277, "when to evict at once", {"evictionHard": SIGNALS}, "evictionHard", SIGNALS),
    told(
        1297,
        "when to evict gently",
        {"evictionSoft": SIGNALS, "evictionSoftGracePeriod": PATIENCE},
        "evictionSoft",
        SIGNALS,
    ),
    told(
        1322,
        "how long to be patient",
        {"evictionSoft": SIGNALS, "evictionSoftGracePeriod": PATIENCE},
        "evictionSoftGracePeriod",
        PATIENCE,
        differs="durations are passed on as they are written, there as 1m0s; both are read alike",
    ),
    told(
        1347,
        "how long evicted pods may take",
        {"evictionMaxPodGracePeriod": 300},
        "evictionMaxPodGracePeriod",
        300,
    ),
    told(1360, "how many pods each core takes", {"podsPerCore": 2}, "podsPerCore", 2),
    launched(
        1401,
        "AL2023 is told the address of DNS",
        kubelet_config("clusterDNS", None),
        boots_with("cidr: 10.100.0.0/16"),
        differs="nodeadm is told the addresses of services, and finds that of DNS by it",
    ),
    told(
        1412, "when to collect images", {"imageGCHighThresholdPercent": 50}, "imageGCHighThresholdPercent", 50
    ),
    told(1425, "when to stop that", {"imageGCLowThresholdPercent": 50}, "imageGCLowThresholdPercent", 50),
    told(1438, "not to limit by CFS quota", {"cpuCFSQuota": False}, "cpuCFSQuota", wanted=False),
    *(
        launched(
            line,
            f"a kubelet sets no label such as {key}",
            boots_without(key),
            of_pool=pool("default", f"{key} In foobar", labels_={key: "foobar"}),
        )
        for line, key in (
            (1488, "node-restriction.kubernetes.io/bar"),
            (1489, "kubernetes.io/bar"),
            (1490, "k8s.io/bar"),
            (1491, "foo.node-restriction.kubernetes.io/bar"),
            (1492, "foo.kubernetes.io/bar"),
            (1493, "foo.k8s.io/bar"),
        )
    ),
    launched(
        1495,
        "AL2 makes one disk of several",
        boots_with("--local-disks raid0"),
        amiSelectorTerms=alias("al2@latest"),
        instanceStorePolicy="RAID0",
    ),
    launched(
        1506,
        "Bottlerocket makes one disk of several",
        boots_with("bootstrap-commands.000-mount-instance-storage", "ephemeral-storage"),
        amiSelectorTerms=alias("bottlerocket@latest"),
        instanceStorePolicy="RAID0",
    ),
    launched(
        1522,
        "Bottlerocket makes one disk of several, and runs what its class says",
        boots_with("000-mount-instance-storage", "111-say-hello"),
        amiSelectorTerms=alias("bottlerocket@latest"),
        instanceStorePolicy="RAID0",
        userData=(
            "[settings.bootstrap-commands.111-say-hello]\ncommands = [['echo', 'hello']]\n"
            "mode = 'always'\nessential = true\n"
        ),
    ),
    launched(
        1587,
        "Bottlerocket's settings are merged with a class's own",
        boots_with("team", "cluster-name"),
        amiSelectorTerms=alias("bottlerocket@latest"),
        userData="[settings.kubernetes.node-labels]\nteam = 'a'\n",
    ),
    launched(
        1603,
        "Bottlerocket boots without user data",
        boots_with("cluster-name"),
        amiSelectorTerms=alias("bottlerocket@latest"),
    ),
    case(
        1629,
        "user data of Bottlerocket that is no TOML",
        ec2(amiSelectorTerms=alias("bottlerocket@latest"), userData="#/bin/bash\n ./not-toml.sh"),
        pool(),
        pod(),
        refused("p"),
    ),
    launched(
        2103,
        "AL2 merges user data whose content type comes before its version",
        boots_with("Running custom user data", "bootstrap.sh"),
        amiSelectorTerms=alias("al2@latest"),
        userData=(
            'Content-Type: multipart/mixed; boundary="//"\nMIME-Version: 1.0\n\n--//\n'
            'Content-Type: text/x-shellscript; charset="us-ascii"\n\n' + SHELL + "\n--//--\n"
        ),
    ),
    launched(
        2116,
        "AL2 merges user data that is a script",
        boots_with("Running custom user data", "bootstrap.sh"),
        amiSelectorTerms=alias("al2@latest"),
        userData=SHELL,
    ),
    launched(
        2129, "AL2 boots without user data", boots_with("bootstrap.sh"), amiSelectorTerms=alias("al2@latest")
    ),
    launched(
        2146,
        "AL2023 registers with the taints of its pool",
        kubelet_config(
            "registerWithTaints",
            [
                {"key": "foo", "value": "bar", "effect": "NoExecute"},
                {"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
            ],
        ),
        of_pool=pool(taint=["foo=bar:NoExecute"]),
        of_pod=pod(tolerate=[""]),
    ),
    launched(
        2179,
        "AL2023 registers with the labels of its pool",
        boots_with("--node-labels=", "foo=bar"),
        of_pool=pool(labels_={"foo": "bar"}),
    ),
    launched(
        2202,
        "AL2023 registers with the labels that its pool requires",
        boots_with("foo=bar"),
        of_pool=pool("default", "foo In bar"),
    ),
    launched(2377, "AL2023 makes one disk of several", boots_with("RAID0"), instanceStorePolicy="RAID0"),
    launched(
        2408,
        "AL2023 merges user data that is YAML",
        boots_with("application/node.eks.aws", "maxPods: 110", "apiServerEndpoint"),
        userData=(
            "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n"
            "  kubelet:\n    config:\n      maxPods: 110\n"
        ),
    ),
    launched(
        2409,
        "AL2023 merges user data that is a script",
        boots_with("Running custom user data"),
        userData=SHELL,
    ),
    launched(2410, "AL2023 boots without user data", boots_with("apiServerEndpoint")),
    launched(
        2442,
        "user data of a family of one's own is left as it is",
        boots_with("special user data"),
        boots_without("bootstrap.sh", "apiServerEndpoint"),
        amiFamily="Custom",
        amiSelectorTerms=[{"tags": {"*": "*"}}],
        userData="special user data",
    ),
)

HARDWARE: Final = (
    *(
        launched(
            line,
            f"instances have {'a' if public else 'no'} public address",
            template_has("NetworkInterfaces.0.AssociatePublicIpAddress", public),
            associatePublicIPAddress=public,
        )
        for line, public in ((2648, True), (2649, False))
    ),
    launched(2732, "no detailed monitoring", template_has("Monitoring.Enabled", wanted=False)),
    launched(
        2742, "detailed monitoring", template_has("Monitoring.Enabled", wanted=True), detailedMonitoring=True
    ),
    launched(
        2799,
        "the metadata service asks for tokens",
        template_has("MetadataOptions.HttpEndpoint", "enabled"),
        template_has("MetadataOptions.HttpProtocolIpv6", "disabled"),
        template_has("MetadataOptions.HttpPutResponseHopLimit", 1),
        template_has("MetadataOptions.HttpTokens", "required"),
    ),
    launched(2812, "metadata has no tags", template_has("MetadataOptions.InstanceMetadataTags", "disabled")),
    launched(
        2897,
        "connections are tracked as ever",
        template_has("NetworkInterfaces.0.ConnectionTrackingSpecification", None),
    ),
    launched(
        3002,
        "the interfaces that a class lists",
        template_has("NetworkInterfaces.0.InterfaceType", "interface"),
        template_has("NetworkInterfaces.1.InterfaceType", "efa-only"),
        template_has("NetworkInterfaces.1.NetworkCardIndex", 0),
        template_has("NetworkInterfaces.1.DeviceIndex", 1),
        template_has("NetworkInterfaces.2.NetworkCardIndex", 1),
        template_has("NetworkInterfaces.3", None),
        networkInterfaces=INTERFACES,
    ),
    launched(
        3010,
        "interfaces for EFA alone have no prefixes",
        template_has("NetworkInterfaces.0.Ipv4PrefixCount", 2),
        template_has("NetworkInterfaces.1.Ipv4PrefixCount", None),
        template_has("NetworkInterfaces.2.Ipv4PrefixCount", 2),
        networkInterfaces=INTERFACES,
        ipPrefixCount=2,
    ),
    launched(3076, "hardware is shared", template_has("Placement", None)),
    launched(
        3078,
        "a pod wants hardware that is not shared",
        template_has("Placement.Tenancy", "dedicated"),
        of_pod=pod(select={"karpenter.k8s.aws/instance-tenancy": "dedicated"}),
    ),
    case(
        353,
        "equal launches have one template",
        ec2(),
        pool(),
        pod("a", select={"type": "default"}),
        pod("b", select={"type": "small"}),
        templates(1),
    ),
    case(
        223,
        "launches of two classes that are alike have two",
        ec2(),
        ec2("other"),
        pool(labels_={"of": "one"}),
        pool("other", labels_={"of": "two"}, node_class="other"),
        pod("a", select={"of": "one"}),
        pod("b", select={"of": "two"}),
        templates(2),
    ),
)

CASES: Final[tuple[Case, ...]] = (*TAGS, *DEVICES, *KUBELETS, *HARDWARE)
