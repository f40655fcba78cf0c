from __future__ import annotations

from treenail.domain.model.fleets import FleetAnswer, FleetError


def test_errors_of_one_code_are_told_by_the_first_of_them() -> None:
    errors = (
        FleetError(code="InsufficientInstanceCapacity", message="no m5.large"),
        FleetError(code="InsufficientInstanceCapacity", message="no c5.large"),
        FleetError(code="InsufficientInstanceCapacity", message="no c5.large"),
        FleetError(code="MaxSpotInstanceCountExceeded", message="full"),
    )

    assert FleetAnswer(errors=errors).why == (
        "InsufficientInstanceCapacity: no c5.large (and 1 more like it); MaxSpotInstanceCountExceeded: full"
    )


def test_an_answer_without_errors_or_instances_says_so() -> None:
    assert FleetAnswer().why == "no instance given"
