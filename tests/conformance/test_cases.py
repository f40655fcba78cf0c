"""Cases of Karpenter's own test suites, played by Treenail."""

from __future__ import annotations

import pytest

from tests.conformance.case import Case
from tests.conformance.cases import CASES
from tests.conformance.objects import pod, pool
from tests.conformance.stage import USUAL
from tests.conformance.steps.placement import apart, asked_for, nodes, on, refused, split

# None of this is so where p and q run on one node in z2, and another pod waits.
WRONG = (
    on("p", zone="z1"),
    refused("p"),
    nodes(2),
    apart("p", "q"),
    split("p", "zone", 2),
    asked_for("arm"),
    on("waiting"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_it_is_as_in_karpenter_or_differs_as_is_said(case: Case) -> None:
    case.play()


def test_a_case_has_a_name_of_its_own() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_step_fails_where_what_it_expects_is_not_so(number: int) -> None:
    given = (pool("default", "zone In z2"), pod("p"), pod("q"), pod("waiting", select={"zone": "z3"}))
    with pytest.raises(AssertionError):
        Case(source="", what="", steps=(*given, WRONG[number]), setting=USUAL).play()
