from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.actors.notices import HEALTH, REBALANCE, RESERVATION, SPOT, STATE, message, useless
from tests.actors.test_interruption_listener import Listening
from tests.builders import START, at
from treenail.adapters.fake.queue import QueueFaults
from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.interruption.notice_responses import InterruptionPolicy, Response
from treenail.domain.model.causes import Cause

RESERVED_UNTIL = {"instance-termination-time": "2026-01-01T00:03:00Z"}

# What is done about each message by default, by whose choice, and when the instance is gone.
TABLE = [
    (SPOT, {}, "spot_interruption", Cause.SPOT_INTERRUPTED, at(120), True),
    (SPOT, {"instance-action": "stop"}, "spot_interruption", Cause.SPOT_INTERRUPTED, at(120), True),
    (REBALANCE, {}, "rebalance_recommendation", Cause.REBALANCE_RECOMMENDED, None, False),
    (STATE, {"state": "stopping"}, "instance_state_change", Cause.INSTANCE_STOPPED, None, True),
    (STATE, {"state": "stopped"}, "instance_state_change", Cause.INSTANCE_STOPPED, START, True),
    (STATE, {"state": "shutting-down"}, "instance_state_change", Cause.INSTANCE_TERMINATED, None, True),
    (STATE, {"state": "terminated"}, "instance_state_change", Cause.INSTANCE_TERMINATED, START, True),
    (HEALTH, {}, "scheduled_change", Cause.SCHEDULED_CHANGE, None, True),
    (
        RESERVATION,
        {},
        "capacity_reservation_interruption",
        Cause.CAPACITY_RESERVATION_INTERRUPTED,
        at(120),
        True,
    ),
    (
        RESERVATION,
        RESERVED_UNTIL,
        "capacity_reservation_interruption",
        Cause.CAPACITY_RESERVATION_INTERRUPTED,
        at(180),
        True,
    ),
]
ACTED_ON = [row for row in TABLE if row[5]]
OF_NO_CONCERN = [
    message(STATE, "i-0", state="pending"),
    message(STATE, "i-0", state="running"),
    message(HEALTH, "i-0", service="RDS"),
    message(HEALTH, "i-0", eventTypeCategory="accountNotification"),
    message(HEALTH, "vol-0"),
]


def told(stage: Listening) -> list[tuple[str, Cause, Any]]:
    return [(m.instance_id, m.cause, m.deadline) for m in stage.cluster.of(NodeInterrupted)]


@pytest.mark.parametrize(("kind", "detail", "choice", "cause", "deadline", "acts"), TABLE)
@pytest.mark.parametrize("chosen", [None, Response.ACT, Response.RECORD])
def test_a_message_is_acted_on_or_recorded_as_the_user_chose(
    kind: str, detail: Any, choice: str, cause: Cause, deadline: Any, *, acts: bool, chosen: Response | None
) -> None:
    choices: dict[str, Any] = {} if chosen is None else {choice: chosen}
    stage = Listening(InterruptionPolicy(**choices))

    stage.queue.put(json.dumps(message(kind, "i-1", **detail)))
    stage.run(1)

    wanted = acts if chosen is None else chosen is Response.ACT
    assert told(stage) == ([("i-1", cause, deadline)] if wanted else [])
    recorded = stage.logged("recorded interruption message")
    assert [line["instance_id"] for line in recorded] == ([] if wanted else ["i-1"])
    assert stage.queue.backlog() == ()


def test_one_choice_leaves_the_others_as_they_are() -> None:
    stage = Listening(InterruptionPolicy(spot_interruption=Response.RECORD))

    for n, (kind, detail, *_) in enumerate(ACTED_ON):
        stage.queue.put(json.dumps(message(kind, f"i-{n}", **detail)))
    stage.run(1)

    assert sorted(told(stage)) == sorted(
        (f"i-{n}", cause, deadline)
        for n, (kind, _, _, cause, deadline, _) in enumerate(ACTED_ON)
        if kind != SPOT
    )


@pytest.mark.parametrize("seed", range(5))
def test_none_is_lost_among_two_hundred_that_mean_nothing_though_all_come_twice(seed: int) -> None:
    dice = random.Random(seed)
    stage = Listening()
    stage.queue.faults = QueueFaults(duplicate=1.0, unavailable=0.2, answer_lost=0.2)
    real = {f"i-{n}": row for n, row in enumerate(ACTED_ON * 3)}
    bodies = [json.dumps(message(row[0], instance, **row[1])) for instance, row in real.items()]
    bodies += [json.dumps(event) for event in OF_NO_CONCERN] + useless(dice, 200)
    dice.shuffle(bodies)

    for body in bodies:
        stage.queue.put(body)
        stage.run(0.1)
    stage.run(200)

    assert sorted(told(stage)) == sorted((instance, row[3], row[4]) for instance, row in real.items())
    assert stage.queue.backlog() == ()


def test_messages_are_heard_again_when_the_queue_that_vanished_is_back() -> None:
    stage = Listening()
    stage.queue.put(json.dumps(message(SPOT, "i-before")))
    stage.run(1)

    stage.queue.go(60)
    stage.queue.put(json.dumps(message(SPOT, "i-meanwhile")))  # nobody could hear of it
    stage.run(61)
    stage.queue.put(json.dumps(message(SPOT, "i-after")))
    stage.run(1)

    assert [instance for instance, _, _ in told(stage)] == ["i-before", "i-after"]
    assert stage.queue.backlog() == ()
