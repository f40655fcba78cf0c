from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.command import treenail
from tests.scenarios.manifests import changed, node_class, node_pool, text

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def block(name: str) -> str:
    """Return the code between the marks `name` of the README."""
    found = re.search(rf"<!-- {name} -->\n```\w*\n(.*?)```\n<!-- /{name} -->", README, re.DOTALL)
    assert found is not None
    return found[1]


def demo() -> str:
    """Return what `make demo` prints."""
    [command] = re.findall(r"\$\(BIN\)/treenail (rehearse .*)", MAKEFILE)
    return treenail(*command.replace("examples/", f"{ROOT}/examples/").split()).out


def shown_test() -> Callable[[], None]:
    """Return the test that the README shows."""
    shown: dict[str, Any] = {}
    exec(compile(block("test"), "README.md", "exec"), shown)  # noqa: S102
    found: Callable[[], None] = shown["test_my_deployment_survives_a_spot_interruption"]
    return found


def test_the_test_shown_passes_and_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    test = shown_test()
    threads = set(threading.enumerate())

    test()

    assert set(threading.enumerate()) == threads


def test_the_test_shown_has_15_lines() -> None:
    lines = [line for line in block("test").splitlines() if line.strip()]

    assert len(lines) <= 15


def test_the_demo_tells_the_events_that_are_shown() -> None:
    def events(text: str) -> list[str]:
        return re.findall(r"^ *(\d+\.\d{3}  \w+)", text, re.MULTILINE)

    assert events(demo()) == events(block("demo"))


def test_the_demo_shows_the_spans_that_are_shown() -> None:
    def spans(text: str) -> list[str]:
        return re.findall(r"[├└]── ((?:\* )?[\w/]+  \+\S+)", text)

    printed, shown = spans(demo()), spans(block("trace"))
    assert printed[: len(shown)] == shown


def test_the_complaint_shown_is_what_bad_input_gets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pool = changed(node_pool(), "spec.limits", {"cpu": "-4"})
    (tmp_path / "pools.yaml").write_text(text(pool, node_class()))

    assert treenail("rehearse", "-f", "pools.yaml").err == block("complaint")


def test_every_file_linked_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)

    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []
