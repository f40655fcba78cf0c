from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import bound_pod
from tests.sentences import said
from treenail.domain.model.pod_budgets import PodBudgets, PodDisruptionBudget, Portion
from treenail.domain.model.pods import LabelSelector

WEB = LabelSelector(match_labels=(("app", "web"),))
POD = replace(bound_pod("p1", "n-1"), labels={"app": "web"})
NO_MORE = PodDisruptionBudget(name="web", selector=WEB, disruptions_allowed=0)
HOLDS = "pdb prevents pod evictions (PodDisruptionBudget=[default/web])"


def book(*budgets: PodDisruptionBudget) -> PodBudgets:
    there = PodBudgets()
    for budget in budgets:
        there.put(budget)
    return there


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        pytest.param(NO_MORE, HOLDS, id="used up"),
        pytest.param(replace(NO_MORE, disruptions_allowed=1), None, id="one left"),
        pytest.param(replace(NO_MORE, disruptions_allowed=None), HOLDS, id="not told yet"),
        pytest.param(replace(NO_MORE, selector=None), None, id="selects nothing"),
        pytest.param(replace(NO_MORE, selector=LabelSelector()), HOLDS, id="selects all"),
        pytest.param(replace(NO_MORE, namespace="other"), None, id="of another namespace"),
    ],
)
def test_a_budget_holds_the_pods_it_selects_when_it_is_used_up(
    budget: PodDisruptionBudget, why: str | None
) -> None:
    assert said(book(budget).holding(POD)) == why


def test_a_pod_that_is_not_ready_goes_where_its_budget_always_lets_it() -> None:
    sick = replace(POD, ready=False)

    assert said(book(NO_MORE).holding(sick)) == HOLDS
    assert book(replace(NO_MORE, always_allow_unhealthy=True)).holding(sick) is None
    assert said(book(replace(NO_MORE, always_allow_unhealthy=True)).holding(POD)) == HOLDS


def test_two_budgets_hold_a_pod_whatever_they_allow() -> None:
    one, two = (replace(NO_MORE, name=name, disruptions_allowed=5) for name in ("b", "a"))

    assert (
        said(book(one, two).holding(POD))
        == "eviction does not support multiple PDBs (PodDisruptionBudget(s)=[default/a default/b])"
    )


def test_a_budget_that_is_gone_holds_nobody() -> None:
    there = book(NO_MORE)

    there.remove("default/web")
    there.remove("default/stranger")

    assert there.holding(POD) is None


@pytest.mark.parametrize(
    ("budget", "kept"),
    [
        pytest.param(replace(NO_MORE, max_unavailable=Portion(0)), True, id="none may be gone"),
        pytest.param(replace(NO_MORE, max_unavailable=Portion(0, percent=True)), True, id="nor any share"),
        pytest.param(replace(NO_MORE, min_available=Portion(100, percent=True)), True, id="all must stay"),
        pytest.param(replace(NO_MORE, min_available=Portion(100)), False, id="used up for now"),
        pytest.param(
            replace(NO_MORE, max_unavailable=Portion(0), always_allow_unhealthy=True),
            True,
            id="but sick ones",
        ),
    ],
)
def test_a_pod_is_kept_where_its_budget_lets_none_go_ever(*, budget: PodDisruptionBudget, kept: bool) -> None:
    assert book(budget).keeps(POD) is kept
    assert book(budget).keeps(replace(POD, ready=False)) is (kept and not budget.always_allow_unhealthy)
