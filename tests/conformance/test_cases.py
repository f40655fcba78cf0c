"""Cases of Karpenter's own test suites, played by Treenail."""

from __future__ import annotations

import pytest

from tests.conformance.case import Case
from tests.conformance.cases import affinity, instance_types_for_pods, node_labels, relaxation, spreading
from tests.conformance.objects import pod, pool
from tests.conformance.stage import USUAL
from tests.conformance.steps import apart, asked_for, nodes, on, refused, split

TABLES = (node_labels, relaxation, instance_types_for_pods, spreading, affinity)
CASES = [case for table in TABLES for case in table.CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_it_is_as_in_karpenter(case: Case) -> None:
    case.play()


def test_a_case_has_a_name_of_its_own() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


def test_what_is_not_so_fails() -> None:
    wrong = (
        on("p", zone="z1"),
        refused("p"),
        nodes(2),
        apart("p", "q"),
        split("p", "zone", 2),
        asked_for("arm"),
    )
    given = (pool("default", "zone In z2"), pod("p"), pod("q"))
    for step in wrong:
        with pytest.raises(AssertionError):
            Case(source="none", what="none", steps=(*given, step), setting=USUAL).play()
    with pytest.raises(AssertionError):
        Case(
            source="none",
            what="none",
            steps=(*given, pod("r", select={"zone": "z3"}), on("r")),
            setting=USUAL,
        ).play()
