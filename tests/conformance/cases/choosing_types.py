"""Which instance types a node is bought from: the cheapest, and as many as minValues ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.conformance.case import Case, Suite
from tests.conformance.instance_types import Size, assorted
from tests.conformance.objects import pod, pods, pool
from tests.conformance.stage import Setting
from tests.conformance.steps.objects_told import annotated, claim_needs, min_values
from tests.conformance.steps.placement import apart, asked_for, cheapest, nodes, on, refused, together
from treenail.domain.packing.problem import MinValuesPolicy, PackingSettings

SUITE: Final = Suite(
    "controllers/provisioning/scheduling/instance_selection_test.go", Setting(types=assorted())
)
PROVISIONING: Final = Suite("controllers/provisioning/suite_test.go")
case = SUITE.case
AMD, ARM = "arch In amd64", "arch In arm64"
LINUX, SPOT, ON_DEMAND = "os In linux", "way In spot", "way In on-demand"
Z1, Z2 = "zone In z1", "zone In z2"
NO_ARM: Final = Setting(types=[size for size in assorted() if size.arch == "amd64"])
NO_ARM_IN_Z2: Final = Setting(
    types=[size for size in assorted() if size.arch == "amd64" or size.places[0][0] != "z2"]
)
SIZES: Final = (("100m", "100Mi"), ("1", "4Gi"), ("2500m", "2Gi"), ("4", "32Gi"), ("16", "1Gi"))
TWO: Final = {"requests": {"cpu": "900m", "memory": "900Mi"}}


def cheap(
    line: int, what: str, *, of_pool: tuple[str, ...] = (), of_pod: tuple[str, ...] = (), **offered: str
) -> Case:
    """Return a case in which one pod gets one of the cheapest types, all of which are as `offered`."""
    return case(
        line,
        f"one of the cheapest types: {what}",
        pool("default", *of_pool),
        pod(need=of_pod),
        on("p", offered),
        cheapest(**offered),
    )


def too_little(line: int, what: str, setting: Setting, *of_pod: str, of_pool: tuple[str, ...] = ()) -> Case:
    steps = pool("default", *of_pool), pod(need=of_pod), refused("p"), nodes(0)
    return case(line, what, *steps, setting=setting)


def sold(*sizes: tuple[int, float], generations: tuple[int, ...] = (), arch: str = "arm64") -> Setting:
    """Return a setting with types type-1, type-2... of these (CPU, price), as many GiB as CPU."""
    known: Mapping[int, int] = dict(enumerate(generations))
    return Setting(
        types=[
            Size(
                name=f"type-{n + 1}",
                cpu=cpu,
                gib=cpu,
                price=price,
                arch=arch,
                generation=known.get(n, 1),
                places=[("z1", "spot")],
            )
            for n, (cpu, price) in enumerate(sizes)
        ]
    )


SMALL_AND_LARGE: Final = sold((1, 0.52), (4, 1.0))
BOTH_ARCHES: Final = Setting(
    types=[
        Size(name="type-1", cpu=1, gib=1, price=0.52, arch="arm64", places=[("z1", "spot")]),
        Size(name="type-2", cpu=4, gib=4, price=1.0, arch="amd64", places=[("z1", "spot")]),
    ]
)
STRICT: Final = {"packing": PackingSettings(min_values=MinValuesPolicy.STRICT)}
BEST: Final = {"packing": PackingSettings(min_values=MinValuesPolicy.BEST_EFFORT)}
THREE_TYPES: Final = "type In type-1 type-2 type-3 min=3"
THREE_ZONES: Final = "zone In z1 z2 z3 min=3"
FOUR_CPU: Final = (
    Size(name="type-1", price=0.52, places=[("z1", "spot")]),
    Size(name="type-2", price=0.52, places=[("z2", "spot")]),
)
TWO_ZONES: Final = (
    Size(
        name="type-1",
        price=0.54,
        places=[("z1", "spot"), ("z2", "spot")],
        prices={("z1", "spot"): 0.52, ("z2", "spot"): 0.54},
    ),
)
RELAXED: Final = ("karpenter.sh/nodeclaim-min-values-relaxed", "true")


CASES: Final[tuple[Case, ...]] = (
    cheap(82, "nothing is asked for"),
    cheap(89, "the pod asks for amd64", of_pod=(AMD,), arch="amd64"),
    cheap(103, "the pod asks for arm64", of_pod=(ARM,), arch="arm64"),
    cheap(116, "the pool asks for amd64", of_pool=(AMD,), arch="amd64"),
    cheap(131, "the pool asks for arm64", of_pool=(ARM,), arch="arm64"),
    cheap(189, "the pod asks for Linux", of_pod=(LINUX,), os="linux"),
    cheap(215, "the pool asks for a zone", of_pool=(Z2,), zone="z2"),
    cheap(230, "the pod asks for a zone", of_pod=(Z2,), zone="z2"),
    cheap(243, "the pool asks for spot", of_pool=(SPOT,), way="spot"),
    cheap(258, "the pod asks for spot", of_pod=(SPOT,), way="spot"),
    cheap(271, "the pool asks for on-demand and a zone", of_pool=(ON_DEMAND, Z1), way="on-demand", zone="z1"),
    cheap(291, "the pod asks for spot and a zone", of_pod=(SPOT, Z1), way="spot", zone="z1"),
    cheap(310, "the pool wants spot, the pod a zone", of_pool=(SPOT,), of_pod=(Z2,), way="spot", zone="z2"),
    cheap(
        362,
        "the pool asks for amd64 and Linux, the pod for spot and a zone",
        of_pool=(AMD, LINUX),
        of_pod=(SPOT, Z2),
        arch="amd64",
        os="linux",
        way="spot",
        zone="z2",
    ),
    cheap(
        396,
        "the pod asks for everything",
        of_pod=(AMD, LINUX, SPOT, Z2),
        arch="amd64",
        os="linux",
        way="spot",
        zone="z2",
    ),
    too_little(428, "a pod asks for arm64, which nobody sells", NO_ARM, ARM),
    too_little(448, "a pod asks for arm64 in a zone that has none", NO_ARM_IN_Z2, ARM, Z2),
    too_little(
        477, "a pool asks for arm64, a pod for a zone that has none", NO_ARM_IN_Z2, Z2, of_pool=(ARM,)
    ),
    case(
        509,
        "three pods of a size fit on one node",
        *(pool(f"pool-{n}", labels_={"batch": str(n)}) for n in range(len(SIZES))),
        *(
            pods(f"p{n}", 3, select={"batch": str(n)}, requests={"cpu": cpu, "memory": memory})
            for n, (cpu, memory) in enumerate(SIZES)
        ),
        *(together(f"p{n}") for n in range(len(SIZES))),
        nodes(len(SIZES)),
    ),
    case(
        563,
        "the on-demand price counts for a pool that asks for it",
        pool("default", ON_DEMAND),
        pod(),
        on("p", type="type-1"),
        setting=Setting(
            types=[
                Size(
                    name="type-1",
                    cpu=1,
                    gib=1,
                    places=[("z1", "on-demand"), ("z1", "spot")],
                    prices={("z1", "on-demand"): 1.0, ("z1", "spot"): 0.2},
                ),
                Size(
                    name="type-2",
                    cpu=1,
                    gib=1,
                    places=[("z1", "on-demand"), ("z1", "spot")],
                    prices={("z1", "on-demand"): 1.3, ("z1", "spot"): 0.1},
                ),
            ]
        ),
    ),
    case(
        621,
        "pods part where the type for both leaves no choice of two",
        pool("default", "type In type-1 type-2 min=2"),
        pods("p", 2, **TWO),
        apart("p"),
        asked_for("type-1", "type-2"),
        setting=SMALL_AND_LARGE,
    ),
    case(
        693,
        "pods part where the generations above one leave no choice of two",
        pool("default", "generation Gt 2 min=2"),
        pods("p", 2, **TWO),
        apart("p"),
        asked_for("type-2", "type-3"),
        setting=sold((1, 0.52), (1, 1.0), (4, 1.2), generations=(2, 3, 4)),
    ),
    case(
        784,
        "a pod needs a generation above one, which leaves no choice of two",
        pool("default", "generation Exists min=2"),
        pods("p", 2, need=["generation Gt 2"], **TWO),
        refused("p"),
        setting=sold((1, 0.52), (4, 1.0), generations=(2, 3)),
    ),
    case(
        870,
        "pods part where the generations below one leave no choice of two",
        pool("default", "generation Lt 4 min=2"),
        pods("p", 2, **TWO),
        apart("p"),
        asked_for("type-1", "type-2"),
        setting=sold((1, 0.52), (2, 1.0), (4, 1.2), generations=(2, 3, 4)),
    ),
    case(
        961,
        "the generations below one leave no choice of two at all",
        pool("default", "generation Lt 4 min=2"),
        pods("p", 2, **TWO),
        refused("p"),
        setting=sold((2, 0.52), (4, 1.2), generations=(2, 4)),
    ),
    case(
        1029,
        "of two minValues for one key the larger counts: In and NotIn",
        pool("default", "type In type-1 type-2 type-3 min=1", "type NotIn type-3 min=2"),
        pods("p", 2, **TWO),
        apart("p"),
        asked_for("type-1", "type-2"),
        setting=sold((1, 0.52), (2, 1.0), (4, 1.2)),
    ),
    case(
        1121,
        "of two minValues for one key the larger counts: Gt and Lt",
        pool("default", "generation Gt 2 min=1", "generation Lt 5 min=2"),
        pods("p", 2, **TWO),
        apart("p"),
        asked_for("type-2", "type-3"),
        setting=sold((1, 0.52), (1, 1.0), (4, 1.2), (4, 1.2), generations=(2, 3, 4, 5)),
    ),
    case(
        1234,
        "fewer types are sold than minValues asks for",
        pool("default", "type Exists min=11"),
        pod(),
        refused("p"),
        setting=Setting(types=assorted()[:10]),
    ),
    case(
        1331,
        "of two minValues for one key the larger counts: Exists and In",
        pool("default", "type Exists min=1", "type In type-1 type-2 min=2"),
        pods("p", 2, **TWO),
        apart("p"),
        asked_for("type-1", "type-2"),
        setting=SMALL_AND_LARGE,
    ),
    case(
        1410,
        "minValues for two keys",
        pool("default", "arch Exists min=2", "type In type-1 type-2 min=1"),
        pods("p", 2, **TWO),
        apart("p"),
        asked_for("type-1", "type-2"),
        setting=BOTH_ARCHES,
    ),
    *(
        PROVISIONING.case(line, what, *steps, setting=Setting(types=types, system=system))
        for line, what, types, system, steps in (
            (
                2911,
                "too few types for minValues, which are strict",
                FOUR_CPU,
                STRICT,
                (pool("default", THREE_TYPES), pod(), refused("p")),
            ),
            (
                2962,
                "too few types for minValues, which are relaxed",
                FOUR_CPU,
                BEST,
                (
                    pool("default", THREE_TYPES),
                    pod(),
                    annotated("p", *RELAXED),
                    claim_needs("p", "type In type-1 type-2 min=2"),
                ),
            ),
            (
                3024,
                "minValues are relaxed before a pool of less weight is asked",
                FOUR_CPU,
                BEST,
                (
                    pool("heavy", THREE_TYPES, weight=100),
                    pool("light", "type In type-1 type-2 type-3", weight=10),
                    pod(),
                    on("p", pool="heavy"),
                    annotated("p", *RELAXED),
                    claim_needs("p", "type In type-1 type-2 min=2"),
                ),
            ),
            (
                3100,
                "of two pools whose minValues are relaxed the heavier is taken",
                FOUR_CPU,
                BEST,
                (
                    pool("heavy", THREE_TYPES, weight=100),
                    pool("light", THREE_TYPES, weight=10),
                    pod(),
                    on("p", pool="heavy"),
                    annotated("p", *RELAXED),
                ),
            ),
            (
                3216,
                "too few zones for minValues, which are strict",
                TWO_ZONES,
                STRICT,
                (pool("default", THREE_ZONES), pod(), refused("p")),
            ),
            (
                3259,
                "too few zones for minValues, which are relaxed",
                TWO_ZONES,
                BEST,
                (pool("default", THREE_ZONES), pod(), annotated("p", *RELAXED), min_values("p", "zone", 2)),
            ),
            (
                3353,
                "too few types and zones for minValues, which are relaxed",
                TWO_ZONES,
                BEST,
                (
                    pool("default", THREE_TYPES, THREE_ZONES),
                    pod(),
                    annotated("p", *RELAXED),
                    claim_needs("p", "type In type-1 min=1"),
                    min_values("p", "zone", 2),
                ),
            ),
        )
    ),
)
