from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.__main__ import seeds
from tests.fuzz.catalogue import catalogue
from tests.fuzz.check.verdict import check
from tests.fuzz.contest import Match, misses, play
from tests.fuzz.ours import Treenail
from tests.fuzz.scenarios import GENERATORS
from tests.fuzz.situations import claim, decision, machine, pool, waiting
from tests.fuzz.summary import summary
from treenail.adapters.kwok.catalogue import read_catalogue
from treenail.adapters.solver.inline import InlineSolver
from treenail.domain.packing.plan import PackingPlan


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("catalogue") / "types.json"
    written.write_text(json.dumps(catalogue()))
    return written


@pytest.mark.parametrize("generator", sorted(GENERATORS))
@pytest.mark.seeds(quick=20, soak=500)
def test_decisions_on_random_scenarios_break_no_rule(types: Path, generator: str, seed: int) -> None:
    items = GENERATORS[generator](seed)

    found = check(items, catalogue(), Treenail(types).decide(items))

    assert [str(fault) for fault in found.faults] == []


def test_a_decision_for_which_something_failed_is_a_fault(
    types: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InlineSolver, "solve", lambda *_: PackingPlan(problems=("no size was found",)))

    match = play(1, [pool(), waiting("a")], Treenail(types))

    assert match.treenail.faults == ["ProblemsMetError: no size was found"]


class Decided:
    """Makes one decision, whatever it is asked."""

    def __init__(self, written: dict[str, Any]) -> None:
        self._written = written

    def decide(self, _items: Any, *, repeat: int = 1) -> dict[str, Any]:
        cost = sum(one["price"] for one in self._written["nodeClaims"])
        return {**self._written, "cost": cost, "seconds": [0.1] * repeat}


class Raising:
    """Never decides."""

    def decide(self, _items: Any, *, repeat: int = 1) -> dict[str, Any]:
        raise ValueError(f"not even once in {repeat}")


def contest(ours: dict[str, Any], theirs: dict[str, Any], *, alike: bool = False) -> Match:
    items = [pool(), waiting("a"), waiting("b", "web" if alike else "db")]
    return play(1, items, Decided(ours), Decided(theirs))


def test_a_contest_names_the_pods_that_only_one_places() -> None:
    match = contest(decision(claim("a"), refused=["b"]), decision(claim("b"), refused=["a"]))

    assert match.missed == ["default/b"]
    assert match.beyond == ["default/a"]
    assert match.same_pods_cost is None


def test_placeholders_that_karpenter_places_are_named_apart() -> None:
    low = waiting("low", priority=-1)
    theirs = decision(claim("low"), refused=["a"])

    match = play(
        1, [pool(), waiting("a"), low], Decided(decision(claim("a"), refused=["low"])), Decided(theirs)
    )

    assert match.missed == []
    assert match.missed_placeholders == ["default/low"]
    assert not misses(match)


def test_what_karpenter_places_against_the_rules_is_not_missed() -> None:
    match = contest(decision(claim("a"), refused=["b"]), decision(claim("a", "b")))
    assert misses(match)

    assert match.karpenter is not None
    match.karpenter.kinds["spread"] = 1
    assert not misses(match)


class InTurn:
    """Makes one decision after the other."""

    def __init__(self, *written: dict[str, Any]) -> None:
        self._sides = [Decided(one) for one in written]

    def decide(self, items: Any, *, repeat: int = 1) -> dict[str, Any]:
        return self._sides.pop(0).decide(items, repeat=repeat)


def test_what_karpenter_places_by_chance_is_not_missed() -> None:
    items = [pool(), waiting("a"), waiting("b", "db")]
    ours, other = decision(claim("a"), refused=["b"]), decision(claim("b"), refused=["a"])

    match = play(1, items, Decided(ours), InTurn(other, ours, other))

    assert match.missed == match.beyond == []


def test_what_karpenter_places_instead_of_pods_that_it_passed_over_is_not_missed() -> None:
    items = [machine("node"), waiting("big", cpu="3"), waiting("a", cpu="2"), waiting("b", cpu="2")]
    ours = decision(existing={"node": ["big"]}, refused=["a", "b"])
    theirs = decision(existing={"node": ["a", "b"]}, refused=["big"])

    match = play(1, items, Decided(ours), Decided(theirs))
    assert match.missed == ["default/a", "default/b"]
    assert match.passed_over == {"default/big": "node"}
    assert misses(match)

    match = play(1, items, InTurn(ours, theirs), Decided(theirs))
    assert match.same_pods_cost == 0
    assert not misses(match)


def test_alike_pods_stand_for_each_other() -> None:
    match = contest(decision(claim("a"), refused=["b"]), decision(claim("b"), refused=["a"]), alike=True)

    assert match.missed == match.beyond == []


def test_a_decision_that_raises_is_a_fault() -> None:
    match = play(1, [pool(), waiting("a")], Raising(), Decided(decision(claim("a"))))

    assert match.treenail.faults == ["ValueError: not even once in 1"]
    assert match.karpenter is not None
    assert match.karpenter.faults == []


def test_a_contest_compares_the_cost_of_the_same_pods() -> None:
    match = contest(decision(claim("a", "b")), decision(claim("a"), claim("b")))

    assert match.karpenter is not None
    assert match.same_pods_cost == match.karpenter.cost / 2


def test_a_summary_tells_faults_and_what_was_missed() -> None:
    match = contest(decision(claim("a"), refused=["b"]), decision(claim("a", "b")))

    lines = summary([match]).splitlines()
    assert lines[1] == "treenail: 1 pods placed; faults: 1 refused without cause; in seeds [1]"
    assert "pods that karpenter places and treenail does not, by seed: {1: 1}" in lines


def test_a_summary_bears_decisions_that_cost_nothing() -> None:
    items = [pool(), machine("node"), waiting("a")]
    there = Decided(decision(existing={"node": ["a"]}))

    assert "dearer than karpenter, by seed: {1: inf}" in summary(
        [play(1, items, Decided(decision(claim("a"))), there)]
    )


def test_seeds_are_read_as_ranges() -> None:
    assert list(seeds("7")) == [7]
    assert list(seeds("3,8,20-22")) == [3, 8, 20, 21, 22]
    with pytest.raises(ValueError, match="invalid literal"):
        seeds("few")


def test_the_catalogue_says_what_the_types_are(types: Path) -> None:
    assert len(read_catalogue(types)) == len(catalogue()) == 144
