"""Which instance types pods get, and how they are packed."""

from __future__ import annotations

from typing import Final

from tests.conformance.case import Case, Suite
from tests.conformance.instance_types import Size, ladder
from tests.conformance.objects import pod, pods, pool
from tests.conformance.stage import Setting
from tests.conformance.steps.placement import apart, asked_for, nodes, on, refused, together

case = Suite("controllers/provisioning/scheduling/suite_test.go").case
FIVE: Final = Setting(types=ladder(5))
GREAT, BETTER = "example.com/great-gpu", "example.com/better-gpu"
WITH_GPUS: Final = Setting(
    types=(
        Size(name="type-0", cpu=1, gib=2, pods=10, more={GREAT: 25}),
        Size(name="type-1", cpu=2, gib=4, pods=20, more={BETTER: 25}),
        *ladder(5)[2:],
    )
)
BOTH: Final = "arch In arm64 amd64"
AMD: Final = "arch In amd64"
AMD_ONLY: Final = {"arch": "amd64"}


def init(**requests: str) -> list[dict[str, object]]:
    return [{"name": "init", "image": "init", "resources": {"requests": requests}}]


CASES: Final[tuple[Case, ...]] = (
    case(1248, "no type has what a pod requests", pool(), pod(requests={"cpu": "512"}), refused("p")),
    case(
        1259,
        "pods of two architectures get a node each",
        pool("default", BOTH),
        pod("a", select={"arch": "amd64"}),
        pod("b", select={"arch": "arm64"}),
        apart("a", "b"),
    ),
    case(
        1284,
        "a pod needs a type of an architecture that its pool leaves out",
        pool("default", AMD),
        pod(need=["type In arm"]),
        refused("p"),
    ),
    case(
        1305,
        "a pod needs a system that no type of its pool's architecture has",
        pool("default", AMD),
        pod(need=["os In ios"]),
        refused("p"),
    ),
    case(
        1327,
        "only types of the other architecture are large enough",
        pool("default", AMD),
        pod(limits={"cpu": "14"}),
        refused("p"),
    ),
    case(
        1342,
        "pods of two operating systems: a pool's images are of one",
        pool("default", BOTH),
        pod("a", select={"os": "linux"}),
        pod("b", select={"os": "windows"}),
        on("a", os="linux"),
        refused("b"),
        differs="an EC2NodeClass has images of one system, in Karpenter on EC2 too; here types have several",
    ),
    case(
        1367,
        "pods that select different types get a node each",
        pool("default", BOTH),
        pod("a", select={"node.kubernetes.io/instance-type": "small"}),
        pod("b", select={"type": "default"}),
        on("a", type="small"),
        on("b", type="default"),
    ),
    case(
        1392,
        "pods that select different zones get a node each",
        pool("default", BOTH),
        pod("a", select={"zone": "z1"}),
        pod("b", select={"zone": "z2"}),
        apart("a", "b", by="zone"),
    ),
    case(
        1417,
        "pods whose devices no one type has get a node each",
        pool(),
        pod("a", limits={GREAT: "1"}),
        pod("b", limits={BETTER: "1"}),
        apart("a", "b"),
        setting=WITH_GPUS,
    ),
    case(
        1446,
        "a pod wants devices that no one type has",
        pool(),
        pod(limits={GREAT: "1", BETTER: "1"}),
        refused("p"),
        setting=WITH_GPUS,
    ),
    case(
        1465,
        "pods select labels of types",
        pool(),
        pod("a", select={"size": "large"}),
        pod("b", select={"size": "small"}),
        on("a", type="type-4"),
        on("b", type="type-0"),
        setting=FIVE,
    ),
    case(
        1478,
        "pods select a type and a label that it does not have",
        pool(),
        pod("a", select={"size": "large", "type": "type-0"}),
        pod("b", select={"size": "small", "type": "type-4"}),
        refused("a", "b"),
        setting=FIVE,
    ),
    case(
        1495,
        "a pod needs a label that one type has",
        pool(),
        pod(need=["optional Exists"]),
        on("p", type="type-4", optional="1"),
        setting=FIVE,
    ),
    case(
        1507,
        "a pod rules out a label that one type has",
        pool(),
        pod(need=["optional DoesNotExist"]),
        on("p", optional=None),
        setting=FIVE,
    ),
    case(
        1522,
        "a small pod gets the smallest type",
        pool(),
        pod(requests={"memory": "100M"}),
        on("p", type="small"),
    ),
    case(
        1534,
        "a pod that just fits the smallest type gets it",
        pool(),
        pod(requests={"memory": "2000M"}),
        on("p", type="small"),
    ),
    case(
        1546,
        "the overhead of a runtime class counts",
        pool(),
        pod(requests={"cpu": "1"}, overhead={"cpu": "2"}),
        on("p", type="default"),
    ),
    case(
        1574,
        "five small pods share the smallest type",
        pool(),
        pods("p", 5, requests={"memory": "10M"}),
        on("p", type="small"),
        together("p"),
    ),
    case(
        1593,
        "forty pods of which two fit on a node get twenty nodes",
        pool(),
        pods("p", 40, select=AMD_ONLY, requests={"memory": "1.8G"}),
        on("p", type="default"),
        nodes(20),
    ),
    case(
        1613,
        "small pods fill what large ones leave",
        pool(),
        pods("large", 40, select=AMD_ONLY, requests={"memory": "1.8G"}),
        pods("small", 20, select=AMD_ONLY, requests={"memory": "400M"}),
        on("large", type="default"),
        on("small", type="default"),
        nodes(20),
    ),
    case(
        1645,
        "a small pod beside a large one gets a small node",
        pool(),
        pod("a", requests={"cpu": "4.5"}),
        pod("b", requests={"cpu": "1"}),
        on("a", type="type-4"),
        on("b", type="type-1"),
        setting=FIVE,
    ),
    case(
        1671,
        "none of a resource that no type has is requested",
        pool(),
        pod(requests={"foo.com/weird-resources": "0"}, limits={"foo.com/weird-resources": "0"}),
        on("p"),
    ),
    case(
        1683,
        "no type has the memory that a pod requests",
        pool(),
        pod(requests={"memory": "2Ti"}),
        refused("p"),
    ),
    case(
        1694,
        "tiny pods fill nodes up to the number of pods these take",
        pool(),
        pods("p", 25, select=AMD_ONLY, requests={"memory": "1m", "cpu": "1m"}),
        on("p", type="small"),
        nodes(5),
    ),
    case(
        1716,
        "the requests of init containers count",
        pool(),
        pod(requests={"memory": "1Gi", "cpu": "1"}, initContainers=init(memory="1Gi", cpu="2")),
        on("p", type="default"),
    ),
    case(
        1741,
        "no type has what an init container requests",
        pool(),
        pod(requests={"memory": "1Gi", "cpu": "1"}, initContainers=init(memory="1Ti", cpu="2")),
        refused("p"),
    ),
    case(
        1763,
        "the cheapest type is taken, however large it is",
        pool(),
        pod(limits={"cpu": "1m", "memory": "1Mi"}),
        on("p", type="large"),
        asked_for("small", "medium", "large"),
        setting=Setting(
            types=(
                Size(name="medium", cpu=2, gib=2, price=3.0, places=[("z1", "on-demand")]),
                Size(name="small", cpu=1, gib=1, price=2.0, places=[("z1", "on-demand")]),
                Size(name="large", cpu=4, gib=4, price=1.0, places=[("z1", "on-demand")]),
            )
        ),
    ),
    case(
        5197,
        "a pool is changed to require a type that there is not",
        pool(),
        pod("before"),
        on("before"),
        pool("default", "type In none-such"),
        pod(requests={"cpu": "32", "memory": "256Gi"}),
        refused("p"),
    ),
    case(
        5242,
        "a pool requires an architecture that there is not",
        pool("default", "arch In none-such"),
        pods("p", 3),
        refused("p"),
        nodes(0),
    ),
    case(
        5273,
        "a pool requires two architectures at once",
        pool("default", "arch In amd64", "arch In arm64"),
        pod(),
        refused("p"),
        nodes(0),
    ),
    case(
        5302,
        "a pool requires zones that there are not",
        pool("default", "zone In nowhere-1 nowhere-2"),
        pod(),
        refused("p"),
        nodes(0),
    ),
)
