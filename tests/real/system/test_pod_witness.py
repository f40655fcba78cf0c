from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.real.system.pod_witness import Ended, Life, PodWitness

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EVICTED = "EvictionByEvictionAPI"


def pod(name: str, *, ready: bool = True, why: str = "", ends: bool = False) -> dict[str, Any]:
    """Return a pod of app web that runs; `why` is by what it is about to be disrupted."""
    conditions = [{"type": "Ready", "status": str(ready)}]
    if why:
        conditions.append({"type": "DisruptionTarget", "status": "True", "reason": why})
    meta: dict[str, Any] = {"name": name, "uid": name, "labels": {"app": "web"}}
    if ends:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "conditions": conditions}
    return {"metadata": meta, "spec": {"nodeName": "node"}, "status": status}


@pytest.fixture
def witness() -> PodWitness:
    """Of three pods that run, of which two must be available."""
    made = PodWitness({"web": 2})
    for name in "abc":
        made.hear(pod(name), NOW, gone=False)
    return made


def test_a_pod_that_is_evicted_while_enough_others_run_is_not_wronged(witness: PodWitness) -> None:
    leaving = pod("a", why=EVICTED, ends=True)
    witness.hear(leaving, NOW, gone=False)
    assert witness.available() == 2
    witness.hear(leaving, NOW, gone=True)

    witness.check()
    assert witness.lowest == {"web": 2}
    assert witness.ended == [Ended(name="a", node="node", since=NOW, at=NOW)]


@pytest.mark.parametrize("second", [pod("b", ready=False), pod("b", why=EVICTED, ends=True)])
def test_one_pod_less_than_its_budget_wants_is_a_wrong(witness: PodWitness, second: dict[str, Any]) -> None:
    witness.hear(pod("a", why=EVICTED, ends=True), NOW, gone=False)
    witness.hear(second, NOW, gone=False)

    assert witness.wrongs == ["web has 1 available pods and needs 2"]
    with pytest.raises(AssertionError, match="needs 2"):
        witness.check()


def test_a_pod_that_is_gone_at_once_was_wronged(witness: PodWitness) -> None:
    witness.hear(pod("a"), NOW, gone=True)

    assert witness.wrongs == ["a was gone at once", "a ended by [], in phase Running"]


@pytest.mark.parametrize("why", ["", "DeletionByPodGC", "DeletionByTaintManager"])
def test_a_pod_that_ends_by_anything_but_an_eviction_was_wronged(witness: PodWitness, why: str) -> None:
    leaving = pod("a", why=why, ends=True)
    witness.hear(leaving, NOW, gone=False)
    witness.hear(leaving, NOW, gone=True)

    assert len(witness.wrongs) == 1
    assert why in witness.wrongs[0]


def test_a_pod_that_never_ran_may_go(witness: PodWitness) -> None:
    waiting = pod("d", ready=False)
    waiting["status"]["phase"] = "Pending"
    witness.hear(waiting, NOW, gone=False)
    witness.hear(waiting, NOW, gone=True)

    witness.check()
    assert witness.ended == []


@pytest.mark.parametrize(("ended", "late"), [(None, False), (20, False), (10, True)])
def test_a_pod_outlived_its_machine_where_that_ended_first_whatever_had_its_name_before(
    ended: int | None, *, late: bool
) -> None:
    pod = Ended(name="a", node="node", since=NOW, at=NOW + timedelta(seconds=15))
    end = None if ended is None else NOW + timedelta(seconds=ended)
    lives = [
        Life(node="node", since=NOW - timedelta(seconds=90), ended=NOW - timedelta(seconds=60)),
        Life(node="node", since=NOW - timedelta(seconds=5), ended=end),
        Life(node="other", since=NOW - timedelta(seconds=5), ended=NOW),
        Life(node="node", since=NOW + timedelta(seconds=30), ended=NOW),
    ]

    assert pod.outlived(lives) is late
