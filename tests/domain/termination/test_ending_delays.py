from __future__ import annotations

from tests.builders import at
from treenail.domain.model.errors import ConflictError
from treenail.domain.termination.ending_delays import EndingDelays

PATCH = "Kubernetes/patch node"


def test_a_call_that_was_given_up_in_one_stage_does_not_date_back_that_of_the_next() -> None:
    delays = EndingDelays()
    delays.tried(PATCH, (), ConflictError("it changed"), since=at(0), now=at(1))
    ((first,), _) = delays.take(at(10))

    delays.tried(PATCH, (), ConflictError("it changed"), since=at(600), now=at(601))
    ((second,), _) = delays.take(at(610))

    assert (first.at, second.at) == (at(0), at(600))
