"""Whatever the cluster: each move of a plan is valid by itself, and makes the cluster cheaper."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.domain.packing.company_strategies import sociable_specs
from tests.domain.packing.consolidation.clusters import Cluster, Standing, of_type
from tests.domain.packing.nodes_of_plans import asks_for, tolerates
from tests.domain.packing.problems import ZONES, catalogue, offer, pods, pool
from tests.domain.packing.validity import faults
from treenail.domain.model import labels
from treenail.domain.model.pods import Pod
from treenail.domain.packing.consolidation.consolidation_problem import PoolTerms
from treenail.domain.packing.consolidation.rearrangement import Rearrangement
from treenail.domain.packing.consolidation.repack import repack
from treenail.domain.packing.plan import PlannedClaim

TYPES = ("m5.large", "m5.2xlarge", "c5.xlarge", "r5.large", "m5.4xlarge")
APPS = st.sampled_from(["web", "db", "cache"])


@st.composite
def standing_nodes(draw: st.DrawFn) -> tuple[Standing, ...]:
    """Nodes with pods that may run there by labels and taints; what they ask of each other may be broken."""
    made: list[Standing] = []
    some = [(draw(sociable_specs()), draw(APPS)) for _ in range(draw(st.integers(1, 4)))]
    for number in range(draw(st.integers(1, 6))):
        one = Standing(
            name=f"n{number}",
            type=of_type(draw(st.sampled_from(TYPES))),
            zone=draw(st.sampled_from(ZONES)),
            way=draw(st.sampled_from([labels.ON_DEMAND, labels.SPOT])),
        )
        there: list[Pod] = []
        for at in range(draw(st.integers(0, 5))):
            spec, app = draw(st.sampled_from(some))
            (pod,) = pods(f"p{number}-{at}", 1, spec)
            pod = replace(pod, labels={"app": app})
            node = one.existing_node(there)
            if spec.volumes or not spec.requests.fits(node.free):
                continue
            if asks_for(spec, node.labels) and tolerates(node.taints, spec):
                there.append(pod)
        made.append(replace(one, pods=tuple(there)))
    return tuple(made)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    nodes = draw(standing_nodes())
    staying = draw(st.sets(st.sampled_from([one.name for one in nodes]), max_size=2))
    types = draw(st.sampled_from([catalogue(), catalogue()[:5], tuple(of_type(name) for name in TYPES)]))
    return Cluster(nodes=nodes, offers=(offer(pool("default"), types),), staying=frozenset(staying))


@settings(max_examples=60, deadline=None)
@given(clusters(), st.booleans())
def test_each_move_is_valid_when_those_before_it_are_made(cluster: Cluster, spot: bool) -> None:  # noqa: FBT001
    plan = repack(cluster.problem(spot_to_spot=spot))
    now = cluster
    for move in plan.moves:
        problem, packing = now.packing_of(move)
        assert not [fault for fault in faults(problem, packing) if not _of_reports(fault)]
        saved = sum(one.price + 0.02 for one in now.nodes if one.name in move.removed)
        assert move.saves > 0
        assert sum(worst(claim, now) for claim in move.claims) < saved or not move.claims
        assert abs(saved - packing.whole_cost - move.saves) < 1e-9
        now = now.after(move)


@settings(max_examples=40, deadline=None)
@given(clusters())
def test_each_move_is_valid_though_those_before_it_are_not_made(cluster: Cluster) -> None:
    plan = repack(cluster.problem())
    for move in plan.moves:
        problem, packing = cluster.packing_of(move)
        # Pods that others are to be near may not have come; room and labels hold in any case.
        found = [fault for fault in faults(problem, packing) if not _of_reports(fault)]
        assert not [fault for fault in found if "overfull" in fault or "may not run" in fault]


def worst(claim: PlannedClaim, cluster: Cluster) -> float:
    """Return what a claim costs at most, whichever of its types is launched where it may be, $/h."""
    types = {one.name: one for offered in cluster.offers for one in offered.instance_types}
    prices = [
        o.price
        for name in claim.instance_types
        for o in types[name].offerings
        if o.available and claim.requirements.intersects(o.requirements())
    ]
    return max(prices) + claim.surcharge


def _of_reports(fault: str) -> bool:
    """Return whether a fault is about reports of classes and bounds, which moves do not have."""
    return "reports" in fault or "bound" in fault or "refused by" in fault


def assert_same_trials(used: Rearrangement, fresh: Rearrangement, names: list[str]) -> None:
    for name in names:
        assert used.without((name,)) == fresh.without((name,))
        used.undo()
        fresh.undo()
        assert used.without_bought((name,)) == fresh.without_bought((name,))
        used.undo()
        fresh.undo()


@settings(max_examples=40, deadline=None)
@given(clusters(), st.data())
def test_a_trial_that_is_undone_leaves_no_trace(cluster: Cluster, data: st.DataObject) -> None:
    problem = cluster.problem()
    if not problem.candidates:
        return
    names = [one.name for one in problem.candidates]
    tried = data.draw(
        st.lists(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True), max_size=4)
    )
    fresh = Rearrangement(problem.problem, problem.candidates)
    used = Rearrangement(problem.problem, problem.candidates)
    for some in tried:
        used.without(some)
        used.undo()
        used.without_bought(some)
        used.undo()
    assert_same_trials(used, fresh, names)


@settings(max_examples=40, deadline=None)
@given(clusters(), st.data())
def test_a_cluster_that_begins_anew_knows_nothing_of_what_was_kept(
    cluster: Cluster, data: st.DataObject
) -> None:
    problem = replace(cluster, waiting=tuple(pods("w", 2))).problem()
    if not problem.candidates:
        return
    names = [one.name for one in problem.candidates]
    fresh = Rearrangement(problem.problem, problem.candidates)
    used = Rearrangement(problem.problem, problem.candidates)
    some = data.draw(st.permutations(names))[: data.draw(st.integers(1, 3))]
    used.place_waiting([pod.uid for pod in problem.problem.pods if pod.name.startswith("w")])
    used.close(some[1:])
    used.keep(used.without_bought(some[:1]))

    used.begin_anew()

    assert_same_trials(used, fresh, names)


@settings(max_examples=40, deadline=None)
@given(clusters(), st.data())
def test_a_trial_that_is_known_is_kept_as_one_that_is_new(cluster: Cluster, data: st.DataObject) -> None:
    problem = cluster.problem()
    if not problem.candidates:
        return
    names = [one.name for one in problem.candidates]
    first, *others = data.draw(st.permutations(names))
    new = Rearrangement(problem.problem, problem.candidates)
    known = Rearrangement(problem.problem, problem.candidates)
    for name in names:
        known.without_bought((name,))
        known.undo()

    new.keep(new.without_bought((first,)))
    known.keep(known.without_bought((first,)))

    assert new.revision == known.revision
    for name in others:
        assert known.without_bought((name,)) == new.without_bought((name,))
        known.undo()
        new.undo()


@settings(max_examples=30, deadline=None)
@given(clusters())
def test_what_is_left_after_all_moves_is_at_rest(cluster: Cluster) -> None:
    """Deletes alone, so that the nodes that stay are known: a second search finds no more of them."""
    nothing = tuple(replace(one, instance_types=()) for one in cluster.offers)
    now = replace(cluster, offers=nothing)
    for _ in range(10):
        moves = repack(now.problem(terms=PoolTerms())).moves
        if not moves:
            return
        for move in moves:
            now = now.after(move)
    raise AssertionError("it does not come to rest")
