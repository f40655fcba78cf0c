from __future__ import annotations

from typing import Any

from tests.fuzz.catalogue import catalogue
from tests.fuzz.check.turns import passed_over
from tests.fuzz.situations import LARGE, SMALL, claim, decision, machine, pool, waiting


def over(items: Any, decided: Any) -> dict[str, str]:
    return passed_over(items, catalogue(), decided)


def test_a_pod_is_passed_over_when_smaller_ones_have_its_place_on_a_node() -> None:
    items = [machine("node"), waiting("big", cpu="3"), waiting("a", cpu="2"), waiting("b", cpu="2")]

    assert over(items, decision(existing={"node": ["a", "b"]}, refused=["big"])) == {"default/big": "node"}


def test_a_pod_waits_with_cause_while_larger_ones_have_its_place() -> None:
    items = [machine("node"), waiting("big", cpu="3"), waiting("a", cpu="2"), waiting("b", cpu="2")]

    assert over(items, decision(existing={"node": ["big"]}, refused=["a", "b"])) == {}


def test_a_pod_waits_with_cause_while_others_of_its_size_have_its_place() -> None:
    items = [machine("node"), waiting("a", cpu="3"), waiting("b", "db", cpu="3")]

    assert over(items, decision(existing={"node": ["a"]}, refused=["b"])) == {}


def test_a_pod_is_passed_over_when_smaller_ones_have_its_place_on_a_claim() -> None:
    items = [pool(limits={"cpu": "4"}), waiting("a", cpu="2"), waiting("big", "db"), waiting("b", cpu="500m")]
    claims = decision(claim("a", "b", types=[SMALL]), refused=["big"])

    assert over(items, claims) == {"default/big": "claim 0 (default)"}


def test_a_pod_is_passed_over_when_limits_left_it_a_new_node() -> None:
    items = [pool(limits={"nodes": "1"}), waiting("big", cpu="3"), waiting("a", cpu="2")]

    assert over(items, decision(claim("a"), refused=["big"])) == {"default/big": "default"}


def test_a_claim_takes_of_limits_what_the_largest_type_has_that_it_could_have_been() -> None:
    items = [pool(limits={"cpu": "20"}), waiting("a", cpu="15"), waiting("big", "db", cpu="3")]

    assert over(items, decision(claim("a", types=[LARGE]), refused=["big"])) == {}
