from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.model.capacity_buffers import (
    LOWEST_PRIORITY,
    CapacityBuffer,
    of_buffer,
    placeholder_spec,
)
from treenail.domain.model.pods import PodSpec, PodVolume
from treenail.domain.model.resources import Resources

ONE = Resources({"cpu": 2000, "memory": 4 << 30, "pods": 1})


def limits(**amounts: int) -> Resources:
    return Resources(amounts)


@pytest.mark.parametrize(
    ("buffer", "replicas", "places"),
    [
        (CapacityBuffer(name="a", replicas=3), None, 3),
        (CapacityBuffer(name="a", percentage=20), 10, 2),
        (CapacityBuffer(name="a", percentage=20), 11, 3),
        (CapacityBuffer(name="a", percentage=1), 1, 1),
        (CapacityBuffer(name="a", percentage=0), 100, 0),
        (CapacityBuffer(name="a", percentage=50), 0, 0),
        (CapacityBuffer(name="a", percentage=50), None, 0),
        (CapacityBuffer(name="a", percentage=20, replicas=5), 10, 5),
        (CapacityBuffer(name="a", percentage=80, replicas=5), 10, 8),
        (CapacityBuffer(name="a", replicas=9, limits=limits(cpu=7000)), None, 3),
        (CapacityBuffer(name="a", limits=limits(cpu=7000)), None, 3),
        (CapacityBuffer(name="a", limits=limits(cpu=7000, memory=8 << 30)), None, 2),
        (CapacityBuffer(name="a", replicas=2, limits=limits(gpu=1)), None, 2),
        (CapacityBuffer(name="a", limits=limits(gpu=1)), None, 0),
        (CapacityBuffer(name="a", replicas=4, limits=limits(cpu=0)), None, 0),
        (CapacityBuffer(name="a"), 10, 0),
    ],
)
def test_the_larger_number_counts_and_limits_bound_it(
    buffer: CapacityBuffer, replicas: int | None, places: int
) -> None:
    assert buffer.places(ONE, replicas) == places


@given(st.integers(0, 50), st.integers(0, 200), st.integers(0, 300), st.integers(0, 100_000))
def test_places_never_request_more_than_the_limits(
    replicas: int, percentage: int, scaled: int, cpu: int
) -> None:
    buffer = CapacityBuffer(name="a", replicas=replicas, percentage=percentage, limits=limits(cpu=cpu))

    places = buffer.places(ONE, scaled)

    assert 0 <= places * ONE["cpu"] <= cpu
    assert places <= max(replicas, -(-scaled * percentage // 100))


def test_a_place_asks_for_no_claim_on_storage_and_is_less_than_any_pod() -> None:
    own, inline = PodVolume(name="data", claim_name="data"), PodVolume(name="disk", driver="d", handle="h")
    spec = PodSpec(volumes=(own, inline), scheduling_gates=("wait",), priority=1000, priority_class="high")

    place = placeholder_spec(spec)

    assert place.volumes == (inline,)
    assert (place.priority, place.priority_class, place.scheduling_gates) == (LOWEST_PRIORITY, "", ())


def test_an_owner_of_places_is_told_from_a_workload() -> None:
    assert of_buffer(CapacityBuffer(name="a", uid="u").owner)
    assert not of_buffer("0b7f8a3e-1c1d-4f5e-9d0c-2f0b6f3c8a11")
