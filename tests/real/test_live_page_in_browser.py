from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.controller.test_live_page import Shows
from tests.real.browser import find_browser, show
from tests.real.browser_tab import open_tab
from tests.scenarios.manifests import deployment, node_class, node_pool, text
from treenail.adapters.controller.metrics_and_probes import serve_pages
from treenail.adapters.embed.rehearsal import Rehearsal

pytestmark = [
    pytest.mark.skipif(find_browser() is None, reason="no Chromium on this machine"),
    pytest.mark.xdist_group("browser"),
]


def raised(error: BaseException) -> None:
    raise error


def test_a_browser_shows_the_live_page_and_asks_for_it_anew() -> None:
    with Rehearsal(seed=2) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment("web", cpu="250m")))
        rehearsal.run("4s")
        shows = Shows(rehearsal)
        page = shows.page()
        served = serve_pages(0, page.pages(), failed=raised, lost=lambda *_: None, host="127.0.0.1")
        try:
            shown = show(f"http://127.0.0.1:{served.port}/ui", "--virtual-time-budget=3000")
        finally:
            served.stop()

    assert shown.console == ()
    assert shows.asked > 2
    assert "has a place on default-" in shown.document


def test_a_change_on_the_live_page_leaves_what_is_selected_alone(tmp_path: Path) -> None:
    with Rehearsal(seed=2) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment("web", cpu="250m")))
        rehearsal.run("4s")
        shows = Shows(rehearsal)
        served = serve_pages(0, shows.page().pages(), failed=raised, lost=lambda *_: None, host="127.0.0.1")
        try:
            with open_tab(tmp_path) as tab:
                tab.open(f"http://127.0.0.1:{served.port}/ui")
                tab.evaluate("getSelection().selectAllChildren(document.querySelector('#nodes'))")
                rehearsal.run("2m")
                shows.at = 10.0
                tab.wait_for("!document.querySelector('main').textContent.includes('3 pods wait')")
                selected = tab.evaluate("getSelection().toString()")
        finally:
            served.stop()

    assert selected == "Nodes"
