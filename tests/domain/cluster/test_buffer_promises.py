"""Promises of places that capacity buffers keep: pods do not see them, and come before them."""

from __future__ import annotations

from tests.builders import pending_pod
from treenail.domain.cluster.promises import Promise, PromiseBook
from treenail.domain.model.capacity_buffers import CapacityBuffer
from treenail.domain.model.resources import Resources

OWNER = CapacityBuffer(name="a", uid="u").owner


def place(uid: str) -> Promise:
    return Promise(like=pending_pod(uid), target="node", decision="d", heir=OWNER, expected=True)


def test_places_of_buffers_are_told_from_those_of_pods_until_the_last_of_them_ends() -> None:
    book = PromiseBook()
    book.make(Promise(like=pending_pod("real"), target="node", decision="d"))
    book.make(place("x"))

    assert [one.pod for one in book.at_for_pods("node")] == ["real"]
    assert [one.pod for one in book.at_for_buffers("node")] == ["x"]
    assert (book.buffers(), book.to_come(OWNER)) == ((OWNER,), 1)

    book.end("x")
    assert book.buffers() == ()
    assert book.at_for_buffers("node") == ()
    assert [one.pod for one in book.at_for_pods("node")] == ["real"]


def test_a_place_of_a_buffer_ends_before_that_of_a_pod_to_come_and_that_before_one_of_a_pod() -> None:
    book = PromiseBook()
    to_come = Promise(like=pending_pod("to-come"), target="node", decision="d", heir="rs", expected=True)
    book.make(place("x"))
    book.make(Promise(like=pending_pod("real"), target="node", decision="d"))
    book.make(to_come)

    def left(cpu: int) -> list[str]:
        book.withdraw_overdrawn("node", Resources({"cpu": cpu, "memory": 1 << 40, "pods": 9}))
        return sorted(one.pod for one in book.at("node"))

    assert left(2000) == ["real", "to-come"]
    assert left(1000) == ["real"]
