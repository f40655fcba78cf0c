from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from treenail.adapters.controller.live_page import LivePage
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.cluster.shown_state import StateAsked, shown_state


@dataclass
class Shows:
    """Answers as ClusterState does, of a rehearsal's model."""

    rehearsal: Rehearsal
    asked: int = 0
    silent: bool = False
    at: float = 0.0
    leads: bool = True
    seconds: list[float] = field(default_factory=list)

    def tell(self, message: StateAsked, /) -> None:
        self.asked += 1
        if not self.silent:
            message.to.tell(shown_state(self.rehearsal.system.model, self.rehearsal.world.now()))

    def page(self) -> LivePage:
        return LivePage(name="demo", cluster=lambda: self if self.leads else None, monotonic=lambda: self.at)


@pytest.fixture
def shows() -> Iterator[Shows]:
    with Rehearsal(seed=2) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment("web", cpu="250m")))
        yield Shows(rehearsal)


def html(page: LivePage) -> str:
    answer = page.page()
    assert answer.status is HTTPStatus.OK
    assert answer.content_type == "text/html; charset=utf-8"
    return answer.body.decode()


def test_the_page_shows_nodes_as_far_as_they_are_and_pods_that_wait(shows: Shows) -> None:
    shows.rehearsal.run("4s")

    page = html(shows.page())

    assert "Cluster demo" in page
    assert "3 pods wait" in page
    assert "has a place on default-" in page
    assert "booting: Node not registered with cluster" in page


def test_what_changed_is_shown_a_second_later_however_many_look(shows: Shows) -> None:
    page = shows.page()
    shows.rehearsal.run("4s")
    before = [html(page) for _ in range(20)]
    assert shows.asked == 1

    shows.rehearsal.run("2m")
    assert html(page) == before[0]
    shows.at = 1.0

    assert "3 pods wait" not in html(page)
    assert shows.asked == 2


def test_the_revision_changes_with_the_state_alone(shows: Shows) -> None:
    page = shows.page()
    shows.rehearsal.run("4s")
    first = page.revision().body

    assert page.revision().body == first
    shows.rehearsal.run("2m")
    assert int(page.revision().body) > int(first)


def test_a_replica_that_does_not_lead_has_no_revision(shows: Shows) -> None:
    shows.leads = False

    assert shows.page().revision().status is HTTPStatus.SERVICE_UNAVAILABLE


def test_decisions_and_ends_of_nodes_are_kept_and_shown(shows: Shows) -> None:
    page = shows.page()
    shows.rehearsal.run("2m")
    shows.rehearsal.delete("NodeClaim", shows.rehearsal.claims()[0].name)
    shows.rehearsal.run("3m")
    for span in shows.rehearsal.telemetry.spans():
        page.note(span)

    shown = html(page)

    decision, trace = shows.rehearsal.decisions()[0]
    assert decision in shown
    assert trace in shown
    assert "deleted" in shown


def test_a_replica_that_does_not_lead_says_so(shows: Shows) -> None:
    shows.leads = False

    answer = shows.page().page()

    assert answer.status is HTTPStatus.SERVICE_UNAVAILABLE
    assert b"another replica leads" in answer.body


def test_nobody_who_looks_waits_for_long(shows: Shows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treenail.adapters.controller.live_page._ANSWERED_WITHIN", 0.01)
    shows.silent = True

    answer = shows.page().page()

    assert answer.status is HTTPStatus.SERVICE_UNAVAILABLE
    assert b"busy" in answer.body


def test_without_anybody_who_looks_nothing_is_asked(shows: Shows) -> None:
    page = shows.page()
    shows.rehearsal.run("2m")
    for span in shows.rehearsal.telemetry.spans():
        page.note(span)

    assert shows.asked == 0


def test_the_page_runs_its_own_script_alone(shows: Shows) -> None:
    shows.rehearsal.run("4s")

    page = html(shows.page())

    assert page.count("<script>") == 1
    assert "default-src 'none'" in page
