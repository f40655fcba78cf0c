from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import START, at, bound_pod, claim, node_of, pending_pod, resources, spec, view
from tests.domain.models import IN_USE, LASTS, model, see
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject
from treenail.domain.cluster.restoring import restore_moving
from treenail.domain.model.claims import DECISION, PROMISED
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Pod


def made_for(*pods: str, **fields: Any) -> NodeClaim:
    """A claim for pods that ran on node-c1 when it was made."""
    said = {PROMISED: ",".join(pods), DECISION: "d2"}
    return claim(
        "c2", annotations=said, provider_id="aws:///a/i-c2", room=resources(cpu=4, pods=10), **fields
    )


def node_of_c2() -> Node:
    return replace(node_of(view("c2")), provider_id="aws:///a/i-c2")


def running(uid: str, *, since: float = -60) -> Pod:
    return replace(bound_pod(uid, "node-c1"), started_at=at(since))


def restored(*things: ClusterObject) -> ClusterModel:
    known = model(*IN_USE, *things)
    restore_moving(known, lasts_until=at(20))
    return known


def promised(known: ClusterModel) -> dict[str, str]:
    """Return where the pods of the model are promised a place."""
    return {
        uid: promise.target for uid in known.objects.pods if (promise := known.promises.of(uid)) is not None
    }


def test_pods_that_are_being_moved_keep_the_places_made_for_them() -> None:
    known = restored(made_for("p1", "p2"), running("p1"), running("p3"))

    assert promised(known) == {"p1": "c2"}
    promise = known.promises.of("p1")
    assert promise is not None
    assert (promise.decision, promise.heir, promise.expires_at) == ("d2", "web", None)
    assert not known.empty("c2")


def test_so_do_they_on_a_claim_that_is_not_launched_yet() -> None:
    wanted = replace(made_for("p1"), provider_id="")

    assert promised(restored(wanted, running("p1"))) == {"p1": "c2"}


def test_on_a_node_that_is_ready_they_keep_them_for_a_while() -> None:
    known = restored(made_for("p1", initialized=True), running("p1"))

    assert [promise.expires_at for promise in known.promises.at("c2")] == [at(20)]
    known.expire_promises(at(20))
    assert promised(known) == {}


@pytest.mark.parametrize(
    "there",
    [
        pytest.param((made_for("p1"), running("p1", since=1)), id="it waited, and was bound elsewhere"),
        pytest.param((made_for("p1"), bound_pod("p1", "node-c1")), id="nobody knows since when it runs"),
        pytest.param((made_for("p1", leaving=True), running("p1")), id="the new node goes too"),
        pytest.param((made_for("p2"), running("p1")), id="it was made for others"),
        pytest.param(
            (made_for("p1", initialized=True), node_of_c2(), running("p1"), bound_pod("p9", "node-c2")),
            id="the new node is in use",
        ),
        pytest.param((made_for("p1"), replace(running("p1"), spec=spec(5))), id="it has no room"),
        pytest.param((made_for("p1"), replace(pending_pod("p1"), deleting_since=START)), id="it ends"),
    ],
)
def test_other_pods_are_promised_nothing(there: tuple[ClusterObject, ...]) -> None:
    assert promised(restored(*there)) == {}


@pytest.mark.parametrize("used", [False, True])
def test_those_whose_node_goes_keep_them_until_they_leave_it(*, used: bool) -> None:
    others = (bound_pod("p9", "node-c2"),) if used else ()
    known = model(*IN_USE, made_for("p1", initialized=True), node_of_c2(), running("p1"), *others)
    known.mark_for_disruption("c1")
    restore_moving(known, lasts_until=at(20))

    known.expire_promises(at(3600))

    assert promised(known) == {"p1": "c2"}
    see(known, replace(running("p1"), resource_version=2, deleting_since=at(600)), seconds=600)
    assert [promise.expires_at for promise in known.promises.at("c2")] == [at(600) + LASTS]


def test_those_whose_node_is_deleted_keep_them_for_ten_minutes() -> None:
    leaving = replace(IN_USE[0], resource_version=2, deleting_since=START)
    known = model(*IN_USE, leaving, made_for("p1", initialized=True), running("p1"))
    restore_moving(known, lasts_until=at(20))

    see(known, node_of_c2(), seconds=5)

    assert [promise.expires_at for promise in known.promises.at("c2")] == [at(605)]
