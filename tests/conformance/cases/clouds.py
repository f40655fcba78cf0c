"""What EC2 has: capacity, reservations, subnets, what changed of a class, and instances that nobody owns."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Given, Suite
from tests.conformance.instance_types import Size
from tests.conformance.objects import alias, ec2, pod, pods, pool, term
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import passes
from tests.conformance.steps.machines import (
    instance_without_claim,
    instances,
    on_subnet,
    reserve,
    reserved_in,
    run_out,
    subnet,
    tagged,
    used_subnets,
)
from tests.conformance.steps.objects_told import condition, event
from tests.conformance.steps.placement import apart, claims, nodes, on, refused, together, waiting

TWO: Final = (Size(name="m5.large", cpu=2, gib=8, pods=10), Size(name="m5.xlarge", cpu=4, gib=16, pods=10))
INSTANCES: Final = Suite("aws/providers/instance/suite_test.go", Setting(types=TWO))
CLOUD: Final = Suite("aws/cloudprovider/suite_test.go", Setting(types=TWO))
TAGGING: Final = Suite("aws/controllers/nodeclaim/tagging/suite_test.go", Setting(types=TWO))
GARBAGE: Final = Suite("aws/controllers/nodeclaim/garbagecollection/suite_test.go", Setting(types=TWO))
SCHEDULING: Final = Suite(
    "controllers/provisioning/scheduling/suite_test.go",
    Setting(
        types=(
            Size(name="large", cpu=6, gib=6),
            Size(name="medium", cpu=3, gib=3),
            Size(name="small", cpu=2, gib=2),
        )
    ),
)
XLARGE: Final = "type In m5.xlarge"
RESERVATION: Final = "karpenter.k8s.aws/capacity-reservation-id"
RESERVED: Final = "way In spot on-demand reserved"
ID: Final = [{"id": "subnet-one"}, {"id": "subnet-two"}]
SELECTS: Final = [{"tags": {"purpose": "test"}}]


def shortage(*ways: str) -> tuple[Given, ...]:
    return tuple(run_out("m5.xlarge", zone, way) for way in ways for zone in ("z1", "z2", "z3"))


CAPACITY: Final = (
    INSTANCES.case(
        157,
        "spot has run out in all zones: on-demand is bought",
        *shortage("spot"),
        pool("default", XLARGE),
        pod(),
        on("p", way="on-demand"),
    ),
    INSTANCES.case(
        157,
        "spot and on-demand have run out in all zones",
        *shortage("spot", "on-demand"),
        pool("default", XLARGE),
        pod(),
        waiting("p", 1),
        nodes(0),
        event("InsufficientCapacityError", about="NodeClaim"),
    ),
    Suite("controllers/nodeclaim/lifecycle/launch_test.go", Setting(types=TWO)).case(
        89,
        "a claim for which there is no capacity is deleted",
        *shortage("spot", "on-demand"),
        pool("default", XLARGE),
        pod(),
        passes("1m"),
        claims(0),
        event("InsufficientCapacityError"),
    ),
    CLOUD.case(267, "no type can be launched", pool("default", "type In m5.24xlarge"), pod(), refused("p")),
)

RESERVATIONS: Final = (
    SCHEDULING.case(
        4715,
        "what is reserved is used up before on-demand or spot",
        reserve("cr-1", "small", "z1", 1),
        reserve("cr-2", "medium", "z1", 1),
        ec2(capacityReservationSelectorTerms=SELECTS),
        pool("default", RESERVED),
        pods("p", 3, requests={"cpu": "1800m"}),
        on("p", pool="default"),
        reserved_in("p", 2),
        apart("p"),
        differs="all three are placed in one decision; there it takes a decision for each reservation",
    ),
    SCHEDULING.case(
        4767,
        "two pools share a reservation of one",
        reserve("cr-1", "small", "z1", 1),
        ec2(capacityReservationSelectorTerms=SELECTS),
        pool("one", RESERVED),
        pool("two", RESERVED),
        pod("a", app="app", apart=[term()], need=["type In small", "pool In one"]),
        pod("b", app="app", apart=[term()], need=["type In small", "pool In two"]),
        apart("a", "b"),
        reserved_in("app", 1),
        differs="both are placed in one decision; there the second waits for the next",
    ),
    SCHEDULING.case(
        4894,
        "two reservations of one type, of one and of two",
        reserve("cr-1", "small", "z1", 1),
        reserve("cr-2", "small", "z1", 2),
        ec2(capacityReservationSelectorTerms=SELECTS),
        pool("default", RESERVED),
        pods("p", 4, app="app", apart=[term()], need=["type In small"]),
        apart("p"),
        reserved_in("app", 3),
        differs="all four are placed in one decision; there it takes three",
    ),
    SCHEDULING.case(
        5142,
        "two pods share a node that is reserved",
        reserve("cr-1", "small", "z1", 1),
        ec2(capacityReservationSelectorTerms=SELECTS),
        pool("default", RESERVED),
        pods("p", 2, app="app", near=[term("app", "zone")], need=["way In reserved", "zone In z1"]),
        together("p"),
        on("p", {RESERVATION: "cr-1"}, way="reserved", type="small"),
    ),
)

SUBNETS: Final = (
    CLOUD.case(
        1270,
        "the subnet with the most addresses is used",
        subnet("subnet-one", "z1", "10.0.0.0/24"),
        subnet("subnet-two", "z1", "10.0.4.0/22"),
        ec2(subnetSelectorTerms=ID),
        pool(),
        pod(),
        on_subnet("p", "subnet-two"),
    ),
    CLOUD.case(
        1287,
        "addresses of launches under way count",
        subnet("subnet-one", "z1", "10.0.0.0/28"),
        subnet("subnet-two", "z1", "10.0.1.0/28"),
        ec2(subnetSelectorTerms=ID, kubelet={"maxPods": 1}),
        pool(),
        pod("a"),
        pod("b"),
        apart("a", "b"),
        pod("c"),
        apart("a", "b", "c"),
        used_subnets("subnet-one", "subnet-two"),
    ),
    INSTANCES.case(
        673,
        "a zone whose one subnet is full is closed",
        subnet("subnet-one", "z1", "10.0.0.0/28"),
        subnet("subnet-two", "z2", "10.0.4.0/22"),
        ec2(subnetSelectorTerms=ID, kubelet={"maxPods": 1}),
        pool("default", "way In on-demand"),
        pods("p", 12, select={"zone": "z1"}),
        waiting("p", 1),
        nodes(11),
    ),
    INSTANCES.case(
        713,
        "where one subnet of a zone is full the other one is used",
        subnet("subnet-one", "z1", "10.0.0.0/28"),
        subnet("subnet-two", "z1", "10.0.4.0/28"),
        ec2(subnetSelectorTerms=ID, kubelet={"maxPods": 1}),
        pool("default", "way In on-demand"),
        pods("p", 14, select={"zone": "z1"}),
        on("p", zone="z1"),
        nodes(14),
        used_subnets("subnet-one", "subnet-two"),
    ),
    CLOUD.case(
        1395,
        "where a class selects no subnets the other pool is used",
        ec2("broken", subnetSelectorTerms=[{"id": "subnet-none"}]),
        pool("broken", node_class="broken", weight=100),
        pool("fine"),
        pod(),
        on("p", pool="fine"),
    ),
)

BASE: Final[dict[str, Any]] = {
    "userData": "#!/bin/bash\ntrue\n",
    "tags": {"fakeKey": "fakeValue"},
    "detailedMonitoring": False,
    "associatePublicIPAddress": False,
    "metadataOptions": {
        "httpEndpoint": "disabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 1,
        "httpTokens": "optional",
    },
    "blockDeviceMappings": [
        {
            "deviceName": "/dev/xvda",
            "rootVolume": False,
            "ebs": {
                "deleteOnTermination": False,
                "encrypted": False,
                "iops": 3000,
                "kmsKeyID": "key",
                "snapshotID": "snap-1",
                "throughput": 125,
                "volumeSize": "20G",
                "volumeType": "gp3",
            },
        }
    ],
}


def _device(**more: Any) -> dict[str, Any]:
    (device,) = BASE["blockDeviceMappings"]
    ebs = {**device["ebs"], **more.pop("ebs", {})}
    return {"blockDeviceMappings": [{**device, "ebs": ebs, **more}]}


def _metadata(**more: Any) -> dict[str, Any]:
    return {"metadataOptions": {**BASE["metadataOptions"], **more}}


CHANGES: Final[tuple[tuple[int, str, dict[str, Any]], ...]] = (
    (1127, "user data", {"userData": "#!/bin/bash\nfalse\n"}),
    (1128, "tags", {"tags": {"other": "value"}}),
    (1129, "the context", {"context": "context-2"}),
    (1130, "monitoring", {"detailedMonitoring": True}),
    (1131, "the policy for local disks", {"instanceStorePolicy": "RAID0"}),
    (1132, "public addresses", {"associatePublicIPAddress": True}),
    (1133, "the metadata service", _metadata(httpEndpoint="enabled")),
    (1134, "the metadata service by IPv6", _metadata(httpProtocolIPv6="enabled")),
    (1135, "the hops to the metadata service", _metadata(httpPutResponseHopLimit=10)),
    (1136, "the tokens of the metadata service", _metadata(httpTokens="required")),
    (1137, "a device's name", _device(deviceName="/dev/xvdb")),
    (1138, "which device is root", _device(rootVolume=True)),
    (1139, "whether a device is deleted", _device(ebs={"deleteOnTermination": True})),
    (1140, "whether a device is encrypted", _device(ebs={"encrypted": True})),
    (1141, "a device's operations", _device(ebs={"iops": 4000})),
    (1142, "a device's key", _device(ebs={"kmsKeyID": "other"})),
    (1143, "a device's snapshot", _device(ebs={"snapshotID": "snap-2"})),
    (1144, "a device's throughput", _device(ebs={"throughput": 200})),
    (1145, "a device's kind", _device(ebs={"volumeType": "io2", "throughput": None})),
    (1149, "a device's size", _device(ebs={"volumeSize": "10G"})),
)

SAME: Final[tuple[tuple[int, str, dict[str, Any]], ...]] = (
    (1177, "subnets", {"subnetSelectorTerms": [{"tags": {"other": "demo"}}]}),
    (1178, "security groups", {"securityGroupSelectorTerms": [{"tags": {"other": "demo"}}]}),
)

DRIFT: Final = (
    *(
        CLOUD.case(
            line,
            f"a change of {what} makes nodes drift",
            ec2(**BASE),
            pool(),
            pod(),
            on("p"),
            condition("Drifted", None, on_="NodeClaim"),
            ec2(**{**BASE, **change}),
            passes("1m"),
            condition("Drifted", "True", "NodeClassDrift", on_="NodeClaim"),
        )
        for line, what, change in CHANGES
    ),
    *(
        CLOUD.case(
            line,
            f"a selector of {what} that finds the same changes nothing",
            ec2(),
            pool(),
            pod(),
            on("p"),
            ec2(**change),
            passes("10m"),
            condition("Drifted", None, on_="NodeClaim"),
        )
        for line, what, change in SAME
    ),
    CLOUD.case(
        867,
        "nodes as their class is do not drift",
        pool(),
        pod(),
        passes("30m"),
        condition("Drifted", None, on_="NodeClaim"),
    ),
    CLOUD.case(
        851,
        "a node is in a subnet that its class selects no more",
        subnet("subnet-one", "z1", "10.0.0.0/24"),
        subnet("subnet-two", "z1", "10.0.4.0/24"),
        ec2(subnetSelectorTerms=[{"id": "subnet-one"}]),
        pool(),
        pod(),
        on_subnet("p", "subnet-one"),
        ec2(subnetSelectorTerms=[{"id": "subnet-two"}]),
        passes("10m"),
        condition("Drifted", "True", "SubnetDrift", on_="NodeClaim"),
    ),
    CLOUD.case(
        828,
        "a node has an image that its class selects no more",
        ec2(amiSelectorTerms=alias("al2023@latest")),
        pool(),
        pod(),
        on("p"),
        ec2(amiSelectorTerms=alias("al2023@v20250101")),
        passes("10m"),
        condition("Drifted", "True", "AMIDrift", on_="NodeClaim"),
    ),
)

OWNED: Final = (
    TAGGING.case(
        237,
        "instances are tagged with their name, claim and cluster",
        pool(),
        pod(),
        on("p"),
        passes("2m"),
        tagged("p", "Name", "node"),
        tagged("p", "karpenter.sh/nodeclaim", "claim"),
        tagged("p", "eks:eks-cluster-name", "demo"),
    ),
    GARBAGE.case(
        139,
        "an instance that no claim owns is terminated",
        pool(),
        pod(),
        on("p"),
        instance_without_claim(),
        instances(2),
        passes("10m"),
        instances(1),
        on("p"),
    ),
    GARBAGE.case(
        223, "instances that claims own stay", pool(), pods("p", 12), passes("30m"), on("p"), instances(2)
    ),
    GARBAGE.case(
        283,
        "an instance whose claim may not be seen yet stays for a while",
        pool(),
        pod(),
        on("p"),
        instance_without_claim(),
        passes("20s"),
        instances(2),
    ),
)

CASES: Final[tuple[Case, ...]] = (*CAPACITY, *RESERVATIONS, *SUBNETS, *DRIFT, *OWNED)
