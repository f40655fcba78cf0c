from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.model.lanes import Lanes
from treenail.domain.model.purposes import BY_DEFAULT, Purpose, calling_for, purpose_at_hand

INTERRUPTION, PROVISIONING, DISRUPTION, HOUSEKEEPING, TELLING = Purpose
crowds = st.dictionaries(st.sampled_from(Purpose), st.integers(0, 60))


def crowded(crowd: dict[Purpose, int]) -> Lanes[tuple[Purpose, int]]:
    lanes: Lanes[tuple[Purpose, int]] = Lanes()
    for purpose, number in crowd.items():
        for one in range(number):
            lanes.join(purpose, (purpose, one))
    return lanes


def turns(lanes: Lanes[tuple[Purpose, int]]) -> list[tuple[Purpose, int]]:
    order = []
    while (first := lanes.first()) is not None:
        lanes.take(first[0])
        order.append(first[1])
    return order


@given(crowds)
def test_all_have_their_turn_and_nobody_overtakes_in_a_lane(crowd: dict[Purpose, int]) -> None:
    order = turns(crowded(crowd))

    assert Counter(purpose for purpose, _ in order) == Counter({p: n for p, n in crowd.items() if n})
    for purpose in Purpose:
        assert [n for p, n in order if p is purpose] == list(range(crowd.get(purpose, 0)))


def test_each_lane_has_a_tenth_of_the_turns_while_the_urgent_never_stop_coming() -> None:
    lanes = crowded({PROVISIONING: 50, HOUSEKEEPING: 50, TELLING: 50})
    served: Counter[Purpose] = Counter()

    for number in range(500):
        lanes.join(INTERRUPTION, (INTERRUPTION, number))
        first = lanes.first()
        assert first is not None
        lanes.take(first[0])
        served[first[0]] += 1

    assert served == {INTERRUPTION: 353, PROVISIONING: 49, HOUSEKEEPING: 49, TELLING: 49}


def test_a_lane_that_is_not_open_is_passed_over_and_owed_nothing_for_it() -> None:
    lanes = crowded({PROVISIONING: 60, TELLING: 3})
    closed = (INTERRUPTION, PROVISIONING)

    for _ in range(50):
        lanes.take(PROVISIONING, closed)

    assert lanes.first(closed) == (PROVISIONING, (PROVISIONING, 50))
    assert lanes.first() == (PROVISIONING, (PROVISIONING, 50))
    assert lanes.first((TELLING,)) == (TELLING, (TELLING, 0))
    assert lanes.first((DISRUPTION,)) is None


def test_whoever_leaves_is_in_nobodys_way() -> None:
    lanes = crowded({INTERRUPTION: 1, TELLING: 2})

    lanes.leave(INTERRUPTION, (INTERRUPTION, 0))

    assert len(lanes) == 2
    assert lanes.up_to(TELLING, (TELLING, 1)) == [(TELLING, 0), (TELLING, 1)]
    assert turns(lanes) == [(TELLING, 0), (TELLING, 1)]


def test_calls_are_for_what_is_said_of_them_and_else_for_provisioning() -> None:
    assert purpose_at_hand() is BY_DEFAULT is PROVISIONING
    with calling_for(TELLING):
        with calling_for(INTERRUPTION):
            assert purpose_at_hand() is INTERRUPTION
        assert purpose_at_hand() is TELLING
    assert purpose_at_hand() is PROVISIONING
