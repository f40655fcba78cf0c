"""What pools, catalogues and daemons come to is found out once, not for each decision."""

from __future__ import annotations

from copy import deepcopy

import pytest

from tests.domain.packing.problems import asking, catalogue, offer, pods, pool, problem
from treenail.domain.packing.offers import catalogue_table as table
from treenail.domain.packing.offers import templates
from treenail.domain.packing.offers.catalogue_table import table_of
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import Problem

TYPES = catalogue()


def decide(*daemons: str) -> Problem:
    """Return a problem of which nothing but the types is an object of another's, packed."""
    one = deepcopy(pool())
    specs = tuple(asking(cpu) for cpu in daemons)
    decided = problem(pods("web", 3), offers=(offer(one, types=TYPES),), daemons=specs)
    assert pack(decided).claims
    return decided


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    table._table_of.cache_clear()
    asked: list[object] = []
    make = templates._template_arrays

    def noted(*of: object) -> object:
        asked.append(of[0])
        return make(*of)  # type: ignore[arg-type]

    monkeypatch.setattr(templates, "_template_arrays", noted)
    return asked


def test_equal_pools_are_made_arrays_of_once(made: list[object]) -> None:
    decide("100m")
    decide("100m")

    assert len(made) == 1


def test_other_daemons_are_looked_at_anew(made: list[object]) -> None:
    decide("100m")
    decide("200m")
    decide()

    assert len(made) == 3


def test_what_was_not_asked_for_the_longest_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_KEPT_BESIDE", 2)
    kept, asked = table_of(TYPES), list[str]()

    def ask(key: str) -> None:
        kept.kept(("test", key), lambda: asked.append(key))

    for key in ("a", "b", "a", "c", "a", "b"):
        ask(key)

    assert asked == ["a", "b", "c", "b"]


def test_places_of_a_new_catalogue_are_looked_up_beforehand(made: list[object]) -> None:
    del made
    known = len(table_of(TYPES).offers._cheapest)

    decide()

    assert len(table_of(TYPES).offers._cheapest) == known
