"""Proposals that name several nodes of several pools: all or nothing, in one place, at one revision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import (
    START,
    bound_pod,
    claim_of,
    decided,
    node_of,
    node_pool,
    pending_pod,
    planned_claim,
    resources,
    view,
)
from tests.domain.models import LASTS, model, promise, see
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject
from treenail.domain.disruption.acceptance import Verdict, judge
from treenail.domain.disruption.disruption import DisruptionAllowed, DisruptionProposed
from treenail.domain.disruption.disruption_candidates import DisruptionCandidate, disruption_candidates
from treenail.domain.model.causes import Cause
from treenail.domain.model.node_pools import Budget, Disruption, NodePool
from treenail.domain.model.resources import total
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.scheduling.commitment import commit

POOLS: Final = ("default", "east", "west")


def pool(name: str, *, allowed: int = 9, nodes: int | None = None) -> NodePool:
    limits = resources(nodes=nodes) if nodes is not None else None
    return replace(
        node_pool(name, version=2, limits=limits), disruption=Disruption(budgets=(Budget(nodes=allowed),))
    )


def in_use(name: str, of: str = "default", *pods: str) -> tuple[ClusterObject, ...]:
    """A node of four cores, with pods of one each."""
    there = view(name, of_claim={"pool": of})
    return claim_of(there), node_of(there), *(bound_pod(pod, f"node-{name}") for pod in pods)


def allowed(
    *names: str, cause: Cause = Cause.DRIFTED, together: bool = False, budgets: tuple[str, ...] = POOLS
) -> DisruptionAllowed:
    proposal = DisruptionProposed(pool="default", candidates=names, cause=cause, together=together)
    return DisruptionAllowed(proposal=proposal, candidates=names, budgets=budgets)


def plan(*claims: tuple[str, ...], **nominations: str) -> PackingPlan:
    """A plan of claims for these pods, and of pods that go to nodes."""
    return PackingPlan(claims=tuple(planned_claim(*pods) for pods in claims), nominations=nominations)


def judged(known: ClusterModel, made: PackingPlan, *those: DisruptionAllowed) -> Verdict:
    return judge(known, [one for each in those for one in disruption_candidates(each)], made, START)


def accepted(judgement: Verdict) -> list[tuple[str, ...]]:
    return [one.names for one in judgement.accepted]


def refused(judgement: Verdict) -> dict[tuple[str, ...], str]:
    return {one.names: why.sentence for one, why in judgement.refused}


def lacking(judgement: Verdict) -> dict[tuple[str, ...], list[str]]:
    return {one.names: [pod.uid for pod in pods] for one, pods in judgement.lacking}


# --- places


def test_a_node_goes_when_each_of_its_pods_has_a_place_elsewhere() -> None:
    known = model(*in_use("c1", "default", "p1", "p2"), *in_use("c2"))

    judgement = judged(known, plan(("p1",), p2="c2"), allowed("c1"))

    assert accepted(judgement) == [("c1",)]


def test_a_node_stays_where_one_of_its_pods_has_none() -> None:
    known = model(*in_use("c1", "default", "p1", "p2"), *in_use("c2"))

    judgement = judged(known, plan(p2="c2"), allowed("c1"))

    assert lacking(judgement) == {("c1",): ["p1"]}


def test_a_pod_that_came_after_the_plan_was_made_keeps_its_node() -> None:
    known = model(*in_use("c1", "default", "p1"), *in_use("c2"))
    see(known, bound_pod("late", "node-c1"))

    assert lacking(judged(known, plan(p1="c2"), allowed("c1"))) == {("c1",): ["late"]}


def test_a_place_that_is_taken_meanwhile_is_none() -> None:
    known = model(*in_use("c1", "default", "p1"), *in_use("c2", "default", "a", "b", "c"))
    see(known, pending_pod("p2"))
    promise(known, "p2", "c2")

    assert lacking(judged(known, plan(p1="c2"), allowed("c1"))) == {("c1",): ["p1"]}


def test_a_place_that_two_nodes_would_take_is_given_to_one() -> None:
    known = model(
        *in_use("c1", "default", "p1"),
        *in_use("c2", "default", "p2"),
        *in_use("c3", "default", "a", "b", "c"),
    )

    judgement = judged(known, plan(p1="c3", p2="c3"), allowed("c1", "c2"))

    assert accepted(judgement) == [("c1",)]
    assert lacking(judgement) == {("c2",): ["p2"]}


def test_a_place_on_a_node_that_goes_itself_is_none() -> None:
    known = model(*in_use("c1", "default", "p1"), *in_use("c2"))

    judgement = judged(known, plan(p1="c2"), allowed("c1", "c2"))

    assert accepted(judgement) == [("c2",)]
    assert lacking(judgement) == {("c1",): ["p1"]}


def test_a_node_that_its_pools_limits_leave_no_replacement_for_stays() -> None:
    known = model(pool("default", nodes=2), *in_use("c1", "default", "p1"))

    judgement = judged(known, plan(("p1",), ("p2",)), allowed("c1"))

    assert accepted(judgement) == [("c1",)]
    see(known, replace(pool("default", nodes=1), resource_version=3))
    assert lacking(judged(known, plan(("p1",)), allowed("c1"))) == {("c1",): ["p1"]}


def test_a_pod_that_has_a_promise_already_needs_no_other_place() -> None:
    known = model(*in_use("c1", "default", "p1"), *in_use("c2"))
    promise(known, "p1", "c2")

    assert accepted(judged(known, plan(), allowed("c1"))) == [("c1",)]


def test_nodes_that_go_together_stay_together() -> None:
    known = model(*in_use("c1", "default", "p1"), *in_use("c2", "east", "p2"), pool("east"))

    judgement = judged(known, plan(("p1",)), allowed("c1", "c2", together=True))

    assert accepted(judgement) == []
    assert lacking(judgement) == {("c1", "c2"): ["p2"]}
    assert accepted(judged(known, plan(("p1", "p2")), allowed("c1", "c2", together=True))) == [("c1", "c2")]


# --- what speaks against it


def test_an_empty_node_that_was_promised_to_a_pod_meanwhile_stays() -> None:
    known = model(*in_use("c1"), *in_use("c2"), pending_pod("p1"))
    promise(known, "p1", "c1")

    judgement = judged(known, plan(), allowed("c1", "c2", cause=Cause.EMPTY))

    assert accepted(judgement) == [("c2",)]
    assert refused(judgement) == {("c1",): "no longer as it was"}


def test_budgets_are_asked_again_at_the_present_revision() -> None:
    known = model(pool("default", allowed=1), *in_use("c1", "default", "p1"), *in_use("c2"), *in_use("c3"))
    assert accepted(judged(known, plan(p1="c2"), allowed("c1"))) == [("c1",)]

    known.mark_for_disruption("c3")

    assert refused(judged(known, plan(p1="c2"), allowed("c1", budgets=("default",)))) == {
        ("c1",): "no allowed disruptions due to blocking budget of default"
    }


def test_a_node_of_a_pool_whose_budget_was_not_asked_stays() -> None:
    known = model(*in_use("c1"), *in_use("c2", "east"), pool("east"))

    judgement = judged(known, plan(), allowed("c1", "c2", budgets=("default",)))

    assert accepted(judgement) == [("c1",)]
    assert refused(judgement) == {("c2",): "no longer as it was"}


def test_one_node_that_may_not_go_keeps_all_that_go_with_it() -> None:
    known = model(
        pool("east", allowed=0), *in_use("c1", "default", "p1"), *in_use("c2", "east"), *in_use("c3")
    )

    judgement = judged(known, plan(p1="c3"), allowed("c1", "c2", together=True))

    assert accepted(judgement) == []
    assert list(refused(judgement)) == [("c1", "c2")]


# --- whatever is proposed, and wherever a plan would send pods


@st.composite
def clusters(draw: st.DrawFn) -> ClusterModel:
    """A few nodes of three pools, full to any degree, with budgets and limits, and pods that wait."""
    things: list[ClusterObject] = [
        pool(name, allowed=draw(st.integers(0, 3)), nodes=draw(st.none() | st.integers(0, 8)))
        for name in POOLS
    ]
    for index in range(draw(st.integers(1, 7))):
        pods = (f"p{index}{n}" for n in range(draw(st.integers(0, 4))))
        things += in_use(f"c{index}", draw(st.sampled_from(POOLS)), *pods)
    things += (pending_pod(f"w{n}") for n in range(draw(st.integers(0, 3))))
    return model(*things)


@st.composite
def proposals(draw: st.DrawFn, names: list[str]) -> list[DisruptionAllowed]:
    some = st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=4)
    causes = st.sampled_from([Cause.DRIFTED, Cause.DRIFTED, Cause.EMPTY])
    count = draw(st.integers(1, 3))
    return [allowed(*draw(some), cause=draw(causes), together=draw(st.booleans())) for _ in range(count)]


@st.composite
def plans(draw: st.DrawFn, known: ClusterModel) -> PackingPlan:
    """Any plan: good ones, and such as send pods nowhere, twice, to full nodes, or over limits."""
    uids, names = sorted(known.objects.pods), sorted(known.objects.claims)
    nominations = {
        uid: draw(st.sampled_from(names))
        for uid in draw(st.lists(st.sampled_from(uids or ["x"]), unique=True))
    }
    few = st.lists(st.sampled_from(uids or ["x"]), unique=True, min_size=1, max_size=4)
    claims = [
        planned_claim(*draw(few), pool=draw(st.sampled_from(POOLS))) for _ in range(draw(st.integers(0, 3)))
    ]
    return PackingPlan(claims=tuple(claims), nominations=nominations)


def carry_out(known: ClusterModel, made: PackingPlan, judgement: Verdict, name: str) -> None:
    for one in judgement.accepted:
        for node in one.names:
            known.mark_for_disruption(node)
    planned = replace(decided(known.snapshot(START), name=name), plan=made)
    commit(known, planned, now=START, promise_lasts=LASTS)


def going(known: ClusterModel) -> dict[str, int]:
    """Return how many nodes of each pool go."""
    counts = dict.fromkeys(POOLS, 0)
    for name in known.marks.for_disruption:
        counts[known.objects.claims[name].pool] += 1
    return counts


def most(known: ClusterModel) -> Mapping[str, int]:
    return {name: known.objects.pools[name].disruption.budgets[0].nodes or 0 for name in POOLS}


def promised(known: ClusterModel) -> dict[str, str]:
    return {p.pod: p.target for p in known.promises.all()}


def expect_places(known: ClusterModel, one: DisruptionCandidate) -> None:
    for node in one.names:
        for pod in known.objects.pods_on(node):
            assert promised(known)[pod.uid] not in known.marks.for_disruption


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_whatever_is_proposed_it_is_all_or_nothing_within_budgets_rooms_and_limits(
    data: st.DataObject,
) -> None:
    known = data.draw(clusters())
    for turn in range(2):
        made = data.draw(plans(known))
        those = data.draw(proposals(sorted(known.objects.claims)))
        before, had = promised(known), set(known.marks.for_disruption)

        judgement = judged(known, made, *those)

        assert (promised(known), set(known.marks.for_disruption)) == (before, had)
        all_of = [one for each in those for one in disruption_candidates(each)]
        verdicts = [*judgement.accepted, *(one for one, _ in judgement.refused)]
        verdicts += [one for one, _ in judgement.lacking]
        assert sorted(one.names for one in verdicts) == sorted(one.names for one in all_of)

        carry_out(known, made, judgement, f"d{turn}")

        named = [name for one in judgement.accepted for name in one.names]
        assert len(named) == len(set(named))
        assert set(known.marks.for_disruption) == had | set(named)
        assert all(count <= most(known)[name] for name, count in going(known).items())
        for one in judgement.accepted:
            expect_places(known, one)
        for uid, target in promised(known).items():
            pod = known.objects.pods[uid]
            assert not pod.bound or known.objects.view_name(pod.node_name) in known.marks.for_disruption
            view_ = known.objects.view(target)
            assert view_ is not None
            assert not known.marks.going(view_)
            if view_.launched:
                bound = total(p.spec.requests for p in known.objects.pods_on(target))
                assert bound.plus(known.promises.reserved(target)).fits(view_.allocatable)
        for name in POOLS:
            left = known.capacity.limit_left(known.objects.pools[name])
            made_here = [
                c for c in known.objects.claims.values() if c.pool == name and c.resource_version == 0
            ]
            assert left is None or not made_here or min(left.values()) >= 0
