from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.actors.stage import Stage
from tests.builders import START, at
from tests.probes import Probe
from treenail.actors.batcher import Batcher
from treenail.domain.cluster.batch_window import (
    BatchClosed,
    BatchWindow,
    Decision,
    NodesToReplace,
    PodBecamePending,
    PodLeft,
    UrgentWork,
)

IDLE, MOST, URGENT = 1.0, 10.0, 0.1


def batcher(stage: Stage) -> tuple[Any, Probe]:
    cluster = Probe()
    window = BatchWindow(idle_seconds=IDLE, max_seconds=MOST, urgent_seconds=URGENT)
    return stage.host(lambda runtime: Batcher(runtime, cluster=cluster, window=window)), cluster


def pending(uid: str) -> PodBecamePending:
    return PodBecamePending(uid=uid, since=START)


def closed(cluster: Probe) -> list[Decision]:
    return [m.decision for m in cluster.of(BatchClosed)]


def test_a_lone_pod_is_decided_on_after_the_idle_time() -> None:
    stage = Stage()
    actor, cluster = batcher(stage)

    actor.tell(pending("a"))
    stage.run(0.9)
    assert cluster.received == []
    stage.run(0.1)

    assert closed(cluster) == [Decision(id="0000000001", opened_at=START, closed_at=at(1), pods=1)]


def test_pods_that_come_together_are_decided_on_together() -> None:
    stage = Stage()
    actor, cluster = batcher(stage)

    for n in range(5):
        stage.send(n / 2, actor, pending(f"p{n}"))
    stage.run(60)

    assert [(d.opened_at, d.closed_at, d.pods) for d in closed(cluster)] == [(START, at(3), 5)]


def test_a_trickle_cannot_hold_the_window_open_for_ever() -> None:
    stage = Stage()
    actor, cluster = batcher(stage)

    for n in range(40):
        stage.send(n / 2, actor, pending(f"p{n}"))
    stage.run(60)

    assert [(d.closed_at, d.pods) for d in closed(cluster)] == [(at(10), 21), (at(20.5), 19)]


def test_urgent_work_is_decided_on_at_once_and_says_why() -> None:
    stage = Stage()
    actor, cluster = batcher(stage)
    stage.run(5)

    actor.tell(UrgentWork(why="spot_interrupted"))
    stage.run(1)

    (decision,) = closed(cluster)
    assert (decision.opened_at, decision.closed_at) == (at(5), at(5.1))
    assert (decision.pods, decision.urgent) == (0, "spot_interrupted")


def test_urgent_work_takes_the_pods_that_wait_along() -> None:
    stage = Stage()
    actor, cluster = batcher(stage)

    actor.tell(pending("a"))
    actor.tell(UrgentWork(why="spot_interrupted"))
    stage.run(60)

    assert [(d.closed_at, d.pods) for d in closed(cluster)] == [(at(0.1), 1)]


def test_nodes_to_be_replaced_are_decided_on_together() -> None:
    stage = Stage()
    actor, cluster = batcher(stage)

    stage.send(0, actor, NodesToReplace(names=("n1", "n2")))
    stage.send(0.5, actor, NodesToReplace(names=("n3",)))
    stage.run(60)

    assert [(d.closed_at, d.urgent) for d in closed(cluster)] == [(at(1.5), "")]


def test_a_window_whose_pods_all_left_is_not_decided_on() -> None:
    stage = Stage()
    actor, cluster = batcher(stage)

    actor.tell(pending("a"))
    actor.tell(PodLeft(uid="a"))
    stage.run(60)

    assert cluster.received == []


def test_pods_that_come_after_a_decision_are_the_next_ones() -> None:
    stage = Stage()
    actor, cluster = batcher(stage)

    actor.tell(pending("a"))
    stage.run(30)
    actor.tell(pending("a"))
    stage.run(30)

    assert [(d.id, d.opened_at) for d in closed(cluster)] == [
        ("0000000001", START),
        ("0000000002", at(30)),
    ]


def test_what_follows_from_a_decision_belongs_to_its_trace() -> None:
    stage = Stage()
    contexts: list[Any] = []

    class Listens(Probe):
        def tell(self, message: object, /) -> None:
            super().tell(message)
            contexts.append(stage.process.actors[0].carrying().context)

    cluster = Listens()
    window = BatchWindow(idle_seconds=IDLE, max_seconds=MOST, urgent_seconds=URGENT)
    stage.host(lambda runtime: Batcher(runtime, cluster=cluster, window=window)).tell(pending("a"))
    stage.run(60)

    assert contexts == [closed(cluster)[0].context]


Arrival = tuple[float, str, str]
ARRIVALS: st.SearchStrategy[list[Arrival]] = st.lists(
    st.tuples(
        st.floats(0, 60),
        st.sampled_from([f"p{n}" for n in range(8)]),
        st.sampled_from(["pending", "pending", "pending", "left", "urgent"]),
    ),
    max_size=40,
)


@given(arrivals=ARRIVALS)
def test_every_pod_that_stays_is_decided_on_in_time(arrivals: list[Arrival]) -> None:
    stage = Stage()
    actor, cluster = batcher(stage)
    messages: dict[str, Any] = {"urgent": lambda uid: UrgentWork(why=uid)}
    messages |= {"left": lambda uid: PodLeft(uid=uid), "pending": pending}
    for seconds, uid, what in arrivals:
        stage.send(seconds, actor, messages[what](uid))

    stage.run(100)

    decided = [(d.closed_at - START).total_seconds() for d in closed(cluster)]
    for seconds, uid, what in arrivals:
        latest = seconds + {"urgent": URGENT, "pending": MOST, "left": 0.0}[what] + 1e-5
        left = any(u == uid and w == "left" and s >= seconds for s, u, w in arrivals)
        if what == "urgent" or (what == "pending" and not left):
            assert any(seconds - 1e-5 <= when <= latest for when in decided)
    assert sum(d.pods for d in closed(cluster)) <= len([a for a in arrivals if a[2] == "pending"])


@pytest.mark.parametrize("times", [1, 3])
def test_ticks_that_come_late_or_again_do_no_harm(times: int) -> None:
    stage = Stage()
    actor, cluster = batcher(stage)

    for _ in range(times):
        actor.tell(pending("a"))
    stage.run(60)

    assert len(closed(cluster)) == 1
