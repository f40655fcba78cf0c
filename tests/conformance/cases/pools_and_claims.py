"""What pools, node classes and claims say of themselves, from the launch of a node until it is in use."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Suite
from tests.conformance.instance_types import VENDOR_A, Size
from tests.conformance.objects import FREE, deployment, ec2, pod, pods, pool, term
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import deleted, passes, scaled, short_of, tainted, untainted
from tests.conformance.steps.endings import ended
from tests.conformance.steps.machines import never_joins
from tests.conformance.steps.objects_told import (
    annotated,
    condition,
    event,
    hash_changes,
    hash_kept,
    hash_noted,
    labelled_node,
    taints_of,
    usage,
)
from tests.conformance.steps.placement import claims, nodes, on, refused

ONE: Final = Setting(types=(Size(name="default"), Size(name="gpu-a", more={VENDOR_A: 2})))
SLOW: Final = Setting(types=ONE.types, cluster={"ready": (600, 600)})
READINESS: Final = Suite("controllers/nodepool/readiness/suite_test.go", ONE)
VALIDATION: Final = Suite("controllers/nodepool/validation/suite_test.go", ONE)
HEALTH: Final = Suite("controllers/nodepool/registrationhealth/suite_test.go", ONE)
HASH: Final = Suite("controllers/nodepool/hash/suite_test.go", ONE)
COUNTER: Final = Suite("controllers/nodepool/counter/suite_test.go", ONE)
LAUNCH: Final = Suite("controllers/nodeclaim/lifecycle/launch_test.go", ONE)
REGISTRATION: Final = Suite("controllers/nodeclaim/lifecycle/registration_test.go", ONE)
INITIALIZATION: Final = Suite("controllers/nodeclaim/lifecycle/initialization_test.go", ONE)
LIVENESS: Final = Suite("controllers/nodeclaim/lifecycle/liveness_test.go", ONE)
CLASS: Final = Suite("aws/controllers/nodeclass/suite_test.go", ONE)
SUBNETS: Final = Suite("aws/controllers/nodeclass/subnet_test.go", ONE)
GROUPS: Final = Suite("aws/controllers/nodeclass/securitygroup_test.go", ONE)
IMAGES: Final = Suite("aws/controllers/nodeclass/ami_test.go", ONE)
PROFILES: Final = Suite("aws/controllers/nodeclass/instanceprofile_test.go", ONE)
OF_CLASS: Final[dict[str, Any]] = {"on_": "EC2NodeClass"}
OF_CLAIM: Final[dict[str, Any]] = {"on_": "NodeClaim"}
BROKEN: Final = [{"id": "subnet-none"}]
HEALTHY: Final = "NodeRegistrationHealthy"

POOLS: Final = (
    VALIDATION.case(123, "a pool is valid", pool(), condition("ValidationSucceeded", "True")),
    READINESS.case(
        94, "a pool's class is ready", pool(), condition("NodeClassReady", "True"), condition("Ready", "True")
    ),
    READINESS.case(
        101,
        "a pool's class is not ready",
        ec2(subnetSelectorTerms=BROKEN),
        pool(),
        pod(),
        condition("NodeClassReady", "False"),
        condition("Ready", "False"),
        refused("p"),
    ),
    READINESS.case(
        127,
        "a pool's class is being deleted",
        pool(),
        pod(),
        on("p"),
        deleted("EC2NodeClass", "default"),
        passes("1m"),
        condition("NodeClassReady", "False"),
        condition("Ready", "False"),
    ),
    Suite("controllers/provisioning/scheduling/suite_test.go", ONE).case(
        502,
        "a pool that is not ready buys nothing",
        ec2(subnetSelectorTerms=BROKEN),
        pool(),
        pod(),
        refused("p"),
        nodes(0),
    ),
    REGISTRATION.case(
        495,
        "a pool whose node registers is healthy",
        pool(),
        pod(),
        on("p"),
        passes(5),
        condition(HEALTHY, "True"),
    ),
    LIVENESS.case(
        304,
        "two nodes that never register show that a pool is not healthy",
        never_joins(),
        pool(),
        pod(),
        passes("40m"),
        condition(HEALTHY, "False"),
    ),
    HEALTH.case(
        112,
        "of a pool that is changed it is not known whether it is healthy",
        never_joins(),
        pool(),
        pod(),
        passes("40m"),
        condition(HEALTHY, "False"),
        pool(labels_={"key": "value"}),
        passes(5),
        condition(HEALTHY, "Unknown"),
    ),
    HEALTH.case(
        124,
        "a healthy pool stays so",
        pool(),
        pod(),
        on("p"),
        passes("1h"),
        condition(HEALTHY, "True"),
    ),
    HASH.case(
        109,
        "a change of the template changes a pool's hash",
        pool(),
        hash_noted(),
        pool(labels_={"key": "value"}, annotations={"other": "value"}),
        hash_changes(),
    ),
    HASH.case(
        126,
        "a change of what a pool does leaves its hash",
        pool(),
        hash_noted(),
        pool(
            "default",
            "zone In z1",
            limits={"cpu": "16"},
            weight=80,
            after="30s",
        ),
        hash_kept(),
    ),
    COUNTER.case(149, "a pool without nodes uses nothing", pool(), passes("1m"), usage(0)),
    COUNTER.case(
        191,
        "a pool's nodes are counted",
        pool("default", "type In default"),
        pods("p", 2, app="app", apart=[term()]),
        on("p"),
        passes("1m"),
        usage(2, cpu="8", memory="8Gi"),
    ),
    COUNTER.case(
        207,
        "a node that is gone is counted no more",
        pool("default", "type In default", budgets=FREE, after="30s"),
        deployment("web", 2, apart=[term("web")]),
        nodes(2),
        scaled("web", 1),
        passes("2m"),
        usage(1, cpu="4", memory="4Gi"),
        setting=Setting(types=ONE.types, scheduler=True),
    ),
    COUNTER.case(
        240,
        "a pool whose nodes are gone uses nothing",
        pool("default", "type In default", budgets=FREE, after="30s"),
        deployment("web", 2, apart=[term("web")]),
        nodes(2),
        scaled("web", 0),
        passes("2m"),
        usage(0),
        setting=Setting(types=ONE.types, scheduler=True),
    ),
)

CLASSES: Final = (
    SUBNETS.case(54, "a class finds subnets", pool(), condition("SubnetsReady", "True", **OF_CLASS)),
    SUBNETS.case(
        254,
        "a class finds no subnets",
        ec2(subnetSelectorTerms=BROKEN),
        pool(),
        condition("SubnetsReady", "False", **OF_CLASS),
        condition("Ready", "False", **OF_CLASS),
    ),
    SUBNETS.case(
        266,
        "a class finds no subnets any more",
        pool(),
        condition("SubnetsReady", "True", **OF_CLASS),
        ec2(subnetSelectorTerms=BROKEN),
        passes("2m"),
        condition("SubnetsReady", "False", **OF_CLASS),
    ),
    GROUPS.case(51, "a class finds groups", pool(), condition("SecurityGroupsReady", "True", **OF_CLASS)),
    GROUPS.case(
        189,
        "a class finds no security groups",
        ec2(securityGroupSelectorTerms=[{"id": "sg-none"}]),
        pool(),
        condition("SecurityGroupsReady", "False", **OF_CLASS),
    ),
    GROUPS.case(
        201,
        "a class finds no security groups any more",
        pool(),
        condition("SecurityGroupsReady", "True", **OF_CLASS),
        ec2(securityGroupSelectorTerms=[{"id": "sg-none"}]),
        passes("2m"),
        condition("SecurityGroupsReady", "False", **OF_CLASS),
    ),
    IMAGES.case(592, "a class finds images", pool(), condition("AMIsReady", "True", **OF_CLASS)),
    IMAGES.case(
        614,
        "a class finds no images",
        ec2(amiFamily="AL2023", amiSelectorTerms=[{"id": "ami-none"}]),
        pool(),
        condition("AMIsReady", "False", **OF_CLASS),
    ),
    PROFILES.case(
        37, "a profile is made for a class", pool(), condition("InstanceProfileReady", "True", **OF_CLASS)
    ),
    CLASS.case(
        260,
        "a class that is deleted stays until its nodes are gone",
        pool(budgets=FREE),
        pod(),
        on("p"),
        deleted("EC2NodeClass", "default"),
        passes("5m"),
        event("WaitingOnNodeClaimTermination"),
        nodes(1),
    ),
)

LIVES: Final = (
    LAUNCH.case(
        72, "a claim is launched", pool(), pod(), claims(1), condition("Launched", "True", **OF_CLAIM)
    ),
    REGISTRATION.case(
        139, "a claim finds its node", pool(), pod(), on("p"), condition("Registered", "True", **OF_CLAIM)
    ),
    REGISTRATION.case(
        197,
        "a registered node says so, and has lost its taint",
        pool(),
        pod(),
        on("p", {"karpenter.sh/registered": "true"}),
        taints_of("p"),
    ),
    REGISTRATION.case(
        245, "a node gets the labels of its claim", pool(labels_={"a": "b"}), pod(), on("p", {"a": "b"})
    ),
    REGISTRATION.case(
        271,
        "a node gets the annotations of its claim",
        pool(annotations={"a": "b"}),
        pod(),
        annotated("p", "a", "b"),
    ),
    REGISTRATION.case(
        299,
        "a node gets the taints of its claim",
        pool(taint=["a=b:NoSchedule", "c=d:NoExecute"]),
        pod(tolerate=[""]),
        taints_of("p", "a=b:NoSchedule", "c=d:NoExecute"),
    ),
    REGISTRATION.case(
        410,
        "a node gets the startup taints of its claim",
        pool(startup=["a=b:NoSchedule"]),
        pod(),
        taints_of("p", "a=b:NoSchedule"),
    ),
    REGISTRATION.case(
        466,
        "startup taints that were taken off are not put on again",
        pool(startup=["a=b:NoSchedule"]),
        pod(),
        untainted("p"),
        passes("10m"),
        taints_of("p"),
    ),
    INITIALIZATION.case(
        166,
        "a node in use says so",
        pool(),
        pod(),
        on("p"),
        passes(10),
        labelled_node("karpenter.sh/initialized", "true"),
        condition("Initialized", "True", **OF_CLAIM),
    ),
    INITIALIZATION.case(
        115,
        "a claim without a node is not in use",
        never_joins(),
        pool(),
        pod(),
        claims(1),
        condition("Registered", "Unknown", **OF_CLAIM),
        condition("Initialized", "Unknown", **OF_CLAIM),
    ),
    INITIALIZATION.case(
        209,
        "a node that is not ready is not in use",
        pool(),
        pod(),
        condition("Registered", "True", **OF_CLAIM),
        condition("Initialized", "Unknown", **OF_CLAIM),
        setting=SLOW,
    ),
    INITIALIZATION.case(
        253,
        "a node without the devices of its type is not in use",
        short_of(VENDOR_A),
        pool(),
        pod(limits={VENDOR_A: "1"}),
        passes("1m"),
        condition("Registered", "True", **OF_CLAIM),
        condition("Initialized", "Unknown", **OF_CLAIM),
    ),
    INITIALIZATION.case(
        368,
        "a node with startup taints is not in use",
        pool(startup=["a=b:NoSchedule"]),
        pod(),
        passes("5m"),
        condition("Registered", "True", **OF_CLAIM),
        condition("Initialized", "Unknown", **OF_CLAIM),
    ),
    INITIALIZATION.case(
        441,
        "a node that has lost its startup taints is in use",
        pool(startup=["a=b:NoSchedule"]),
        pod(),
        untainted("p"),
        passes(10),
        condition("Initialized", "True", **OF_CLAIM),
    ),
    INITIALIZATION.case(
        508,
        "a node with taints of the cloud's is not in use, until it has lost them",
        pool(startup=["a=b:NoSchedule"]),
        pod(),
        tainted("p", "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"),
        passes("1m"),
        condition("Initialized", "Unknown", **OF_CLAIM),
        untainted("p"),
        passes(10),
        condition("Initialized", "True", **OF_CLAIM),
    ),
    INITIALIZATION.case(
        658,
        "a node with a taint of readiness.k8s.io is not in use, until it has lost it",
        pool(startup=["a=b:NoSchedule"]),
        pod(),
        untainted("p", but="readiness.k8s.io/network-unready:NoSchedule"),
        passes("1m"),
        condition("Initialized", "Unknown", **OF_CLAIM),
        untainted("p"),
        passes(10),
        condition("Initialized", "True", **OF_CLAIM),
    ),
    LIVENESS.case(
        97,
        "a node that does not join within a quarter of an hour is given up",
        never_joins(),
        pool(),
        pod(),
        passes("14m"),
        ended(),
        passes("3m"),
        ended(registration_timeout=1),
    ),
    LIVENESS.case(100, "a node that joined is kept", pool(), pod(), on("p"), passes("1h"), on("p"), ended()),
)

CASES: Final[tuple[Case, ...]] = (*POOLS, *CLASSES, *LIVES)
