from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from treenail.adapters.kubernetes.condition_writes import merged_conditions
from treenail.adapters.kubernetes.resources import AWS_NODE_TEMPLATE, EC2_NODE_CLASS, Resource
from treenail.adapters.kubernetes.stored import Stored
from treenail.domain.model.nodes import READY, Condition, Status

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def stored(resource: Resource, generation: int) -> Stored:
    return Stored.of(resource, json.dumps({"metadata": {"name": "x", "generation": generation}}).encode())


@pytest.mark.parametrize(
    ("about", "shown"), [(0, 5), (5, 5), (4, 4), (6, 5)], ids=["not known", "this", "the last", "another"]
)
def test_a_condition_says_which_generation_it_is_about(about: int, shown: int) -> None:
    (written,) = merged_conditions(
        stored(EC2_NODE_CLASS, 5), (Condition(READY, Status.TRUE),), NOW, observed=about
    )

    assert written["observedGeneration"] == shown


def test_conditions_of_the_old_generation_say_nothing_of_that() -> None:
    (written,) = merged_conditions(
        stored(AWS_NODE_TEMPLATE, 5), (Condition(READY, Status.TRUE),), NOW, observed=4
    )

    assert "observedGeneration" not in written
