from __future__ import annotations

import msgspec

from tests.bench.real.watched_page import Watched

RUN = Watched(nodes=200, pods=2_000, seen_after=[0.1, 0.6], unwatched=0.01, watched=0.028, load=1.0)


def test_a_page_that_follows_within_a_second_and_costs_little_misses_nothing() -> None:
    assert RUN.misses() == []


def test_a_change_that_is_seen_late_is_told_of() -> None:
    late = msgspec.structs.replace(RUN, seen_after=[0.1, 1.25])

    assert late.misses() == ["a change was seen after 1.25 s, over 1"]


def test_a_page_that_costs_too_much_is_told_of_whatever_the_controller_does_besides() -> None:
    dear = msgspec.structs.replace(RUN, unwatched=0.03, watched=0.06)

    assert dear.misses() == ["an open page costs 3.0% of a core, over 2%"]
