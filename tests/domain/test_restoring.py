from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import at, bound_pod, claim, claim_of, node_of, pending_pod, view
from tests.domain.models import model, see
from treenail.domain.claims import DECISION, PROMISED
from treenail.domain.cluster import ClusterModel
from treenail.domain.nodes import Node, NodeClaim
from treenail.domain.restoring import Restoring
from treenail.domain.taints import DISRUPTED

OLD = claim_of(view())
MARKED = replace(node_of(view()), taints=(DISRUPTED,))


def made_for(*pods: str, **fields: Any) -> NodeClaim:
    """A claim for pods that still run on node-c1."""
    return claim("c2", annotations={PROMISED: ",".join(pods), DECISION: "d2"}, **fields)


def restored(known: ClusterModel) -> Restoring:
    there = Restoring(known)
    there.begin(lasts_until=at(20))
    return there


def promised(known: ClusterModel) -> dict[str, str]:
    """Return where the pods of the model are promised a place."""
    return {uid: promise.target for uid in known.pods if (promise := known.promises.of(uid)) is not None}


def test_pods_on_a_node_that_was_being_replaced_keep_the_places_made_for_them() -> None:
    known = model(OLD, MARKED, made_for("p1", "p2"), bound_pod("p1", "node-c1"), bound_pod("p3", "node-c1"))

    restored(known)

    assert promised(known) == {"p1": "c2"}
    promise = known.promises.of("p1")
    assert promise is not None
    assert (promise.decision, promise.heir, promise.expires_at) == ("d2", "web", None)
    assert not known.empty("c2")


def test_on_a_node_that_is_ready_they_keep_them_for_a_while() -> None:
    known = model(OLD, MARKED, made_for("p1", initialized=True), bound_pod("p1", "node-c1"))

    restored(known)

    promise = known.promises.of("p1")
    assert promise is not None
    assert promise.expires_at == at(20)


@pytest.mark.parametrize(
    "there",
    [
        pytest.param((OLD, node_of(view()), made_for("p1")), id="their node bears no mark"),
        pytest.param((OLD, MARKED, made_for("p1", leaving=True)), id="the new one goes too"),
        pytest.param((OLD, MARKED, made_for("p2"), pending_pod("p2")), id="it was made for others"),
    ],
)
def test_other_pods_are_promised_nothing(there: tuple[Node | NodeClaim, ...]) -> None:
    known = model(*there, bound_pod("p1", "node-c1"))

    restored(known)

    assert "p1" not in promised(known)


def test_when_their_node_stays_after_all_they_need_no_other_places() -> None:
    known = model(OLD, MARKED, made_for("p1"), bound_pod("p1", "node-c1"))
    there = restored(known)
    see(known, replace(node_of(view()), resource_version=9))

    there.look(("c1", "c2", "c3"))

    assert promised(known) == {}
    assert known.empty("c2")
