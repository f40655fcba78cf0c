from __future__ import annotations

from pathlib import Path

from tests.actors.graph import ACTORS, edges, table

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_the_page_shows_the_graph_that_the_constructors_declare() -> None:
    page = PAGE.read_text()
    shown = page.split("<!-- graph -->")[1].split("<!-- /graph -->")[0].strip()

    assert shown == table()


def test_every_message_in_the_picture_is_one_an_actor_really_sends() -> None:
    known = edges()
    picture = PAGE.read_text().split("```mermaid")[1].split("```")[0]
    arrows = [line.strip().split(" -- ") for line in picture.splitlines() if " -- " in line]
    names = {actor.__name__ for actor in ACTORS}

    for tells, rest in arrows:
        message, hears = rest.split(" --> ")
        if tells in names and hears in names:
            assert message in known[tells, hears]


def test_every_actor_is_told_something_by_another() -> None:
    heard = {hears for _, hears in edges()}

    assert {actor.__name__ for actor in ACTORS} - heard == {"StatusPoller"}
