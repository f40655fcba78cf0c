from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.kubernetes.writing import GONE, Rig
from tests.builders import START, at
from treenail.adapters.kubernetes.event_writes import EventWrites, new_event
from treenail.domain.model.errors import AlreadyExistsError, UnavailableError
from treenail.domain.model.events import ClusterEvent, ObjectRef

POD = ObjectRef("Pod", "web-0", "shop", "uid-0")
REFUSED = ClusterEvent(POD, "FailedScheduling", "no room", warning=True)


def publisher(rig: Rig) -> EventWrites:
    return EventWrites(rig.calls, clock=rig.clock)


def test_an_event_stands_beside_the_object_it_is_about() -> None:
    written = new_event(REFUSED, START)

    assert written["metadata"]["namespace"] == "shop"
    assert written["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "shop",
        "name": "web-0",
        "uid": "uid-0",
    }
    assert (written["type"], written["reason"], written["message"]) == (
        "Warning",
        "FailedScheduling",
        "no room",
    )
    assert written["source"] == {"component": "treenail"}
    assert written["reportingComponent"] == "treenail"
    assert written["firstTimestamp"] == written["lastTimestamp"] == "2026-01-01T00:00:00Z"


def test_what_is_told_of_an_object_without_namespace_stands_in_default() -> None:
    pool = ClusterEvent(ObjectRef("NodePool", "spare"), "Refused", "no room")

    written = new_event(pool, START)

    assert written["metadata"]["namespace"] == "default"
    assert "namespace" not in written["involvedObject"]
    assert written["involvedObject"]["apiVersion"] == "karpenter.sh/v1"


def test_no_two_events_have_one_name() -> None:
    other = replace(REFUSED, message="no money")
    long = replace(REFUSED, about=replace(POD, name="x" * 253))
    cut = [replace(REFUSED, message="y" * 2_000 + end) for end in "ab"]

    written = [new_event(e, START) for e in (REFUSED, other, long, *cut)] + [new_event(REFUSED, at(0.001))]
    names = [w["metadata"]["name"] for w in written]

    assert len(set(names)) == len(names)
    assert all(len(name) <= 253 for name in names)
    assert names[0].startswith("web-0.")


def test_a_message_is_cut_where_it_is_longer_than_an_event_may_be() -> None:
    message = new_event(replace(REFUSED, message="ü" * 600), START)["message"]

    assert len(message.encode()) <= 1024
    assert message.endswith("ü ...")


def test_an_equal_event_is_counted_on_the_first() -> None:
    rig = Rig({}, {}, {})
    events = publisher(rig)

    events.publish(REFUSED)
    rig.clock.run(60)
    events.publish(REFUSED)
    rig.clock.run(60)
    events.publish(REFUSED)

    first, _, third = rig.server.asked
    name = first.body["metadata"]["name"]
    assert (third.method, third.path) == ("PATCH", f"/api/v1/namespaces/shop/events/{name}")
    assert third.body == {"count": 3, "lastTimestamp": "2026-01-01T00:02:00Z"}


def test_an_event_that_comes_again_after_a_long_while_is_a_new_one() -> None:
    rig = Rig({}, {})
    events = publisher(rig)

    events.publish(REFUSED)
    rig.clock.run(601)
    events.publish(REFUSED)

    assert [asked.method for asked in rig.server.asked] == ["POST", "POST"]


def test_an_event_that_was_cleared_away_is_published_anew() -> None:
    rig = Rig({}, GONE, {}, {})
    events = publisher(rig)

    for _ in range(3):
        events.publish(REFUSED)

    assert [asked.method for asked in rig.server.asked] == ["POST", "PATCH", "POST", "PATCH"]
    assert rig.server.asked[-1].body["count"] == 2


def test_an_event_that_was_not_published_is_not_counted_on() -> None:
    rig = Rig(UnavailableError("no answer"), {})
    events = publisher(rig)

    with pytest.raises(UnavailableError):
        events.publish(REFUSED)
    events.publish(REFUSED)

    assert [asked.method for asked in rig.server.asked] == ["POST", "POST"]


def test_an_event_whose_answer_got_lost_is_taken_for_published() -> None:
    publisher(Rig(AlreadyExistsError("it is there"))).publish(REFUSED)


def test_an_object_is_told_of_so_often_and_later_again() -> None:
    rig = Rig(*[{}] * 100)
    events = publisher(rig)
    for number in range(40):
        events.publish(replace(REFUSED, message=f"no room {number}"))
    at_once = len(rig.server.asked)

    rig.clock.run(301)
    events.publish(replace(REFUSED, message="still none"))
    events.publish(replace(REFUSED, message="none at all"))
    events.publish(replace(REFUSED, about=replace(POD, name="web-1", uid="uid-1")))

    assert at_once == 25
    assert len(rig.server.asked) == 27


def test_what_was_counted_in_silence_is_told_with_the_next() -> None:
    rig = Rig(*[{}] * 100)
    events = publisher(rig)
    for _ in range(40):
        events.publish(REFUSED)

    rig.clock.run(301)
    events.publish(REFUSED)

    assert rig.server.asked[-2].body["count"] == 25
    assert rig.server.asked[-1].body["count"] == 41


def test_good_news_of_many_objects_is_told_of_some() -> None:
    rig = Rig(*[{}] * 100)
    events = publisher(rig)

    for number in range(50):
        about = replace(POD, name=f"web-{number}", uid=f"uid-{number}")
        events.publish(ClusterEvent(about, "Nominated", "should schedule on c-0"))
        events.publish(replace(REFUSED, about=about))

    reasons = [asked.body["reason"] for asked in rig.server.asked]
    assert (reasons.count("Nominated"), reasons.count("FailedScheduling")) == (10, 50)


def test_all_events_together_are_fifty_a_second_after_a_hundred() -> None:
    rig = Rig(*[{}] * 200)
    paused: list[float] = []

    def pause(seconds: float) -> None:
        paused.append(seconds)
        rig.clock.run(seconds)

    events = EventWrites(rig.calls, clock=rig.clock, pause=pause)
    for number in range(200):
        events.publish(replace(REFUSED, about=replace(POD, name=f"web-{number}", uid=f"uid-{number}")))

    assert len(rig.server.asked) == 200
    assert sum(paused) == pytest.approx(2.0)


def test_an_event_that_came_several_times_is_counted_as_often() -> None:
    rig = Rig({}, {})
    events = publisher(rig)

    events.publish(REFUSED, 3)
    events.publish(REFUSED, 4)

    assert [asked.body["count"] for asked in rig.server.asked] == [3, 7]


def test_an_object_whose_uid_is_not_known_is_asked_for_it() -> None:
    pool = {"metadata": {"name": "spare", "uid": "uid-pool", "resourceVersion": "1"}}
    rig = Rig(pool, {}, {}, GONE, {})
    events = publisher(rig)
    event = ClusterEvent(ObjectRef("NodePool", "spare"), "FailedValidation", "spec.weight: ...", warning=True)

    events.publish(event)
    events.publish(event)
    events.publish(replace(event, about=ObjectRef("NodePool", "gone")))

    assert rig.server.summary[0] == "GET /apis/karpenter.sh/v1/nodepools/spare"
    assert rig.server.asked[1].body["involvedObject"]["uid"] == "uid-pool"
    assert [asked.method for asked in rig.server.asked] == ["GET", "POST", "PATCH", "GET", "POST"]
    assert "uid" not in rig.server.asked[4].body["involvedObject"]
