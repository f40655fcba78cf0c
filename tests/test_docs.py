from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.adapters.cli.command import treenail
from tests.scenarios.manifests import deployment, node_class, node_pool, text
from treenail.adapters.api.aws.v1_node_class import EC2NodeClassSpecModel
from treenail.adapters.api.aws.v1alpha1_node_template import AWSNodeTemplateSpecModel
from treenail.adapters.api.karpenter.v1_node_pool import (
    DisruptionModel,
    NodePoolSpecModel,
    NodeTemplateSpecModel,
)
from treenail.adapters.api.karpenter.v1alpha5_provisioner import ProvisionerSpecModel
from treenail.adapters.api.kinds import KINDS
from treenail.adapters.cli.rehearsal_report import as_json
from treenail.adapters.embed import Rehearsal
from treenail.adapters.embed.actions import parse_action
from treenail.adapters.embed.rehearsal_summary import summarize
from treenail.domain.model.causes import Cause
from treenail.domain.model.requirements import Operator
from treenail.domain.packing.refusal_reasons import Reason
from treenail.domain.packing.remedies import ChangeKind

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text()


def in_code(prose: str) -> set[str]:
    """Return the words that stand in code within lines of text."""
    return {word for code in re.findall(r"`([^`\n]+)`", prose) for word in re.findall(r"[\w-]+", code)}


def events(prose: str) -> dict[str, set[str]]:
    """Return the fields by event that the table of events names."""
    found: dict[str, set[str]] = {}
    for left, right in re.findall(r"^\| (`[A-Z]\w+`.*?) \| (.*?) ?\|$", prose, re.MULTILINE):
        for event in re.findall(r"`([A-Z]\w+)`", left):
            found[event] = in_code(right)
    return found


def test_the_code_on_embedding_runs_as_it_stands() -> None:
    shown: dict[str, Any] = {}
    code = "\n".join(re.findall(r"```python\n(.*?)```", page("embedding"), re.DOTALL))
    exec(compile(code, "embedding.md", "exec"), shown)  # noqa: S102
    tests = [value for name, value in shown.items() if name.startswith("test_")]

    assert len(tests) == 4
    for test in tests:
        test()


def test_every_call_of_a_rehearsal_is_documented() -> None:
    calls = {name for name in vars(Rehearsal) if not name.startswith("_")}

    assert calls - in_code(page("embedding")) == set()


def test_every_action_is_documented_and_every_documented_action_is_one() -> None:
    section = page("rehearsing").split("## Actions")[1].split("\n## ")[0]
    documented = re.findall(r"^\| `([a-z0-9-]+)[`=]", section, re.MULTILINE)
    with pytest.raises(ValueError, match="unknown action") as caught:
        parse_action("1s", "nothing")
    known = str(caught.value).partition("there are ")[2].split(", ")

    assert sorted(documented) == sorted(known)


def test_every_event_of_an_eventful_rehearsal_is_documented_with_its_fields(tmp_path: Path) -> None:
    later = tmp_path / "bad.yaml"
    later.write_text("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: bad}\nspec: {}\n")
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=5)))
        rehearsal.run("2m")
        rehearsal.apply_file(str(later))
        rehearsal.interrupt()
        rehearsal.recommend_rebalance()
        rehearsal.run("3m")
        rehearsal.impair()
        rehearsal.sicken()
        rehearsal.terminate_outside()
        rehearsal.crash()
        rehearsal.restart(after=3)
        rehearsal.run("3m")
        rehearsal.api_server_away(3)
        rehearsal.run_out("*", "*")
        rehearsal.scale("web", 50)
        rehearsal.run("5m")
        rehearsal.delete("Deployment", "web")
        rehearsal.run("3m")
        report = as_json(rehearsal, summarize(rehearsal))
    documented = events(page("rehearsing"))
    timeline: Any = report["timeline"]

    assert len({entry["event"] for entry in timeline}) > 20
    for entry in timeline:
        assert entry.keys() - {"at", "event"} <= documented[entry["event"]], entry


# Of each command, the page that has its options.
COMMANDS = {
    "rehearse": "rehearsing",
    "compare": "rehearsing",
    "sweep": "rehearsing",
    "simulate": "packing",
    "plan": "consolidation",
    "snapshot": "snapshot",
    "catalogue": "catalogue",
    "convert": "convert",
    "top": "explain",
    "explain pod": "explain",
    "explain node": "explain",
    "takeover check": "coming-from-karpenter",
    "takeover convert": "coming-from-karpenter",
    "takeover back": "coming-from-karpenter",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_is_documented(command: str) -> None:
    shown = treenail(*command.split(), "--help").out
    short = {"--file": "-f", "--output": "-o", "--help": ""}
    options = set(
        re.findall(r"--[a-z][a-z-]*[a-z]", " ".join(re.findall(r"^  -.*?(?=  |$)", shown, re.MULTILINE)))
    )

    assert len(options) > 1
    told = page(COMMANDS[command])
    assert {one for one in options if short.get(one, one) not in told} == set()


def test_every_part_of_the_json_is_documented() -> None:
    inflate = str(ROOT / "examples" / "001-inflate.yaml")
    for command, name in (("rehearse", "rehearsing"), ("simulate", "packing")):
        report = msgspec.json.decode(treenail(command, "-f", inflate, "-o", "json").out, type=dict[str, Any])
        parts = report.keys() | {
            key for part in report.values() if isinstance(part, list) for key in _keys(part)
        }

        known = in_code(page(name)) | {field for fields in events(page(name)).values() for field in fields}
        assert parts - known == set()


def _keys(part: list[Any]) -> set[str]:
    return {key for one in part if isinstance(one, dict) for key in one}


def test_the_consolidation_plan_that_is_shown_is_the_one_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown = re.search(
        r"<!-- plan -->\n```\n\$ treenail (.*?)\n(.*?)```\n<!-- /plan -->", page("consolidation"), re.DOTALL
    )
    assert shown is not None

    printed = treenail(*shown[1].split()).out

    assert [line.split() for line in printed.splitlines()] == [line.split() for line in shown[2].splitlines()]


def test_every_part_of_the_json_of_a_plan_is_documented() -> None:
    ran = treenail("plan", "-f", str(ROOT / "examples" / "006-underused.yaml"), "--whole", "-o", "json")
    report = msgspec.json.decode(ran.out, type=dict[str, Any])

    parts = {*report, *_fields_within(report)}
    assert {"replacements", "blockers", "wouldSave"} <= parts
    assert parts - in_code(page("consolidation")) == set()


def _fields_within(part: Any) -> set[str]:
    """Return the names of all fields; the keys of `existing` are nodes, and no fields."""
    if isinstance(part, list):
        return {field for one in part for field in _fields_within(one)}
    if not isinstance(part, dict):
        return set()
    deeper = {field for name, one in part.items() if name != "existing" for field in _fields_within(one)}
    return set(part) | deeper


def test_every_reason_is_documented() -> None:
    assert {reason.value for reason in Reason} <= in_code(page("packing"))


def test_every_cause_of_an_end_is_documented() -> None:
    assert {cause.value for cause in Cause} <= in_code(page("rehearsing"))


def test_every_change_that_may_help_is_documented() -> None:
    assert {kind.value for kind in ChangeKind} <= in_code(page("packing"))


def test_every_kind_is_documented_beside_its_version() -> None:
    rows = re.findall(r"^\| `([\w./-]+)` \| (`.*`) \|$", page("api"), re.MULTILINE)

    assert {(version, kind) for version, kinds in rows for kind in in_code(kinds)} == KINDS.keys()


@pytest.mark.parametrize(
    "model",
    [
        NodePoolSpecModel,
        NodeTemplateSpecModel,
        DisruptionModel,
        ProvisionerSpecModel,
        EC2NodeClassSpecModel,
        AWSNodeTemplateSpecModel,
    ],
)
def test_every_field_is_documented(model: type[msgspec.Struct]) -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(model)} - {"apiVersion", "kind"}

    assert fields - in_code(page("api")) == set()


def test_the_operators_named_are_those_there_are() -> None:
    assert {operator.value for operator in Operator} <= in_code(page("api"))


def anchors(of: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    prose = re.sub(r"```.*?```", "", of.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


LINKING = [*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


@pytest.mark.parametrize("linking", LINKING, ids=lambda path: path.name)
def test_every_link_leads_to_a_file_and_a_heading_that_are_there(linking: Path) -> None:
    links = re.findall(r"\]\(([^):]*?)(?:#([\w-]*))?\)", linking.read_text())

    for file, heading in links:
        target = linking.parent / file if file else linking
        assert target.exists(), file
        assert not heading or heading in anchors(target), f"{file}#{heading}"
