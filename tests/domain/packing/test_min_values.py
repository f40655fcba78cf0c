"""Of how many values of a label a new node must leave the choice."""

from __future__ import annotations

from dataclasses import replace

from tests.domain.packing.advised import advised
from tests.domain.packing.colocated import A, app, domains, refused, sold, solved, spread, with_terms
from tests.domain.packing.problems import asking, problem
from treenail.domain.model import labels
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.model.resources import Resources
from treenail.domain.packing.problem import MinValuesPolicy, Problem
from treenail.domain.packing.refusal_reasons import Reason


def at_least(count: int, key: str) -> Requirement:
    return replace(Requirement.of(key, Operator.EXISTS), min_values=count)


def choosy(count: int, key: str, spec: PodSpec) -> Problem:
    return problem(app("web", 3, spec), offers=(sold(at_least(count, key)),))


def best_effort(of: Problem) -> Problem:
    return replace(of, settings=replace(of.settings, min_values=MinValuesPolicy.BEST_EFFORT))


def reason(of: Problem) -> Reason:
    (group,) = advised(of)
    assert group.nearest is not None
    return group.nearest.reason


def test_a_type_counts_with_all_the_zones_it_is_sold_in_wherever_the_pods_may_be() -> None:
    assert not refused(choosy(2, labels.ZONE, asking(selector={labels.ZONE: A})))
    assert sorted(domains(choosy(3, labels.ZONE, with_terms(spread()))).values()) == [1, 1, 1]


def test_a_type_counts_with_all_the_ways_it_is_sold() -> None:
    assert not refused(choosy(2, labels.CAPACITY_TYPE, asking(selector={labels.CAPACITY_TYPE: labels.SPOT})))


def test_more_zones_than_there_are_is_what_is_said_to_be_wrong() -> None:
    assert reason(choosy(4, labels.ZONE, asking(selector={labels.ZONE: A}))) is Reason.MIN_VALUES


def test_pods_that_are_spread_are_told_of_too_little_choice_and_of_no_domain() -> None:
    types_enough_for_none = choosy(9, labels.INSTANCE_TYPE, with_terms(spread()))
    too_few_that_are_large = choosy(2, labels.INSTANCE_TYPE, with_terms(spread(), of=asking(20)))

    assert reason(types_enough_for_none) is Reason.MIN_VALUES
    assert reason(too_few_that_are_large) is Reason.MIN_VALUES


# --- as much of it as there is


def test_pods_that_few_types_hold_get_them_where_no_more_is_asked_for_than_there_is() -> None:
    large = choosy(2, labels.INSTANCE_TYPE, asking(20))

    assert len(refused(large)) == 3
    assert not refused(best_effort(large))


def test_others_have_the_choice_all_the_same() -> None:
    small, large = (
        app("small", 12, asking(1), pod_group="small"),
        app("large", 1, asking(20), pod_group="large"),
    )
    of = best_effort(problem(small, large, offers=(sold(at_least(3, labels.INSTANCE_TYPE)),)))

    claims = [claim for claim in solved(of).claims if "large-0" not in claim.pods]

    assert claims
    assert all(len(claim.instance_types) >= 3 for claim in claims)


def test_what_limits_leave_is_as_much_as_there_is() -> None:
    limited = replace(sold(at_least(3, labels.INSTANCE_TYPE)), limits_left=Resources.parse({"cpu": 2}))
    of = problem(app("web", 1, asking(1)), offers=(limited,))

    assert refused(of) == ["web-0"]
    assert not refused(best_effort(of))


def test_a_pool_that_asks_for_too_much_says_one_thing_alone() -> None:
    (group,) = advised(best_effort(choosy(9, labels.INSTANCE_TYPE, asking(900))))

    assert [refusal.reason for refusal in group.refusals] == [Reason.TOO_LARGE]
