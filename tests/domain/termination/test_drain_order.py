from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import at, bound_pod
from tests.domain.drains import DELETING, going, leaving
from treenail.domain.model import labels
from treenail.domain.model.pods import Owner, Pod
from treenail.domain.model.taints import Toleration, TolerationOperator
from treenail.domain.termination.drain_table import next_step
from treenail.domain.termination.eviction_order import MoveOut
from treenail.domain.termination.leaving import Leaving


def pod(uid: str = "p1", **fields: Any) -> Pod:
    return replace(bound_pod(uid, "node-c1"), **fields)


def daemon(uid: str = "d1", **fields: Any) -> Pod:
    return pod(uid, owners=(Owner(kind="DaemonSet", name="logs", uid="logs"),), **fields)


def critical(of: Pod) -> Pod:
    return replace(of, spec=replace(of.spec, priority_class="system-node-critical"))


def patient(of: Pod, grace: int) -> Pod:
    return replace(of, spec=replace(of.spec, grace_seconds=grace))


TOLERANT = Toleration(operator=TolerationOperator.EXISTS)
MIRROR = pod("m1", owners=(Owner(kind="Node", name="node-c1", uid="n"),))
STAYS = replace(daemon("s1"), spec=replace(daemon().spec, tolerations=(TOLERANT,)))
PROTECTED = pod("safe", annotations={labels.DO_NOT_DISRUPT: "true"})


@pytest.mark.parametrize(
    ("pods", "state", "seconds", "evicted", "deleted"),
    [
        pytest.param(
            (pod("p1"), pod("p2")),
            leaving(),
            0,
            (pod("p1"), pod("p2")),
            (),
            id="its pods are evicted",
        ),
        pytest.param(
            (daemon(), critical(pod("k1")), pod("p1"), critical(daemon("k2"))),
            leaving(),
            0,
            (pod("p1"),),
            (),
            id="plain pods first",
        ),
        pytest.param(
            (daemon(), critical(pod("k1")), critical(daemon("k2"))),
            leaving(),
            0,
            (daemon(),),
            (),
            id="then daemons",
        ),
        pytest.param(
            (critical(pod("k1")), critical(daemon("k2"))),
            leaving(),
            0,
            (critical(pod("k1")),),
            (),
            id="then critical pods",
        ),
        pytest.param(
            (critical(daemon("k2")),),
            leaving(),
            0,
            (critical(daemon("k2")),),
            (),
            id="critical daemons last",
        ),
        pytest.param(
            (pod("p1", **DELETING), daemon()),
            leaving(),
            10,
            (),
            (),
            id="a pod that stops is waited for, and nobody evicted after it",
        ),
        pytest.param(
            (pod("p1", **DELETING), daemon()),
            leaving(),
            61,
            (daemon(),),
            (),
            id="for a minute",
        ),
        pytest.param(
            (PROTECTED, pod("p1")),
            leaving(),
            0,
            (pod("p1"),),
            (),
            id="a pod that must not be disrupted is not evicted",
        ),
        # the deadline
        pytest.param(
            (PROTECTED, pod("p1")),
            leaving(deadline=at(120)),
            89,
            (pod("p1"),),
            (),
            id="before a pod's grace period would end after the deadline it is let alone",
        ),
        pytest.param(
            (PROTECTED, pod("p1"), critical(pod("k1"))),
            leaving(deadline=at(120)),
            90,
            (),
            ((PROTECTED, 30), (pod("p1"), 30), (critical(pod("k1")), 30)),
            id="then it is deleted, of whatever tier, protected or not",
        ),
        pytest.param(
            (patient(pod("p1"), 600), pod("p2")),
            leaving(deadline=at(120)),
            10,
            (pod("p2"),),
            ((patient(pod("p1"), 600), 110),),
            id="one that would take too long is given what time is left",
        ),
        pytest.param(
            (pod("p1"),),
            leaving(deadline=at(120)),
            200,
            (),
            ((pod("p1"), 1),),
            id="and a second after the deadline",
        ),
        pytest.param(
            (pod("p1", **DELETING),),
            leaving(deadline=at(20)),
            25,
            (),
            (),
            id="one that stops already is not deleted again",
        ),
        pytest.param(
            (pod("p1", deleting_since=at(600)), pod("p2", deleting_since=at(119))),
            leaving(deadline=at(120)),
            20,
            (),
            ((pod("p1", deleting_since=at(600)), 100),),
            id="unless it was given longer than there is",
        ),
        pytest.param(
            (pod("p1", deleting_since=at(600)),),
            leaving(ends_at=at(120)),
            100,
            (),
            ((pod("p1", deleting_since=at(600)), 20),),
            id="which holds for the end of the machine too",
        ),
        pytest.param(
            (pod("p1", deleting_since=at(600)),),
            leaving(ends_at=at(120), forced=False),
            100,
            (),
            (),
            id="but not where the user chose otherwise",
        ),
        pytest.param(
            (pod("p1", deleting_since=at(201)),),
            leaving(deadline=at(120)),
            200,
            (),
            (),
            id="after the deadline it is told so once",
        ),
    ],
)
def test_pods_are_moved_out_in_order(
    pods: tuple[Pod, ...],
    state: Leaving,
    seconds: float,
    evicted: tuple[Pod, ...],
    deleted: tuple[tuple[Pod, int], ...],
) -> None:
    there = going(of_claim={"annotations": {labels.ENDS_AT: at(0).isoformat()}})

    assert next_step(there, pods, state, at(seconds)) == MoveOut(evict=evicted, delete=deleted)
