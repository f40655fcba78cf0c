"""Which labels pods may ask for, and which labels nodes then have."""

from __future__ import annotations

from typing import Final

from tests.conformance.case import Case, Suite
from tests.conformance.objects import pod, pool
from tests.conformance.steps.placement import apart, nodes, on, refused, together

case = Suite("controllers/provisioning/scheduling/suite_test.go").case
ZONES: Final = "zone In z1 z2 z3 unknown"
OWN: Final = {"test-key": "test-value"}
IS: Final = "test-key In test-value"
IS_OTHER: Final = "test-key In another-value"
IS_EITHER: Final = "test-key In test-value another-value"
OF_KUBERNETES: Final = {
    "kubernetes.io/test": "test-value",
    "k8s.io/test": "test-value",
    "subdomain.kubernetes.io/test": "test-value",
    "subdomain.k8s.io/test": "test-value",
}

CASES: Final[tuple[Case, ...]] = (
    case(155, "the node of any pod has the labels of its pool", pool(labels_=OWN), pod(), on("p", OWN)),
    case(
        163,
        "a pod selects another value of a pool's label",
        pool(labels_=OWN),
        pod(select={"test-key": "different-value"}),
        refused("p"),
    ),
    case(172, "a pod selects a label that no pool has", pool(), pod(select=OWN), refused("p")),
    case(
        180,
        "a pool's label is one of those that a pod needs",
        pool(labels_=OWN),
        pod(need=[IS_EITHER]),
        on("p", OWN),
    ),
    case(
        192,
        "a pool's label is none of those that a pod needs",
        pool(labels_=OWN),
        pod(need=[IS_OTHER]),
        refused("p"),
    ),
    case(205, "a pool is bound to a zone", pool("default", "zone In z2"), pod(), on("p", zone="z2")),
    case(
        214,
        "a pod selects one of a pool's zones",
        pool("default", "zone In z1 z2"),
        pod(select={"zone": "z2"}),
        on("p", zone="z2"),
    ),
    case(225, "a pod selects a host name", pool(), pod(select={"host": "red-node"}), refused("p"), nodes(0)),
    case(
        233,
        "a pod selects a zone that there is not",
        pool("default", "zone In z1"),
        pod(select={"zone": "unknown"}),
        refused("p"),
    ),
    case(
        243,
        "a pod selects a zone that its pool leaves out",
        pool("default", "zone In z1"),
        pod(select={"zone": "z2"}),
        refused("p"),
    ),
    case(253, "a pod needs a zone", pool(), pod(need=["zone In z3"]), on("p", zone="z3")),
    case(264, "a pool needs more than 8 CPU", pool("default", "cpus Gt 8"), pod(), on("p", cpus="16")),
    case(273, "a pool needs less than 8 CPU", pool("default", "cpus Lt 8"), pod(), on("p", cpus="2")),
    case(282, "a pool needs 16 CPU at least", pool("default", "cpus Gte 16"), pod(), on("p", cpus="16")),
    case(291, "a pool needs 2 CPU at most", pool("default", "cpus Lte 2"), pod(), on("p", cpus="2")),
    case(300, "a pod needs a zone that there is not", pool(), pod(need=["zone In unknown"]), refused("p")),
    case(
        310,
        "a pod rules out all zones but one",
        pool(),
        pod(need=["zone NotIn z1 z2 unknown"]),
        on("p", zone="z3"),
    ),
    case(321, "a pod rules out every zone", pool(), pod(need=["zone NotIn z1 z2 z3 unknown"]), refused("p")),
    case(
        332,
        "a pod prefers a zone that it may be in",
        pool(),
        pod(need=[ZONES], prefer=[(1, ["zone In z2 unknown"])]),
        on("p", zone="z2"),
    ),
    case(
        346,
        "a pod prefers a zone that there is not",
        pool(),
        pod(need=[ZONES], prefer=[(1, ["zone In unknown"])]),
        on("p"),
    ),
    case(
        359,
        "a pod would rather not be in two of the zones",
        pool(),
        pod(need=[ZONES], prefer=[(1, ["zone NotIn z1 z3"])]),
        on("p", zone="z2"),
    ),
    case(
        373,
        "a pod would rather be in none of the zones",
        pool(),
        pod(need=[ZONES], prefer=[(1, ["zone NotIn z1 z2 z3"])]),
        on("p"),
    ),
    case(
        386,
        "selector, requirement and preference agree on a zone",
        pool(),
        pod(select={"zone": "z3"}, need=["zone In z1 z2 z3"], prefer=[(1, ["zone In z1 z2 z3"])]),
        on("p", zone="z3"),
    ),
    case(
        401,
        "selector, requirement and preference agree on a zone and a type",
        pool(),
        pod(
            select={"zone": "z3", "type": "arm"},
            need=["zone In z1 z3", "type In default arm"],
            prefer=[(1, ["zone NotIn unknown", "type NotIn unknown"])],
        ),
        on("p", zone="z3", type="arm"),
    ),
    case(426, "a pod needs a label that may not be set", pool(), pod(need=["host In test"]), refused("p")),
    case(
        442,
        "a pod needs a label of a domain that is not the user's",
        pool(),
        pod(need=["karpenter.sh/test In test"]),
        refused("p"),
    ),
    case(
        453,
        "a pool requires labels of the domains of Kubernetes",
        pool("default", "kubernetes.io/test In test-value", "k8s.io/test In test-value"),
        pod(),
        on("p", {"kubernetes.io/test": "test-value", "k8s.io/test": "test-value"}),
    ),
    case(
        467,
        "a pool requires labels of domains below those of Kubernetes",
        pool("default", *(f"{key} In test-value" for key in OF_KUBERNETES)),
        pod(),
        on("p", dict(OF_KUBERNETES)),
    ),
    case(
        481,
        "pods select well-known labels",
        pool(),
        pod("zone", select={"zone": "z1"}),
        pod("type", select={"type": "default"}),
        pod("arch", select={"arch": "arm64"}),
        pod("os", select={"os": "linux"}),
        pod("way", select={"way": "spot"}),
        on("zone", zone="z1"),
        on("type", type="default"),
        on("arch", arch="arm64"),
        on("os", os="linux"),
        on("way", way="spot"),
    ),
    case(509, "a pod needs a value of a label that no pool has", pool(), pod(need=[IS]), refused("p")),
    case(
        518,
        "a pod rules out a value of a label that no pool has",
        pool(),
        pod(need=["test-key NotIn test-value"]),
        on("p", {"test-key": None}),
    ),
    case(528, "a pod needs a label that no pool has", pool(), pod(need=["test-key Exists"]), refused("p")),
    case(
        537,
        "a pod needs that there is no label, and no pool has it",
        pool(),
        pod(need=["test-key DoesNotExist"]),
        on("p", {"test-key": None}),
    ),
    case(547, "a pool requires one value of its own label", pool("default", IS), pod(), on("p", OWN)),
    case(
        556, "a pod needs the value that a pool requires", pool("default", IS), pod(need=[IS]), on("p", OWN)
    ),
    case(
        568,
        "a pod rules out the value that a pool requires",
        pool("default", IS),
        pod(need=["test-key NotIn test-value"]),
        refused("p"),
    ),
    case(
        579,
        "a pod needs the label that a pool requires",
        pool("default", IS),
        pod(need=["test-key Exists"]),
        on("p", OWN),
    ),
    case(
        591,
        "a pod rules out the label that a pool requires",
        pool("default", IS),
        pod(need=["test-key DoesNotExist"]),
        refused("p"),
    ),
    case(
        603,
        "a pod needs another value than a pool requires",
        pool("default", IS),
        pod(need=[IS_OTHER]),
        refused("p"),
    ),
    case(
        614,
        "a pod rules out another value than a pool requires",
        pool("default", IS),
        pod(need=["test-key NotIn another-value"]),
        on("p", OWN),
    ),
    case(
        626,
        "pods whose needs leave a value of an open label share a node",
        pool("default", IS_EITHER),
        pod("a", need=[IS]),
        pod("b", need=["test-key NotIn another-value"]),
        on("a", OWN),
        together("a", "b"),
    ),
    case(
        646,
        "pods that need different values of an open label get a node each",
        pool("default", IS_EITHER),
        pod("a", need=[IS]),
        pod("b", need=[IS_OTHER]),
        on("a", OWN),
        on("b", {"test-key": "another-value"}),
        apart("a", "b"),
    ),
    case(
        666,
        "that a label is needed does not replace the value that is needed",
        pool(),
        pod(need=["zone In elsewhere", "zone Exists"]),
        refused("p"),
    ),
)
