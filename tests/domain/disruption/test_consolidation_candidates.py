from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import START, at, instance_type, node
from tests.domain.disruption.consolidating import (
    AT_ONCE,
    BOUGHT,
    found,
    its_claim,
    its_node,
    its_pod,
    known,
    pool,
)
from treenail.domain.cluster.cluster_facts import ClusterObject, ObjectSeen
from treenail.domain.cluster.promises import Promise
from treenail.domain.disruption.consolidation_candidates import consolidation_candidates
from treenail.domain.disruption.node_prices import NodePrices
from treenail.domain.model import labels
from treenail.domain.model.node_pools import ConsolidationPolicy
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import LabelSelector, Owner, Pod
from treenail.domain.model.taints import DISRUPTED, GOES_LATER, Toleration, TolerationOperator
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode

FREE = {labels.POD_DELETION_COST: str(-(2**27))}
DAEMON = (Owner(kind="DaemonSet", name="logs", uid="logs"),)
ALL = LabelSelector()
WEB = LabelSelector(match_labels=(("app", "web"),))


def without(key: str) -> Mapping[str, str]:
    return {name: value for name, value in BOUGHT.items() if name != key}


def budget(name: str = "web", *, allowed: int = 0, selector: LabelSelector = ALL) -> PodDisruptionBudget:
    return PodDisruptionBudget(name=name, selector=selector, disruptions_allowed=allowed)


def test_a_node_that_may_go_comes_with_its_pods_its_price_and_what_it_costs_to_evict_them() -> None:
    claim = its_claim(annotations={labels.PRICE: "0.05"}, expire_after=timedelta(hours=1))
    overhead = pool(node_overhead_cost=0.01)
    dear = its_pod("p2", annotations={labels.POD_DELETION_COST: str(2**27)})
    stopping = its_pod("p4", deleting_since=at(30))
    there = its_pod(), dear, its_pod("p3", owners=DAEMON), stopping
    prices = NodePrices(volume_costs={"default": 0.002})

    result = found(overhead, claim, its_node(), *there, now=at(60), prices=prices)

    assert result.staying == ()
    assert result.candidates == (
        CandidateNode(
            name="c1",
            pool="default",
            pods=("p1", "p2"),
            eviction_costs={"p1": 1.0, "p2": 2.0},
            instance_type="m5.large",
            zone="a",
            capacity_type=labels.SPOT,
            price=0.05,
            surcharge=0.012,
            remaining=timedelta(minutes=59),
            patient=True,
        ),
    )
    assert result.candidates[0].disruption == 4.0


def test_how_long_a_node_past_its_expiry_will_live_is_not_known() -> None:
    claim = its_claim(expire_after=timedelta(hours=1))

    (one,) = found(pool(), claim, its_node(), its_pod(), now=at(3600)).candidates

    assert one.remaining is None


def test_a_node_waits_no_longer_than_ten_minutes_for_others_to_receive_its_pods() -> None:
    things = pool(), its_claim(), its_node(), its_pod()
    (before,) = found(*things, now=at(590)).candidates
    (later,) = found(*things, now=at(700)).candidates

    assert before.patient
    assert not later.patient


def test_a_node_that_an_earlier_plan_was_to_take_later_says_so_by_its_taint() -> None:
    tainted = replace(its_node(), taints=(GOES_LATER,))
    (plain,) = found(pool(), its_claim(), its_node(), its_pod(), now=at(3600)).candidates
    (named,) = found(pool(), its_claim(), tainted, its_pod(), now=at(3600)).candidates

    assert not plain.goes_later
    assert named == replace(plain, goes_later=True)


STAYING: Mapping[str, tuple[tuple[ClusterObject, ...], str, str]] = {
    "no claim": ((node("alone"), pool()), "", "node isn't managed by karpenter"),
    "no claim, and a pool that is not there": (
        (node("alone", labels_={labels.NODEPOOL: "gone"}), pool()),
        "DisruptionBlocked",
        "NodePool not found (NodePool=gone)",
    ),
    "no node": (
        (pool(), its_claim()),
        "DisruptionBlocked",
        "nodeclaim does not have an associated node",
    ),
    "not in use yet": (
        (pool(), its_claim(conditions=()), its_node()),
        "DisruptionBlocked",
        "node isn't initialized",
    ),
    "being deleted": (
        (pool(), its_claim(deleting_since=START), its_node(), its_pod()),
        "DisruptionBlocked",
        "node is deleting or marked for deletion",
    ),
    "marked by somebody of ours": (
        (pool(), its_claim(), its_node(taints=(DISRUPTED,)), its_pod()),
        "DisruptionBlocked",
        "node is deleting or marked for deletion",
    ),
    "kept by people": (
        (pool(), its_claim(), its_node(annotations={labels.DO_NOT_DISRUPT: "true"}), its_pod()),
        "DisruptionBlocked",
        'disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation',
    ),
    "unread": (
        (pool(), its_claim(unread="spec.taints"), its_node(), its_pod()),
        "DisruptionBlocked",
        "what it is cannot be read (NodeClaim=c1): spec.taints",
    ),
    "no pool": (
        (its_claim(), its_node(), its_pod()),
        "DisruptionBlocked",
        "NodePool not found (NodePool=default)",
    ),
    "static pool": (
        (pool(replicas=1), its_claim(), its_node(), its_pod()),
        "",
        "its pool is static, and the feature gate StaticCapacity is off",
    ),
    "kept pod": (
        (pool(), its_claim(), its_node(), its_pod(annotations={labels.DO_NOT_DISRUPT: "true"})),
        "DisruptionBlocked",
        'pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/p1)',
    ),
    "kept daemon": (
        (
            *(pool(), its_claim(), its_node(), its_pod()),
            its_pod("d1", owners=DAEMON, annotations={labels.DO_NOT_DISRUPT: "10m"}),
        ),
        "DisruptionBlocked",
        'pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/d1)',
    ),
    "unread pod": (
        (pool(), its_claim(), its_node(), its_pod(unread="spec.volumes")),
        "DisruptionBlocked",
        "pod cannot be read (Pod=default/p1): spec.volumes",
    ),
    "budget of pods": (
        (pool(), its_claim(), its_node(), its_pod(), budget()),
        "DisruptionBlocked",
        "pdb prevents pod evictions (PodDisruptionBudget=[default/web])",
    ),
    "two budgets of one pod": (
        (
            *(pool(), its_claim(), its_node(), its_pod(labels={"app": "web"})),
            *(budget("b", allowed=9), budget("a", allowed=9, selector=WEB)),
        ),
        "DisruptionBlocked",
        "eviction does not support multiple PDBs (PodDisruptionBudget(s)=[default/a default/b])",
    ),
    "no capacity type": (
        (pool(), its_claim(), its_node(labels=without(labels.CAPACITY_TYPE)), its_pod()),
        "Unconsolidatable",
        'Node does not have label "karpenter.sh/capacity-type"',
    ),
    "no zone": (
        (pool(), its_claim(), its_node(labels=without(labels.ZONE)), its_pod()),
        "Unconsolidatable",
        'Node does not have label "topology.kubernetes.io/zone"',
    ),
    "never": (
        (pool(disruption=replace(AT_ONCE, consolidate_after=None)), its_claim(), its_node(), its_pod()),
        "Unconsolidatable",
        'NodePool "default" has consolidation disabled',
    ),
    "only when empty": (
        (
            pool(disruption=replace(AT_ONCE, policy=ConsolidationPolicy.WHEN_EMPTY)),
            *(its_claim(), its_node(), its_pod()),
        ),
        "Unconsolidatable",
        'NodePool "default" has consolidation policy WhenEmpty, but node is not empty',
    ),
    "empty": (
        (pool(), its_claim(), its_node(), its_pod(annotations=FREE)),
        "",
        "node is empty: it is given back as such, without consolidation",
    ),
    "not for long enough": (
        (
            pool(disruption=replace(AT_ONCE, consolidate_after=timedelta(minutes=5))),
            *(its_claim(last_pod_event_at=at(-60)), its_node(), its_pod()),
        ),
        "",
        "pods came or left less than consolidateAfter (5m0s) ago: it stays until 2026-01-01T00:04:00Z",
    ),
}


@pytest.mark.parametrize(("objects", "event", "why"), STAYING.values(), ids=STAYING)
def test_of_a_node_that_stays_it_is_told_why(
    objects: tuple[ClusterObject, ...], event: str, why: str
) -> None:
    result = found(*objects)

    assert result.candidates == ()
    assert [one.why.sentence for one in result.staying] == [why]
    assert list(result.events.values()) == ([event] if event else [])


def test_a_node_that_is_promised_to_a_pod_stays() -> None:
    model = known(pool(), its_claim(), its_node(), its_pod())
    model.keep(Promise(like=its_pod("p9", on="c9"), target="c1", decision="d1"))

    (staying,) = consolidation_candidates(model, START).staying

    assert staying.why.sentence == "node is nominated for a pending pod"


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(its_pod(owners=(Owner(kind="Node", name="n", uid="n"),)), id="static pod"),
        pytest.param(
            its_pod(
                owners=DAEMON,
                spec=replace(its_pod().spec, tolerations=(Toleration("", TolerationOperator.EXISTS),)),
            ),
            id="daemon that stays on a drained node",
        ),
        pytest.param(its_pod(deleting_since=at(30)), id="pod that is stopping"),
    ],
)
def test_pods_that_nobody_evicts_are_held_by_no_budget(pod: Pod) -> None:
    other = its_pod("p2", namespace="other")

    assert len(found(pool(), its_claim(), its_node(), pod, other, budget()).candidates) == 1


def test_a_pod_that_is_kept_for_a_time_keeps_its_node_for_that_time() -> None:
    kept = its_pod(annotations={labels.DO_NOT_DISRUPT: "10m"}, started_at=START)
    model = known(pool(), its_claim(), its_node(), kept)

    assert len(consolidation_candidates(model, at(599)).candidates) == 0
    assert len(consolidation_candidates(model, at(600)).candidates) == 1


def test_a_type_that_is_not_sold_any_more_keeps_a_node_but_one_that_nobody_can_tell_of_does_not() -> None:
    objects = pool(), its_claim(), its_node(), its_pod()
    sold = {"c5.large": instance_type("c5.large", 2, price=0.085)}

    (staying,) = found(*objects, prices=NodePrices(types={"default": sold})).staying
    assert staying.why.sentence == 'Instance Type "m5.large" not found'
    assert len(found(*objects, prices=NodePrices(types={"other": sold})).candidates) == 1


def test_a_node_costs_what_its_own_offering_does_now_else_what_it_did_else_nobody_knows() -> None:
    sold = NodePrices(types={"default": {"m5.large": instance_type("m5.large", 2, price=0.1)}})
    bought = its_claim(annotations={labels.PRICE: "0.07"})
    elsewhere = its_node(labels={**BOUGHT, labels.ZONE: "c"})

    def price(*objects: ClusterObject) -> float | None:
        (candidate,) = found(pool(), *objects, its_pod(), prices=sold).candidates
        return candidate.price

    assert price(bought, its_node()) == pytest.approx(0.04)
    assert price(bought, elsewhere) == 0.07
    assert price(its_claim(), elsewhere) is None


def test_an_offering_without_a_known_price_says_nothing_of_what_a_node_costs() -> None:
    unknown = instance_type("m5.large", 2, price=math.inf)
    prices = NodePrices(types={"default": {"m5.large": unknown}})

    (candidate,) = found(pool(), its_claim(), its_node(), its_pod(), prices=prices).candidates

    assert candidate.price is None


def test_a_node_that_stays_comes_with_what_its_going_would_save() -> None:
    kept = its_pod(annotations={labels.DO_NOT_DISRUPT: "true"})
    claim = its_claim(annotations={labels.PRICE: "0.07"})

    (staying,) = found(pool(node_overhead_cost=0.01), claim, its_node(), kept).staying

    assert staying.would_save == pytest.approx(0.08)


def test_what_is_told_changes_with_pods_and_with_budgets() -> None:
    model = known(pool(), its_claim(), its_node(), its_pod(), budget(allowed=1))

    def may_go(*objects: ClusterObject) -> bool:
        for thing in objects:
            model.learn(ObjectSeen(object=thing), START)
        return bool(consolidation_candidates(model, START).candidates)

    assert may_go()
    assert not may_go(replace(budget(allowed=0), resource_version=2))
    assert may_go(replace(budget(selector=WEB), resource_version=3))
    assert not may_go(its_pod(resource_version=2, labels={"app": "web"}))


def documented() -> Iterator[tuple[re.Pattern[str], str]]:
    """The sentences that the documentation lists, as patterns, and the event of each."""
    text = (Path(__file__).parents[3] / "docs/giving-back.md").read_text(encoding="utf-8")
    for line in text.partition("### Which nodes stay, and why")[2].partition("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        for sentence in re.findall("`([^`]+)`", cells[0]):
            event = cells[-1].strip(" `|")
            parts = (re.escape(part) for part in sentence.split("..."))
            yield re.compile(".*".join(parts)), "" if event == "none" else event


@pytest.mark.parametrize(("objects", "event", "why"), STAYING.values(), ids=STAYING)
def test_each_sentence_is_documented_with_its_event(
    objects: tuple[ClusterObject, ...], event: str, why: str
) -> None:
    assert objects
    assert [said for pattern, said in documented() if pattern.fullmatch(why)] == [event]
