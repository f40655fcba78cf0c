from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import START, bound_pod, claim_of, node_class, node_of, node_pool, view
from tests.sentences import said
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import Resynced
from treenail.domain.disruption.disruption import DisruptionProposed
from treenail.domain.disruption.objections import objection
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import LabelSelector, Owner

KEEP = {labels.DO_NOT_DISRUPT: "true"}
HELD_POD = "pdb prevents pod evictions (PodDisruptionBudget=[default/all])"
KEPT_POD = f'pod has "{labels.DO_NOT_DISRUPT}" annotation (Pod=default/p1)'


def against(
    cause: Cause,
    *,
    forceful: bool = False,
    pod: dict[str, str] | None = None,
    allowed: int = 1,
    owner: str = "ReplicaSet",
    **of_claim: Any,
) -> str | None:
    """Return what speaks against giving up a node with one pod of these annotations.

    It is of a kind of `owner`, and `allowed` of those that a budget selects may be evicted.
    """
    there = view(of_claim=of_claim)
    model = ClusterModel(promise_lasts=timedelta(seconds=20))
    owners = (Owner(kind=owner, name="web", uid="web"),)
    own = replace(bound_pod("p1", "node-c1"), annotations=pod or {}, owners=owners)
    budget = PodDisruptionBudget(name="all", selector=LabelSelector(), disruptions_allowed=allowed)
    objects = (node_pool(), node_class(), budget, claim_of(there), node_of(there), own)
    model.learn(Resynced(revision=1, objects=objects), START)
    proposal = DisruptionProposed(pool="default", candidates=("c1",), cause=cause, forceful=forceful)
    return said(objection(model, "c1", proposal, START))


@pytest.mark.parametrize("cause", [Cause.EXPIRED, Cause.DRIFTED])
def test_a_node_in_use_may_be_replaced_unless_a_pod_is_kept(cause: Cause) -> None:
    assert against(cause) is None
    assert against(cause, pod=KEEP) == KEPT_POD


@pytest.mark.parametrize("cause", [Cause.EXPIRED, Cause.DRIFTED])
def test_a_budget_of_pods_keeps_their_node(cause: Cause) -> None:
    assert against(cause, allowed=0) == HELD_POD


@pytest.mark.parametrize(
    ("held", "why"),
    [
        ({"allowed": 0}, HELD_POD),
        ({"pod": KEEP}, KEPT_POD),
        ({}, None),
    ],
)
def test_an_empty_node_stays_where_a_daemon_of_it_may_not_be_disrupted(
    held: dict[str, Any], why: str | None
) -> None:
    assert against(Cause.EMPTY, owner="DaemonSet", **held) == why


def test_a_pod_that_the_node_itself_made_asks_no_budget() -> None:
    assert against(Cause.DRIFTED, owner="Node", allowed=0) is None
    assert against(Cause.DRIFTED, owner="Node", pod=KEEP) == KEPT_POD


def test_a_forceful_end_asks_nobody() -> None:
    assert against(Cause.EXPIRED, forceful=True, pod=KEEP) is None
    assert against(Cause.EXPIRED, forceful=True, allowed=0) is None


def test_a_grace_period_lets_a_drifted_node_go_whatever_its_pods_say() -> None:
    limited: dict[str, Any] = {"termination_grace_period": timedelta(hours=1)}

    assert against(Cause.DRIFTED, pod=KEEP, **limited) is None
    assert against(Cause.DRIFTED, allowed=0, **limited) is None
    assert against(Cause.EXPIRED, pod=KEEP, **limited) == KEPT_POD


def test_a_node_with_a_pod_is_not_empty() -> None:
    assert against(Cause.EMPTY) == "no longer as it was"


def test_a_node_that_is_gone_is_no_longer_as_it_was() -> None:
    model = ClusterModel(promise_lasts=timedelta(seconds=20))
    proposal = DisruptionProposed(pool="p", candidates=("c9",), cause=Cause.DRIFTED)

    assert said(objection(model, "c9", proposal, START)) == "no longer as it was"
