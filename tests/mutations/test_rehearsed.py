from __future__ import annotations

from typing import Final

import pytest

from tests.mutations.rehearsed import Rehearsed
from tests.mutations.table import MUTATIONS, REFUSED, Mutation
from treenail.adapters.fake.cluster import FakeCluster

# So many are in one cluster, each with a pod, a node and a volume of its own.
TOGETHER: Final = 9
# Lots of neighbours in the table are taken in this order, so that a few of them are of several kinds.
_APART: Final = 7
ACCEPTED: Final = [one for one in MUTATIONS if one.name not in REFUSED]
LATER: Final = [one for one in MUTATIONS if one.name in REFUSED]


def lot(of: list[Mutation], number: int) -> list[Mutation]:
    """Return some that stand together in the table; as many numbers as there are lots give all of them."""
    lots = -(-len(of) // TOGETHER)
    assert lots % _APART
    first = number * _APART % lots * TOGETHER
    return of[first : first + TOGETHER]


def live(seed: int, mutations: list[Mutation], monkeypatch: pytest.MonkeyPatch) -> Rehearsed:
    """Return a history in which no pod was deleted but those that EC2 left no time for an eviction."""
    life = Rehearsed(seed, mutations)
    delete, wrong = FakeCluster.delete_pod, []

    def noted(self: FakeCluster, namespace: str, name: str, *, uid: str, grace_seconds: int) -> None:
        if not life.may_be_deleted(uid):
            wrong.append(f"at {life.rehearsal.seconds:.0f} s: {name}")
        delete(self, namespace, name, uid=uid, grace_seconds=grace_seconds)

    monkeypatch.setattr(FakeCluster, "delete_pod", noted)
    life.run()
    assert wrong == []
    assert life.unexplained == []
    assert life.untold() == []
    return life


def test_enough_of_them_are_accepted_by_a_real_api_server() -> None:
    assert len(ACCEPTED) >= 300


@pytest.mark.seeds(quick=3, soak=34)
def test_what_an_api_server_accepts_costs_no_pod_its_life(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    life = live(seed, lot(ACCEPTED, seed), monkeypatch)

    assert [str(one.about) for one in life.aside.values()] == []


@pytest.mark.seeds(quick=2, soak=15)
def test_what_only_a_later_api_server_may_accept_costs_no_pod_its_life(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(seed, lot(LATER, seed), monkeypatch)
