"""The page on testing: its code runs as it stands, and names all that is public."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

from treenail import testing
from treenail.adapters.fake.ec2.outside_events import OutsideEvents
from treenail.domain.model.causes import Cause
from treenail.testing import Rehearsal, contracts

ROOT: Path = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text()
EMBEDDING = (ROOT / "docs" / "embedding.md").read_text()


def code() -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder as somebody else would, with the plugin."""
    plain = ("-q", "-p", "no:cacheprovider", "-p", "no:treenail", "-p", "treenail.pytest_plugin")
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pytest", *plain, *options, "."],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / ".dev")},
        check=False,
        capture_output=True,
        text=True,
    )


def test_the_code_on_testing_runs_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "test_page.py").write_text(code())

    fresh = run_pytest(tmp_path, "-k", "on_file and timeline")
    written = run_pytest(tmp_path, "--treenail-update")
    compared = run_pytest(tmp_path, "-k", "on_file and timeline")

    assert "test_the_timeline_is_on_file.txt is not there yet" in fresh.stdout
    assert "79 passed" in written.stdout, written.stdout + written.stderr
    assert "1 passed" in compared.stdout, compared.stdout


def test_a_failed_test_shows_the_end_of_what_happened(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "def test_it(rehearse):\n    cluster = rehearse(seed=7)\n    cluster.run('1m')\n    cluster.crash()\n"
        "    assert cluster.running() == 1\n"
    )

    said = run_pytest(tmp_path).stdout

    assert "rehearsal with seed 7" in said
    assert "60.000000 ControllerKilled {}\nat 60 s: 0 pods" in said


@pytest.mark.parametrize("name", sorted(vars(testing.Cloud)["__abstractmethods__"]))
def test_every_method_of_the_port_cloud_has_a_row(name: str) -> None:
    section = PAGE.split("| method of `Cloud` |")[1].split("```")[0]
    assert re.search(rf"^\| [^|]*`{name}`[^|]*\|", section, re.MULTILINE)


def rows(head: str) -> dict[str, set[str]]:
    """Return the attributes by class that a table names, less those of parts (`.requests`)."""
    table = PAGE.split(f"| {head} |\n|---|---|\n")[1].split("\n\n")[0]
    told: dict[str, set[str]] = {}
    for line in table.splitlines():
        classes, attributes = line.strip("| ").split(" | ")
        for name in re.findall(r"`(\w+)`", classes):
            told[name] = set(re.findall(r"`(\w+)`", attributes))
    return told


@pytest.mark.parametrize(("name", "attributes"), rows("value | attributes").items())
def test_attributes_on_the_page_are_there(name: str, attributes: set[str]) -> None:
    kind = getattr(testing, name)
    there = {field.name for field in fields(kind)}
    there |= {one for one, value in vars(kind).items() if isinstance(value, property)}

    assert attributes
    assert attributes - there == set()


def test_all_fields_of_all_public_messages_are_on_the_page() -> None:
    names = re.findall(r"`(\w+)`", PAGE.split("\n| messages |")[1].split("\n")[0])
    told = rows("message | fields")

    assert sorted(told) == sorted(names)
    for name in names:
        assert told[name] == {field.name for field in fields(getattr(testing, name))}, name


def test_causes_on_the_page_are_causes() -> None:
    named = re.findall(r'"(\w+)"', PAGE.split("A cause is text:")[1].split("\n")[0])

    assert set(named) <= {cause.value for cause in Cause}


def test_all_calls_of_the_ports_stand_with_their_arguments_on_the_page() -> None:
    table = PAGE.split("<!-- calls -->")[1].split("<!-- /calls -->")[0]
    told = {
        port: re.findall(r"`([^`]+)`", calls)
        for port, calls in re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
    }

    for name, calls in told.items():
        port = vars(getattr(testing, name))
        there = [one for one in port if one[0] != "_" and one not in {"feed", "stop", "learn"}]
        assert sorted(calls) == sorted(f"{one}{arguments(port[one])}" for one in there)
    assert set(told) == {"ClusterReader", "ClusterWriter", "Cloud", "InterruptionQueue"}


def arguments(call: Callable[..., object]) -> str:
    """Return the arguments of a method as it is called, without its types."""
    own, *others = inspect.signature(call).parameters.values()
    assert own.name == "self"
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in others]
    return re.sub(r"<(Purpose\.\w+): .*?>", r"\1", str(inspect.Signature(plain)))


@pytest.mark.parametrize("name", contracts.__all__)
def test_every_contract_is_documented(name: str) -> None:
    assert f"`{name}`" in PAGE or f"`{name}(" in PAGE


@pytest.mark.parametrize("name", testing.__all__)
def test_every_public_name_stands_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE.split("## Names")[1]


def test_every_call_that_tests_have_besides_is_documented() -> None:
    calls = {name for name, value in vars(Rehearsal).items() if callable(value) and name[0] != "_"}
    ours = {"expect", "expect_none", "always", "crash_at", "fail", "set_faults", "fork", "settle", "untaint"}
    shared = {"run_out", "restock", "waiting", "cost_per_hour"}

    assert ours <= calls
    assert [name for name in sorted(ours) if f"`{name}(" not in PAGE] == []
    assert [name for name in sorted(shared) if f"`{name}(" not in EMBEDDING] == []


@pytest.mark.parametrize("name", [n for n, v in vars(OutsideEvents).items() if callable(v) and n[0] != "_"])
def test_what_tests_do_to_ec2_from_outside_is_documented(name: str) -> None:
    of_rehearsals = {"begin", "delete_templates", "restock", "publish_image"}
    served = {"zone_ids", "check_pools", "being_interrupted", *of_rehearsals}
    assert name in served or f"`{name}(" in EMBEDDING.split("| `cluster.ec2.outside` |")[1]


def test_no_public_name_is_a_text_where_annotations_need_a_type() -> None:
    def hear(outcome: testing.Outcome[float]) -> None:
        raise NotImplementedError(outcome)

    assert [name for name in testing.__all__ if isinstance(getattr(testing, name), str)] == []
    assert get_type_hints(hear)["outcome"] == testing.Done[float] | testing.Failed
