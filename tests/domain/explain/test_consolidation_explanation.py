from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import START, at
from tests.domain.disruption.consolidating import its_claim, its_node, its_pod, known, pool
from treenail.domain.cluster.cluster_facts import ClusterObject
from treenail.domain.explain.node_explanation import explain_node
from treenail.domain.model import labels
from treenail.domain.model.consolidated_claims import Origin, Shape, write_origins
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import LabelSelector

PRICED = {labels.PRICE: "0.08"}
INCLUDED = "its volumes and the overhead of a node included"
KEPT = {labels.DO_NOT_DISRUPT: "true"}
NO_EVICTION = PodDisruptionBudget(name="web", selector=LabelSelector(), disruptions_allowed=0)


def said(*objects: ClusterObject, claim: NodeClaim | None = None) -> list[str]:
    model = known(pool(), claim or its_claim(annotations=PRICED), its_node(), *objects)
    view = model.objects.view("c1")
    assert view is not None
    return [one.says for one in explain_node(model, view, at(60)) if one.about == "consolidation"]


def test_a_node_that_may_go_says_what_that_saves_at_most() -> None:
    (says,) = said(its_pod())

    assert says.startswith("Consolidation may give it up where its pods have places that cost less")
    assert says.endswith(f"that would save at most $0.1000/h ($73 a month), {INCLUDED}.")


def test_a_node_whose_pool_lets_it_return_says_where_to_and_for_how_much() -> None:
    light = replace(pool(), resource_version=9, return_premium=0.2)
    heavy = replace(pool(), name="heavy", weight=10)

    _, back = said(its_pod(), light, heavy)

    assert back == (
        "Its pods may also go back to a pool of higher weight (heavy), where that costs at most 20% more "
        "(treenail.sh/return)."
    )
    assert len(said(its_pod(), light)) == 1


def test_each_blocker_is_named_with_what_its_going_would_save() -> None:
    pod, budget = said(its_pod(annotations=KEPT), NO_EVICTION)

    saved = f"Without that, its going would save at most $0.1000/h ($73 a month), {INCLUDED}."
    assert (
        pod
        == f'Consolidation leaves it: pod has "{labels.DO_NOT_DISRUPT}" annotation (Pod=default/p1). {saved}'
    )
    assert "(PodDisruptionBudget=[default/web])" in budget
    assert budget.endswith(saved)


@pytest.mark.parametrize(("saving", "why"), [(0.05, " to save $0.0500/h ($36 a month)"), (0.0, "")])
def test_a_node_bought_in_place_of_others_says_what_it_was_to_save(saving: float, why: str) -> None:
    origin = Origin(saving=saving, at=START, replaced=(Shape("default", "m5.2xlarge", "a", "on-demand"),))
    claim = its_claim(annotations=PRICED | write_origins((origin,)))

    bought, _ = said(its_pod(), claim=claim)

    assert bought == f"It was bought 1m0s ago{why} in place of m5.2xlarge a on-demand."


def test_an_unreadable_origin_is_said_to_be_so() -> None:
    unreadable, _ = said(its_pod(), claim=its_claim(annotations=PRICED | {labels.CONSOLIDATED: "?"}))

    assert unreadable == f"Its annotation {labels.CONSOLIDATED} cannot be read."
