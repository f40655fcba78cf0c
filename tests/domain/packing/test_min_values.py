"""Of how many values of a label a new node must leave the choice."""

from __future__ import annotations

from dataclasses import replace

from tests.domain.packing.advised import advised
from tests.domain.packing.company import A, app, domains, refused, sold, spread, with_terms
from tests.domain.packing.problems import asking, problem
from treenail.domain import labels
from treenail.domain.packing.problem import Problem
from treenail.domain.pods import PodSpec
from treenail.domain.reasons import Reason
from treenail.domain.requirements import Operator, Requirement


def at_least(count: int, key: str) -> Requirement:
    return replace(Requirement.of(key, Operator.EXISTS), min_values=count)


def choosy(count: int, key: str, spec: PodSpec) -> Problem:
    return problem(app("web", 3, spec), offers=(sold(at_least(count, key)),))


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
