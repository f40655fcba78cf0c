"""Limits of pools, what claims say, preferences, and which pool is taken."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Suite
from tests.conformance.instance_types import SIX, VENDOR_A, VENDOR_B, Size
from tests.conformance.objects import daemon_set, pod, pods, pool, spread, term
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import passes
from tests.conformance.steps.objects_told import (
    annotated,
    claim_needs,
    claim_requests,
    grace_of_claim,
    node_class_of_claim,
    owned_by_pool,
    taints_of,
)
from tests.conformance.steps.placement import apart, claims, nodes, on, refused, together, waiting
from tests.scenarios.manifests import Manifest
from treenail.domain.packing.problem import PackingSettings, PreferencePolicy

case = Suite("controllers/provisioning/suite_test.go").case

LESS: Final = {"cpu": "5", "memory": "1Gi"}

MOST_OF_TWO: Final = {"cpu": "1750m"}

ALONE: Final[dict[str, Any]] = {"app": "app", "apart": [term()], "requests": {"cpu": "1500m"}}

# Types a little smaller and a little larger than what is wanted.
THREE: Final = Setting(
    types=[
        *SIX,
        *(Size(name=f"cpu-{cpu}", cpu=cpu, gib=gib, pods=10) for cpu, gib in ((10, 4), (11, 5), (12, 6))),
    ]
)

IGNORED: Final = Setting(system={"packing": PackingSettings(preferences=PreferencePolicy.IGNORE)})

MOST: Final = {"cpu": "6", "memory": "2Gi"}


def container(*, sidecar: bool = False, name: str = "init", **amounts: str) -> dict[str, object]:
    made: dict[str, object] = {
        "name": name,
        "image": "init",
        "resources": {"requests": amounts, "limits": amounts},
    }
    return {**made, "restartPolicy": "Always"} if sidecar else made


SIDECAR: Final = container(sidecar=True, name="sidecar", cpu="4900m", memory="2.9Gi")


def limited(limit: dict[str, str]) -> Manifest:
    return pool(limits=limit)


LIMITS: Final = (
    case(
        742,
        "a pool is beyond its limits already",
        limited({"cpu": "20"}),
        pod("before", requests={"cpu": "3"}),
        on("before"),
        limited({"cpu": "2"}),
        pod(requests={"cpu": "3"}),
        refused("p"),
    ),
    case(765, "a node that just keeps a limit", limited({"cpu": "2"}), pod(requests=MOST_OF_TWO), on("p")),
    case(
        782,
        "of two nodes a limit leaves one",
        limited({"cpu": "3"}),
        pods("p", 2, **ALONE),
        waiting("p", 1),
        nodes(1),
    ),
    case(
        832,
        "one node exceeds a limit",
        limited({"cpu": "2"}),
        pod(requests={"cpu": "2100m"}),
        refused("p"),
    ),
    case(
        847,
        "a limit of pods leaves no device",
        limited({"pods": "1"}),
        pod(limits={VENDOR_A: "1"}),
        refused("p"),
    ),
    case(
        863,
        "a second node would exceed a limit",
        limited({"cpu": "2"}),
        pod("a", requests=MOST_OF_TWO),
        on("a"),
        pod("b", requests=MOST_OF_TWO),
        refused("b"),
    ),
    case(
        891,
        "a limit of nodes",
        limited({"nodes": "2"}),
        pod("a", **ALONE),
        on("a"),
        pod("b", **ALONE),
        on("b"),
        pod("c", **ALONE),
        refused("c"),
    ),
)

SELECTED: Final = (
    ("pool", "default"),
    ("zone", "z1"),
    ("type", "default"),
    ("arch", "arm64"),
    ("os", "linux"),
)

NONE_SUCH: Final = ("pool", "zone", "type", "arch", "os", "way")

CLAIMS: Final = (
    case(
        336,
        "pods select labels that nodes may have, and labels that none has",
        pool(),
        *(pod(f"good-{key}", select={key: value}) for key, value in SELECTED),
        *(on(f"good-{key}", {key: value}) for key, value in SELECTED),
        *(pod(f"bad-{key}", select={key: "unknown"}) for key in NONE_SUCH),
        pod("bad-foo", select={"foo": "bar"}),
        *(refused(f"bad-{key}") for key in (*NONE_SUCH, "foo")),
    ),
    case(
        376,
        "pods need labels that nodes may have, and labels that none has",
        pool(),
        *(pod(f"good-{key}", need=[f"{key} In {value}"]) for key, value in SELECTED),
        *(on(f"good-{key}", {key: value}) for key, value in SELECTED),
        *(pod(f"bad-{key}", need=[f"{key} In unknown"]) for key in NONE_SUCH),
        pod("bad-foo", need=["foo In bar"]),
        *(refused(f"bad-{key}") for key in (*NONE_SUCH, "foo")),
    ),
    case(
        416,
        "pods want devices of two makers",
        pool(),
        pod("a", limits={VENDOR_A: "1"}),
        pod("b", limits={VENDOR_B: "1"}),
        on("a", type="gpu-a"),
        on("b", type="gpu-b"),
    ),
    case(
        431,
        "a type takes one pod",
        pool("default", "type In single-pod"),
        pods("p", 3),
        apart("p"),
        nodes(3),
    ),
    case(225, "a pod gets a node", pool(), pod(), on("p"), nodes(1)),
    case(236, "a hundred pods get nodes", pool(), pods("p", 100), on("p")),
    case(259, "a claim of a pool without grace period", pool(), pod(), grace_of_claim("p", None)),
    case(270, "a claim of a pool with grace period", pool(grace="223h"), pod(), grace_of_claim("p", 223)),
    case(
        532,
        "an init container before a sidecar requests the most",
        pool(),
        pod(
            requests=MOST,
            initContainers=[container(cpu="10", memory="4Gi"), SIDECAR],
        ),
        on("p", type="cpu-11"),
        setting=THREE,
    ),
    case(
        583,
        "the containers beside a sidecar request the most",
        pool(),
        pod(requests=MOST, initContainers=[SIDECAR, container(cpu="5", memory="1Gi")]),
        on("p", type="cpu-11"),
        setting=THREE,
    ),
    case(
        634,
        "an init container after a sidecar requests the most",
        pool(),
        pod(requests=LESS, initContainers=[SIDECAR, container(cpu="6", memory="2Gi")]),
        on("p", type="cpu-11"),
        setting=THREE,
    ),
    case(
        685,
        "the requests of a whole pod count in place of its containers'",
        pool(),
        pod(
            resources={
                "limits": {"cpu": "10", "memory": "4Gi"},
                "requests": {"cpu": "9900m", "memory": "3.9Gi"},
            },
            requests=LESS,
            initContainers=[
                container(cpu="6", memory="2Gi"),
                container(sidecar=True, name="sidecar", cpu="4", memory="2Gi"),
            ],
        ),
        on("p", type="cpu-10"),
        setting=THREE,
    ),
    case(
        1528,
        "nodes have the annotations of their pool",
        pool(annotations={"karpenter.sh/do-not-disrupt": "true"}),
        pod(),
        annotated("p", "karpenter.sh/do-not-disrupt", "true"),
    ),
    case(
        1546,
        "nodes have labels for what their pool requires of labels of its own",
        pool(
            "default",
            "key-2 In value-2",
            "key-3 NotIn value-3",
            "key-4 Lt 4",
            "key-5 Gt 5",
            "key-6 Exists",
            "key-7 DoesNotExist",
            labels_={"key-1": "value-1"},
        ),
        pod(),
        on(
            "p",
            {
                "key-1": "value-1",
                "key-2": "value-2",
                "key-3": "0",
                "key-4": "0",
                "key-5": "6",
                "key-6": "0",
                "key-7": None,
            },
            pool="default",
        ),
    ),
    *(
        case(
            line,
            f"nodes have a pool's label of the domain {domain}",
            pool(labels_={f"{domain}/test": "test-value"}),
            pod(need=[f"{domain}/test In test-value"]),
            on("p", {f"{domain}/test": "test-value"}),
        )
        for line, domain in ((1579, "kubernetes.io"), (1601, "subdomain.k8s.io"))
    ),
    case(
        1623,
        "a well-known label that a pool rules out is not put on",
        pool("default", "foo In bar", "node.kubernetes.io/windows-build NotIn test-value"),
        pod(),
        on("p", {"foo": "bar", "node.kubernetes.io/windows-build": None}),
    ),
    case(
        1645,
        "four ways to tolerate a taint",
        pool(taint=["nvidia.com/gpu=true:NoSchedule"]),
        pod("a", tolerate=["nvidia.com/gpu=true:NoSchedule"]),
        pod("b", tolerate=["nvidia.com/gpu:NoSchedule"]),
        pod("c", tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists"}]),
        pod("d", tolerate=[""]),
        *(on(name) for name in "abcd"),
    ),
    case(
        1716,
        "a claim requires what its pool requires",
        pool("default", "key-1 In value", "key-2 In value"),
        pod(),
        claim_needs("p", "key-1 In value", "key-2 In value"),
    ),
    case(
        1766,
        "a claim is left the types of the architecture that its pool requires",
        pool("default", "arch In arm64"),
        pod(),
        claim_needs("p", "arch In arm64", "type In arm"),
    ),
    case(
        1840,
        "a claim is left the types that have what its pods request",
        pool(),
        pod(limits={VENDOR_A: "1"}),
        claim_needs("p", "type In gpu-a"),
    ),
    case(1867, "a claim is owned by its pool", pool(), pod(), owned_by_pool("p")),
    case(1885, "a claim has its pool's node class", pool(), pod(), node_class_of_claim("p", "default")),
    case(
        1913,
        "a claim requests what its pods request",
        pool(),
        pod(requests={"cpu": "1", "memory": "1Mi"}, limits={VENDOR_A: "1"}),
        claim_requests("p", {"cpu": "1", "memory": "1Mi", VENDOR_A: "1", "pods": "1"}),
    ),
    case(
        1939,
        "a claim requests what DaemonSets request as well",
        pool(),
        daemon_set(requests={"cpu": "1", "memory": "1Mi"}),
        pod(requests={"cpu": "1", "memory": "1Mi"}),
        claim_requests("p", {"cpu": "2", "memory": "2Mi", "pods": "2"}),
    ),
    case(
        1959,
        "a claim for two pods requests what a DaemonSet requests once",
        pool(),
        daemon_set(requests={"cpu": "1", "memory": "1Mi"}),
        pods("p", 2, requests={"cpu": "1", "memory": "1Mi"}),
        together("p"),
        claim_requests("p-0", {"cpu": "3", "memory": "3Mi", "pods": "3"}),
    ),
)

PREFERENCES: Final = (
    case(
        2487,
        "preferences are given up before a taint that would rather have no pods",
        pool(taint=["foo=bar:PreferNoSchedule"]),
        pod(prefer=[(1, ["zone In invalid"]), (1, ["type In invalid"])]),
        taints_of("p", "foo=bar:PreferNoSchedule"),
    ),
    *(
        case(
            line,
            f"a pod that prefers a {key} that there is not goes where others are",
            pool(),
            pod("a", requests={"cpu": "2"}),
            pod("b", requests={"cpu": "1"}, prefer=[(1, [f"{key} In value-1"])]),
            together("a", "b"),
        )
        for line, key in ((2558, "zone"), (2559, "host"))
    ),
    *(
        case(
            line,
            f"pods share a node where a soft spread over {key} is ignored",
            pool(),
            pods("p", 5, app="app", spreads=[spread(key, soft=True)]),
            together("p"),
            setting=IGNORED,
        )
        for line, key in ((2660, "zone"), (2661, "host"))
    ),
    *(
        case(
            line,
            f"pods share a node where that they would avoid a {key} is ignored",
            pool(),
            pods("p", 5, app="app", apart_soft=[term("app", key)]),
            together("p"),
            setting=IGNORED,
        )
        for line, key in ((2694, "zone"), (2695, "host"))
    ),
    *(
        case(
            line,
            f"a pod that would be in the {what} of others goes where there is room",
            pool(),
            pod("a", app="foo", select={"zone": "z1"}, requests={"cpu": "2"}),
            pods("b", 2, app="bar", select={"zone": "z2"}, requests={"cpu": "3"}),
            pod("c", requests={"cpu": "1"}, **wish),
            together("a", "c"),
            setting=IGNORED,
        )
        for line, what, wish in (
            (2566, "zone", {"prefer": [(1, ["zone In z2"])]}),
            (2767, "zone of a pod", {"near_soft": [term("bar", "zone")]}),
            (2768, "node of a pod", {"near_soft": [term("bar", "host")]}),
        )
    ),
)

POOLS: Final = (
    case(
        283,
        "there is no pool",
        pod(),
        passes(30),
        waiting("p", 1),
        claims(0),
    ),
    case(
        2773,
        "a pod selects one of two pools",
        pool("first"),
        pool("second"),
        pod(select={"pool": "second"}),
        on("p", pool="second"),
    ),
    case(
        2781,
        "a pod selects the label of one of two pools",
        pool("first", labels_={"foo": "bar"}),
        pool("second"),
        pod(select={"foo": "bar"}),
        on("p", pool="first"),
    ),
    case(
        2797,
        "of two pools the one without a soft taint is taken",
        pool("a-tainted", taint=["foo=bar:PreferNoSchedule"]),
        pool("plain"),
        pod(),
        on("p", pool="plain"),
    ),
    case(
        2815,
        "the pool of the most weight is taken",
        pool("none"),
        pool("light", weight=20),
        pool("heavy", weight=100),
        pods("p", 3),
        on("p", pool="heavy"),
    ),
    case(
        2831,
        "a pod selects a pool though others have more weight",
        pool("none"),
        pool("light", weight=20),
        pool("heavy", weight=100),
        pod(select={"pool": "none"}),
        on("p", pool="none"),
    ),
)


CASES: Final[tuple[Case, ...]] = (*LIMITS, *CLAIMS, *PREFERENCES, *POOLS)
