"""What pods prefer has a price in consolidation: it is no wall, and not given up for cents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.domain.packing.consolidation.clusters import Cluster, Standing, node
from tests.domain.packing.problems import asking, catalogue, is_in, offer, pods, pool
from treenail.domain.model import labels
from treenail.domain.model.pods import LabelSelector, Pod, PodAffinityTerm, PodSpec
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan
from treenail.domain.packing.consolidation.repack import repack

_WEB = LabelSelector((("app", "web"),))
# Pods that would rather share their node with none of their own.
APART: PodSpec = replace(
    asking("2500m"),
    pod_affinity=(PodAffinityTerm(labels.HOSTNAME, selector=_WEB, anti=True, weight=100),),
)


def webs(name: str, count: int = 1) -> tuple[Pod, ...]:
    return tuple(replace(one, labels={"app": "web"}) for one in pods(name, count, APART))


def planned(*nodes: Standing, sold: str, receiving: bool = True) -> ConsolidationPlan:
    """Return the plan where only one type is on offer, and where nodes may be `receiving` pods of others."""
    types = tuple(one for one in catalogue() if one.name == sold)
    on_demand = offer(pool("default", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)), types)
    closed = frozenset[str]() if receiving else frozenset(one.name for one in nodes)
    return repack(Cluster(nodes=nodes, offers=(on_demand,)).problem(not_receiving=closed))


def test_a_preference_that_is_not_kept_now_keeps_no_node() -> None:
    (move,) = planned(node("n0", "m5.2xlarge", *webs("n0", 2)), sold="c5.2xlarge").moves

    (claim,) = move.claims
    assert claim.instance_types == ("c5.2xlarge",)
    # One for the node and one for each pod: no preference is lost that was there.
    assert move.disruption == 3.0


def test_a_preference_is_given_up_for_what_is_worth_more() -> None:
    nodes = [node(f"n{n}", "c5.2xlarge", *webs(f"n{n}")) for n in range(2)]

    (move,) = planned(*nodes, sold="m5.2xlarge", receiving=False).moves

    assert move.removed == ("n0", "n1")
    assert len(move.claims) == 1
    assert move.disruption == 4.0 + 2.0
    assert move.saves == pytest.approx(2 * 0.34 + 0.02 - 0.384)


def test_a_preference_is_not_given_up_for_cents() -> None:
    nodes = [node(f"n{n}", "m5.xlarge", *webs(f"n{n}")) for n in range(2)]

    assert planned(*nodes, sold="c5.2xlarge").moves == ()


def test_a_replacement_that_keeps_all_preferences_comes_before_a_cheaper_one_that_does_not() -> None:
    (move,) = planned(node("n0", "m5.8xlarge", *webs("n0", 2)), sold="c5.xlarge").moves

    assert [len(claim.pods) for claim in move.claims] == [1, 1]
