"""What of a pod's wishes is given up, in which order, and what is not."""

from __future__ import annotations

from typing import Final

from tests.conformance.case import Case, Suite
from tests.conformance.objects import pod, pool
from tests.conformance.steps.placement import on, refused

case = Suite("controllers/provisioning/scheduling/suite_test.go").case

CASES: Final[tuple[Case, ...]] = (
    case(
        1128,
        "the only term of a requirement is kept",
        pool("default", "zone In z1", "type In default"),
        pod(either=[["zone In invalid"]]),
        refused("p"),
    ),
    case(
        1144,
        "of several terms the first that can be met counts",
        pool(),
        pod(either=[["zone In invalid"], ["zone In invalid"], ["zone In z1"], ["zone In z2"]]),
        on("p", zone="z1"),
    ),
    case(
        1168,
        "preferences that nothing meets are given up, all of them",
        pool(),
        pod(prefer=[(1, ["zone In invalid"]), (1, ["type In invalid"])]),
        on("p"),
    ),
    case(
        1187,
        "the heaviest preference that can be met is",
        pool("default", "zone In z1 z2"),
        pod(prefer=[(100, ["type In z3"]), (50, ["zone In z2"]), (1, ["zone In z1"])]),
        on("p", zone="z2"),
    ),
    case(
        1214,
        "a preference that contradicts a requirement is given up",
        pool(),
        pod(need=["zone In z3"], prefer=[(1, ["zone NotIn z3"])]),
        on("p", zone="z3"),
    ),
    case(
        1235,
        "a preference that contradicts itself is given up",
        pool(),
        pod(prefer=[(1, ["zone In invalid", "zone NotIn invalid"])]),
        on("p"),
    ),
)
