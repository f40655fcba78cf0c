"""Pods with volumes: where these are or may be made, how many a node takes, and broken ones."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Suite
from tests.conformance.instance_types import Size, ladder
from tests.conformance.objects import pod, pods, pool, spread, term
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import limited_volumes
from tests.conformance.steps.placement import apart, nodes, on, one_of, refused, split, together, waiting
from tests.conformance.volumes import claim, ephemeral, storage_class, uses, volume

SCHEDULING: Final = Suite("controllers/provisioning/scheduling/suite_test.go")
case = Suite("controllers/provisioning/suite_test.go").case
ROOMY: Final = Setting(types=[Size(name="roomy", cpu=1024, pods=1024)])
LARGE_ONLY_HAS_LABEL: Final = Setting(types=ladder(5))
IN_Z3: Final = ["zone In z3"]
IN_TWO: Final = storage_class("fast", "z2", "z3")
HERE: Final = ["host In nowhere"]
LOCAL: Final = {"local": {"path": "/mnt"}}
HOST_PATH: Final = {"hostPath": {"path": "/mnt"}}
IN_TREE: Final = "kubernetes.io/aws-ebs"


def apart_by_zone(app: str = "app") -> dict[str, Any]:
    return {"app": app, "apart": [term(app, "zone")]}


def full_node(line: int, what: str, *given: Any, spec: dict[str, Any], driver: str) -> Case:
    """Return a case in which a node takes one volume of a driver, and a second pod brings another."""
    return SCHEDULING.case(
        line,
        what,
        pool(),
        *given,
        pod("a", **spec),
        on("a", zone="z1"),
        limited_volumes("a", driver, 1),
        pod("b", **spec),
        on("b", zone="z1"),
        apart("a", "b"),
        setting=Setting(scheduler=True),
    )


LIMITS: Final = (
    SCHEDULING.case(
        2903,
        "six pods with two volumes each where a node takes ten",
        pool(),
        storage_class("fast", "z1"),
        pod("first", select={"zone": "z1"}),
        limited_volumes("first", "fake.csi.provider", 10),
        *(claim(f"{which}-{n}") for which in "ab" for n in range(6)),
        *(pod(f"p-{n}", **uses(f"a-{n}", f"b-{n}")) for n in range(6)),
        on("p", zone="z1"),
        nodes(2),
        setting=Setting(types=ROOMY.types, scheduler=True),
    ),
    SCHEDULING.case(
        2955,
        "a hundred pods with one volume where a node takes ten",
        pool(),
        storage_class("fast", "z1"),
        pod("first", select={"zone": "z1"}),
        limited_volumes("first", "fake.csi.provider", 10),
        volume("disk", ["zone In z1"]),
        claim("data", bound_to="disk"),
        pods("p", 100, **uses("data")),
        together("p"),
        nodes(1),
        setting=ROOMY,
    ),
    SCHEDULING.case(
        3009,
        "five pods with a volume of NFS",
        pool(),
        pod("first"),
        volume("disk", source={"nfs": {"server": "fake.server", "path": "/some/path"}}, of=""),
        claim("data", of="", bound_to="disk"),
        pods("p", 5, **uses("data", "data")),
        together("p", "first"),
        setting=ROOMY,
    ),
    full_node(
        3204,
        "an ephemeral volume of the class that it names counts",
        storage_class("fast", "z1"),
        storage_class("default", "z1", driver="other-provider", default=True),
        spec=ephemeral("fast"),
        driver="fake.csi.provider",
    ),
    full_node(
        3318,
        "an ephemeral volume of the default class counts",
        storage_class("default", "z1", default=True),
        spec=ephemeral(None),
        driver="fake.csi.provider",
    ),
    full_node(
        3958,
        "an ephemeral volume of an in-tree class counts for the driver that took it over",
        storage_class("in-tree", "z1", driver=IN_TREE, default=True),
        spec=ephemeral("in-tree"),
        driver="ebs.csi.aws.com",
    ),
)

PLACES: Final = (
    SCHEDULING.case(
        3047,
        "volumes that two zones reach, and pods that must part",
        pool(),
        *(volume(f"disk-{n}", ["zone In z1"], ["zone In z2"]) for n in range(2)),
        *(claim(f"data-{n}", bound_to=f"disk-{n}") for n in range(2)),
        *(pod(f"p-{n}", **apart_by_zone(), **uses(f"data-{n}")) for n in range(2)),
        one_of("p", "zone", "z1", "z2"),
        apart("p", by="zone"),
    ),
    *(
        SCHEDULING.case(
            line,
            f"a {kind} volume is on a host or in a zone: the host is left out of account",
            pool(),
            volume("disk", ["host In existing-host"], ["zone In invalid-zone"], source=source),
            claim("data", bound_to="disk"),
            pod(**uses("data")),
            on("p"),
        )
        for line, kind, source in ((3115, "local", LOCAL), (3116, "hostPath", HOST_PATH))
    ),
    SCHEDULING.case(
        3118,
        "a class allows two topologies, and pods must part",
        pool(),
        storage_class("fast", topologies=[{"zone": ["z1"]}, {"zone": ["z2"]}]),
        *(claim(f"data-{n}") for n in range(2)),
        *(pod(f"p-{n}", **apart_by_zone(), **uses(f"data-{n}")) for n in range(2)),
        one_of("p", "zone", "z1", "z2"),
        apart("p", by="zone"),
    ),
    SCHEDULING.case(
        3165,
        "of the topologies of two classes one pair agrees",
        pool(),
        storage_class("a", topologies=[{"optional": ["7"]}, {"optional": ["1"]}]),
        storage_class(
            "b", topologies=[{"zone": ["z1"], "optional": ["1"]}, {"zone": ["z2"], "optional": ["7"]}]
        ),
        claim("data-a", of="a"),
        claim("data-b", of="b"),
        pod(**uses("data-a", "data-b")),
        on("p", zone="z1", optional="1"),
        setting=LARGE_ONLY_HAS_LABEL,
    ),
    case(
        2103,
        "a volume may be made in one of the zones that a pod needs",
        pool(),
        IN_TWO,
        claim(),
        pod(need=["zone In z1 z3"], **uses("data")),
        on("p", zone="z3"),
    ),
    case(
        2116,
        "an ephemeral volume may be made in one of the zones that a pod needs",
        pool(),
        IN_TWO,
        pod(need=["zone In z1 z3"], **ephemeral()),
        on("p", zone="z3"),
    ),
    case(
        2138,
        "a volume may be made in none of the zones that a pod needs",
        pool(),
        IN_TWO,
        claim(),
        pod(need=["zone In z1"], **uses("data")),
        refused("p"),
    ),
    case(
        2150,
        "an ephemeral volume may be made in none of the zones that a pod needs",
        pool(),
        IN_TWO,
        pod(need=["zone In z1"], **ephemeral()),
        refused("p"),
    ),
    case(
        2171,
        "a volume is in a zone",
        pool(),
        IN_TWO,
        volume("disk", IN_Z3),
        claim("data", bound_to="disk"),
        pod(**uses("data")),
        on("p", zone="z3"),
    ),
    case(
        2182,
        "an ephemeral volume is there already, in a zone",
        pool(),
        IN_TWO,
        volume("disk", IN_Z3),
        claim("p-tmp", bound_to="disk"),
        pod(**ephemeral()),
        on("p", zone="z3"),
    ),
    *(
        case(
            line,
            f"the host of a {kind} volume is left out of account ({how})",
            pool(),
            storage_class("fast", driver="kubernetes.io/no-provisioner"),
            volume("disk", HERE, source=source),
            claim("p-tmp", bound_to="disk"),
            pod(**spec),
            on("p"),
        )
        for line, kind, how, source, spec in (
            (2241, "local", "claim", LOCAL, uses("p-tmp")),
            (2242, "hostPath", "claim", HOST_PATH, uses("p-tmp")),
            (2287, "local", "ephemeral", LOCAL, ephemeral()),
            (2288, "hostPath", "ephemeral", HOST_PATH, ephemeral()),
        )
    ),
    case(
        2290,
        "the host of a CSI volume counts",
        pool(),
        IN_TWO,
        volume("disk", HERE),
        claim("data", bound_to="disk"),
        pod(**uses("data")),
        refused("p"),
    ),
    case(
        2317,
        "a volume is in another zone than a pod needs",
        pool(),
        IN_TWO,
        volume("disk", IN_Z3),
        claim("data", bound_to="disk"),
        pod(need=["zone In z1"], **uses("data")),
        refused("p"),
    ),
    case(
        2330,
        "an ephemeral volume is in another zone than a pod needs",
        pool(),
        IN_TWO,
        volume("disk", IN_Z3),
        claim("p-tmp", bound_to="disk"),
        pod(need=["zone In z1"], **ephemeral()),
        refused("p"),
    ),
    case(
        2353,
        "the zone of a volume holds whichever of a pod's terms is met",
        pool(),
        IN_TWO,
        volume("disk", IN_Z3),
        claim("data", bound_to="disk"),
        pod(either=[["example.com/label In unsupported"], ["way In on-demand"]], **uses("data")),
        on("p", zone="z3", way="on-demand"),
    ),
    Suite("controllers/provisioning/scheduling/topology_test.go").case(
        3359,
        "a pod whose volume is in a zone is not kept from it by the zones that it spreads over",
        pool("default", "way In on-demand"),
        volume("disk", ["zone In z1"]),
        claim("data", bound_to="disk"),
        pods("p", 3, app="app", spreads=[spread("zone", minDomains=3)]),
        split("app", "zone", 1, 1, 1),
        pod("last", app="app", spreads=[spread("zone", minDomains=3)], **uses("data")),
        on("last", zone="z1"),
        split("app", "zone", 1, 1, 2),
    ),
)


def nothing(line: int, what: str, *given: Any, spec: dict[str, Any] | None = None, **more: Any) -> Case:
    """Return a case in which a pod waits for a volume that nothing comes of, and another one gets a node."""
    suite = SCHEDULING if line > 3500 else Suite("controllers/provisioning/suite_test.go")
    return suite.case(
        line,
        what,
        pool(),
        *given,
        pod(**(spec or uses("data"))),
        pod("plain"),
        on("plain"),
        waiting("p", 1),
        nodes(1),
        **more,
    )


BROKEN: Final = (
    nothing(1995, "there is no such claim"),
    nothing(2024, "a claim of no class is not bound", claim(of="")),
    nothing(2054, "a claim of a class that there is not is not bound", claim(of="missing")),
    nothing(2090, "a claim is bound to a volume that there is not", claim(bound_to="missing")),
    case(
        2004,
        "a claim of no class is bound",
        pool(),
        volume("disk", of=""),
        claim(of="", bound_to="disk"),
        pod(**uses("data")),
        on("p"),
    ),
    case(
        2034,
        "a claim of a class that there is not is bound",
        pool(),
        volume("disk", of="missing"),
        claim(of="missing", bound_to="disk"),
        pod(**uses("data")),
        on("p"),
    ),
    nothing(3749, "a claim has lost its volume", storage_class("fast", "z1"), claim(phase="Lost")),
    nothing(
        3807,
        "a claim names a volume and is not bound to it yet",
        storage_class("fast", "z1"),
        volume("disk"),
        claim(bound_to="disk", completed=False),
    ),
    SCHEDULING.case(
        3808,
        "a claim is bound to the volume that it names",
        pool(),
        storage_class("fast", "z1"),
        volume("disk"),
        claim(bound_to="disk"),
        pod(**uses("data")),
        on("p"),
    ),
    *(
        SCHEDULING.case(
            line,
            f"an ephemeral volume of {what} is bound",
            pool(),
            volume("disk", of=of),
            claim("p-tmp", of=of, bound_to="disk"),
            pod(**ephemeral(of)),
            on("p"),
        )
        for line, what, of in ((3859, "a class that there is not", "missing"), (3860, "no class", ""))
    ),
    *(
        nothing(line, f"an ephemeral volume of {what} is not there", spec=ephemeral(of))
        for line, what, of in ((3895, "a class that there is not", "missing"), (3896, "no class", ""))
    ),
)

CASES: Final[tuple[Case, ...]] = (*LIMITS, *PLACES, *BROKEN)
