from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.adapters.cli.command import EXAMPLES, treenail
from tests.real.browser import find_browser, picture, show

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
