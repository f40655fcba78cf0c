from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.builders import at, claim, node_pool
from treenail.domain.disruption.candidates import Candidates
from treenail.domain.disruption.drift_brake import DriftBrake
from treenail.domain.model.node_class_status import ImageMeant, NodeClassMeaning
from treenail.domain.model.nodes import NodeClaim

OLD = NodeClassMeaning(images=(ImageMeant(id="ami-old", requirements=()),))
NEW = NodeClassMeaning(images=(ImageMeant(id="ami-new", requirements=()),))


def made(name: str, seconds: float) -> NodeClaim:
    return replace(claim(name), created_at=at(seconds))


def braking() -> DriftBrake:
    brake = DriftBrake()
    brake.release(at(0))
    brake.meant(OLD, at(0))
    return brake


def test_a_new_node_that_drifts_holds_replacing_back_for_longer_each_time() -> None:
    brake, now, pauses = braking(), 100.0, []

    for number in range(10):
        assert brake.drifted(made(f"c{number}", now), at(now))
        assert brake.until is not None
        pauses.append((brake.until - at(now)) / timedelta(minutes=1))
        now += pauses[-1] * 60

    assert pauses == [10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440]


def test_what_was_made_before_a_change_or_is_old_or_known_shows_nothing() -> None:
    brake = braking()

    assert not brake.drifted(made("before", 59), at(90))
    assert not brake.drifted(made("old", 100), at(1000))
    assert brake.drifted(made("c1", 100), at(110))
    assert not brake.drifted(made("c1", 100), at(800))
    assert not brake.drifted(made("c2", 100), at(120))


def test_another_image_than_ever_is_no_reason_to_hold_back_and_one_that_comes_and_goes_is() -> None:
    brake = braking()
    brake.meant(NEW, at(200))
    assert not brake.drifted(made("c1", 100), at(200))
    brake.meant(OLD, at(300))

    assert brake.drifted(made("c2", 290), at(300))


def test_a_change_of_the_pool_releases_the_brake() -> None:
    brake = braking()
    brake.drifted(made("c1", 100), at(110))

    brake.release(at(120))

    assert brake.until is None
    assert not brake.one_at_a_time(at(120))


def test_after_the_pause_one_node_at_a_time_is_replaced_and_in_the_end_all() -> None:
    brake = braking()
    known = Candidates(brake)
    for name in ("c1", "c2", "c3"):
        known.note(name, made(name, 0))
        known.note_drift(name, at(100))
    brake.drifted(made("new", 100), at(110))

    def proposed(seconds: float) -> list[tuple[str, ...]]:
        return [one.candidates for one in known.propose(node_pool(), at(seconds))]

    assert known.next_due(node_pool()) == at(710)
    assert proposed(709) == []
    assert proposed(710) == [("c1",)]
    known.note("c1", None)
    assert proposed(1300) == []
    assert proposed(1310) == [("c2", "c3")]
