"""A real browser, headless: Chromium of the machine, started for one page at a time."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
_LONGEST_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Shown:
    """A page as the browser has it: its document after it was laid out, and what the console said."""

    document: str
    console: tuple[str, ...]


def find_browser() -> str | None:
    """Return where Chromium is, if this machine has it."""
    return next((path for name in _NAMES if (path := shutil.which(name)) is not None), None)


def show(url: str, *options: str) -> Shown:
    """Open a page, and return it as it is then.

    Raises:
        subprocess.SubprocessError: the browser failed, or did not come back in time.
    """
    ran = _run(url, "--dump-dom", *options)
    return Shown(ran.stdout, tuple(line for line in ran.stderr.splitlines() if "CONSOLE" in line))


def picture(url: str, to: Path, *options: str) -> bytes:
    """Return a picture of a page as PNG."""
    _run(url, f"--screenshot={to}", *options)
    return to.read_bytes()


def browser_command(url: str, *options: str) -> list[str]:
    """Return the command that opens a page in a browser without a window."""
    browser = find_browser()
    if browser is None:
        raise FileNotFoundError("no Chromium on this machine")
    return [
        browser,
        "--headless=new",
        # The tests may run as root, where Chromium has no sandbox.
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--enable-logging=stderr",
        "--window-size=1280,1600",
        *options,
        url,
    ]


def _run(url: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 (a browser of this machine, on a page of our own)
        browser_command(url, *options),
        capture_output=True,
        text=True,
        check=True,
        timeout=_LONGEST_SECONDS,
    )
