from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.cli.command import EXAMPLES, treenail
from tests.real.browser import find_browser, picture, show
from tests.real.browser_tab import Tab, open_tab

pytestmark = [
    pytest.mark.skipif(find_browser() is None, reason="no Chromium on this machine"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a spot interruption."""
    path = tmp_path_factory.mktemp("report") / "spot.html"
    ran = treenail(
        "rehearse",
        "-f",
        str(EXAMPLES / "002-spot.yaml"),
        "--for",
        "20m",
        "--at",
        "5m",
        "spot-interruption",
        "--report",
        str(path),
        "--quiet",
    )
    assert ran.code == 0
    return path


def test_a_browser_shows_the_whole_report_and_complains_of_nothing(page: Path) -> None:
    shown = show(page.as_uri())

    assert shown.console == ()
    assert "spot_interrupted" in shown.document
    assert shown.document.count("</main>") == 1


@pytest.mark.parametrize("scheme", ["", "--force-dark-mode"])
def test_the_report_is_drawn_in_light_and_in_dark(page: Path, tmp_path: Path, scheme: str) -> None:
    options = [scheme, "--blink-settings=preferredColorScheme=0"] if scheme else []
    png = picture(page.as_uri(), tmp_path / "page.png", *options)

    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == (1280, 1600)
    # An empty page compresses to a few kilobytes.
    assert len(png) > 30_000


INK_ON_PAPER = ["rgb(28, 32, 36)", "rgb(255, 255, 255)"]
COLOURS = "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
# A waterfall that is closed, and whether it is drawn.
CLOSED = "document.querySelector('details:not([open]):not(.span)')"
DRAWN = f"{CLOSED}.querySelector('.fall').checkVisibility()"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with open_tab(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def tab(browser: Tab, page: Path) -> Tab:
    browser.look()
    browser.open(page.as_uri())
    return browser


def test_the_keyboard_alone_reaches_every_link_and_every_trace_and_sees_where_it_is(tab: Tab) -> None:
    focused, reached = "document.activeElement", []
    tab.press("Tab")
    while tab.evaluate(f"{focused} !== document.body"):
        reached.append(tab.evaluate(f"{focused}.textContent.trim()"))
        assert tab.evaluate(f"getComputedStyle({focused}).outlineStyle") == "solid"
        tab.press("Tab")

    controls = tab.evaluate(
        "[...document.querySelectorAll('a, summary')]"
        ".filter(e => e.checkVisibility()).map(e => e.textContent.trim())"
    )
    assert len(controls) > 10
    assert reached == controls


def test_enter_and_space_open_a_trace_and_close_it(tab: Tab) -> None:
    tab.evaluate(f"{CLOSED}.firstElementChild.focus()")
    opened = "document.activeElement.parentElement.open"

    tab.press("Enter")
    assert tab.evaluate(opened)
    tab.press(" ")
    assert not tab.evaluate(opened)


def test_enter_on_a_link_goes_to_its_section(tab: Tab) -> None:
    tab.look(height=600)
    tab.press("Tab")
    tab.press("Tab")
    tab.press("Enter")

    assert tab.evaluate("location.hash") != ""
    assert tab.evaluate("scrollY") > 0


def test_paper_is_white_for_readers_in_the_dark_and_shows_traces_that_are_closed(tab: Tab) -> None:
    tab.look(dark=True)
    assert tab.evaluate(COLOURS) != INK_ON_PAPER
    assert not tab.evaluate(DRAWN)

    tab.look(dark=True, media="print")
    assert tab.evaluate(COLOURS) == INK_ON_PAPER
    assert tab.evaluate(DRAWN)
    assert tab.printed().startswith(b"%PDF")


# A4 is 718 pixels wide between its margins. Borders end half a pixel later.
@pytest.mark.parametrize(("media", "width"), [("screen", 360), ("print", 718)])
def test_no_name_is_cut_on_a_telephone_and_on_paper(tab: Tab, media: str, width: int) -> None:
    tab.look(width=width, height=800, media=media)

    assert tab.evaluate("document.documentElement.scrollWidth") <= width + 1
    assert not tab.evaluate("[...document.querySelectorAll('.who')].some(e => e.scrollWidth > e.clientWidth)")
    assert tab.console == []
