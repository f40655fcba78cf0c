from __future__ import annotations

from dataclasses import replace

import pytest

from tests.domain.launch.test_launching import TYPES, group, only, wanting
from treenail.domain.model import labels
from treenail.domain.model.fleets import EFA
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources


@pytest.mark.parametrize(
    ("values", "dedicated"),
    [((), False), (("default",), False), (("default", "dedicated"), False), (("dedicated",), True)],
)
def test_hardware_of_its_own_is_for_claims_that_take_no_other(
    values: tuple[str, ...], *, dedicated: bool
) -> None:
    wanted = [Requirement(labels.INSTANCE_TENANCY, frozenset(values))] if values else []
    one = replace(wanting("c1"), requirements=Requirements(wanted))

    assert only(one).dedicated is dedicated


def test_fabric_adapters_are_for_claims_whose_pods_ask_for_them() -> None:
    asking = replace(wanting("c2"), requests=Resources.parse({"cpu": "1", EFA: "1"}))

    types = [replace(one, capacity=Resources({**one.capacity, EFA: 4})) for one in TYPES]

    calls, _ = group(wanting("c1"), asking, types=types)

    assert {call.claims: call.request.efa for call in calls} == {("c1",): False, ("c2",): True}
    digests = {call.request.digest() for call in calls}
    assert len(digests) == 2
