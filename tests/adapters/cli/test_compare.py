from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.command import treenail
from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from treenail.adapters.api.documents import Manifest as Read
from treenail.adapters.cli.rehearsal_options import RehearsalOptions, in_place_of
from treenail.adapters.embed.told_settings import settings_told
from treenail.adapters.settings.settings import ProvisionFor


@pytest.fixture(autouse=True)
def cores(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return what sets how many cores there are: one, so that no test waits for processes to start."""

    def are(number: int) -> None:
        monkeypatch.setattr("treenail.adapters.cli.rehearsals.all_cores", lambda: number)

    are(1)
    return are


@pytest.fixture
def dear(tmp_path: Path) -> str:
    """Return a file with a workload and a pool on demand."""
    return written(
        tmp_path / "dear.yaml", node_class(), node_pool(capacity_types=["on-demand"]), deployment()
    )


@pytest.fixture
def cheap(tmp_path: Path) -> str:
    """Return a file with a spot pool alone."""
    return written(tmp_path / "cheap.yaml", node_pool("spot"))


def written(path: Path, *manifests: Manifest) -> str:
    path.write_text(text(*manifests))
    return str(path)


def compared(*arguments: str) -> dict[str, Any]:
    ran = treenail("compare", *arguments, "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_the_cheaper_side_and_why_are_the_first_lines(dear: str, cheap: str) -> None:
    ran = treenail("compare", "-f", dear, "--with", cheap, "--for", "1h")

    first, second, third, *_ = ran.out.splitlines()
    assert re.fullmatch(r"B costs \d\d\.\d% less: \$0\.\d+ against \$0\.\d+", first)
    assert re.search(r"A ran \d\.\d node hours \(\S+ on-demand 100%\); B ran .* spot", second)
    assert third.startswith("A: 99 % of pods waited at most ")
    assert ran.code == 0


def test_json_has_both_sides_and_each_seed(cores: Callable[[int], None], dear: str, cheap: str) -> None:
    cores(2)  # worker processes send back what they found
    found = compared("-f", dear, "--with", cheap, "--for", "30m", "--seeds", "2", "--seed", "4")

    assert found["cheaper"] == "b"
    for side in ("a", "b"):
        assert found[side].keys() >= {"cost", "nodesMost", "pendingSeconds", "evictions", "fewestRunning"}
        assert found[side]["fewestRunning"] == {"Deployment default/web": 3}
    assert found["a"]["cost"] > found["b"]["cost"] > 0
    assert [one["seed"] for one in found["seeds"]] == [4, 5]
    assert found["seeds"][0]["a"]["cost"] == pytest.approx(found["a"]["cost"], rel=0.05)


def test_a_side_is_what_its_rehearsal_says(dear: str, cheap: str) -> None:
    found = compared("-f", dear, "--with", cheap, "--for", "20m", "--seed", "7")

    alone = json.loads(treenail("rehearse", "-f", dear, "--for", "20m", "--seed", "7", "-o", "json").out)
    assert found["a"]["cost"] == alone["cost"]
    assert found["a"]["pendingSeconds"] == alone["summary"]["pendingSeconds"]


def test_equal_sides_cost_the_same(dear: str) -> None:
    ran = treenail("compare", "-f", dear, "--with-setting", "BATCH_MAX_DURATION=10s", "--for", "10m")

    assert ran.out.startswith("A and B cost the same: $")


def test_a_setting_can_be_what_differs(dear: str) -> None:
    found = compared(
        "-f",
        dear,
        "--with-setting",
        "NODE_OVERHEAD_COST=0",
        "--with-setting",
        "EARLY_BINDING=true",
        "--for",
        "10m",
    )

    assert found["b"]["pendingSeconds"]["median"] <= found["a"]["pendingSeconds"]["median"]


@pytest.mark.parametrize(
    ("flag", "setting", "field", "sides"),
    [
        ({"early_binding": True}, "EARLY_BINDING=false", "early_binding", (True, False)),
        (
            {"provision_for": ProvisionFor.PODS},
            "PROVISION_FOR=wishes",
            "provision_for",
            (ProvisionFor.PODS, ProvisionFor.WISHES),
        ),
        ({"node_overhead_cost": 1e-5}, "NODE_OVERHEAD_COST=0.5", "node_overhead_cost", (1e-5, 0.5)),
    ],
)
def test_a_setting_of_side_b_comes_before_a_flag_that_both_sides_have(
    dear: str, flag: dict[str, Any], setting: str, field: str, sides: tuple[Any, Any]
) -> None:
    options = RehearsalOptions(files=(dear,), duration="1h", other_settings=(setting,), **flag)

    assert tuple(getattr(settings_told(one.said), field) for one in options.runs()) == sides


@pytest.mark.parametrize(
    ("gates", "on"), [("NodeRepair=false", False), ("SpotToSpotConsolidation=true", True), ("", True)]
)
def test_the_flag_of_node_repair_counts_unless_the_gates_of_side_b_name_it(
    dear: str, gates: str, *, on: bool
) -> None:
    other = (f"FEATURE_GATES={gates}",)
    options = RehearsalOptions(files=(dear,), duration="1h", node_repair=True, other_settings=other)

    repairing = [settings_told(one.said).feature_gates["NodeRepair"] for one in options.runs()]

    assert repairing == [True, on]


def test_what_only_one_side_can_do_is_skipped_on_the_other_and_said(dear: str, cheap: str) -> None:
    found = compared("-f", dear, "--with", cheap, "--for", "20m", "--at", "5m", "spot-interruption")

    assert found["skipped"] == ["not done on A, at 300 s spot-interruption: there is no spot node now"]
    assert (found["a"]["evictions"], found["b"]["evictions"] > 0) == (0, True)


def test_what_neither_side_can_do_is_warned_of(dear: str) -> None:
    ran = treenail(
        "compare",
        *("-f", dear, "--with-setting", "PACKING=cheapest", "--for", "5m"),
        *("--at", "3m", "spot-interruption=foo"),
    )

    what = "at 180 s spot-interruption=foo: there is no spot node foo: there are none"
    assert ran.err == f"treenail: warning: --at: done on neither side, {what}\n"


def test_a_report_has_both_sides(dear: str, cheap: str, tmp_path: Path) -> None:
    page = tmp_path / "both.html"

    treenail("compare", "-f", dear, "--with", cheap, "--for", "10m", "--report", str(page))

    html = page.read_text()
    for said in ("A: dear.yaml; B: cheap.yaml", "B costs ", "Side by side", "Dollars per hour"):
        assert said in html, said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "compare needs --with FILE or --with-setting NAME=VALUE: what side B has"),
        (("--with", "none.yaml"), "none.yaml: there is no such file"),
        (
            ("--with-setting", "PACKNG=x"),
            "--with-setting 'PACKNG=x': there is no setting PACKNG; did you mean PACKING?",
        ),
        (
            ("--with-setting", "PACKING=x"),
            "--with-setting PACKING: 'x' is none of cheapest, first-fit-descending",
        ),
        (("--with-setting", "PACKING=cheapest", "--seeds", "0"), "--seeds 0 is not between 1 and 1000"),
        (
            ("--with-setting", "CLOUD=ec2"),
            "--with-setting 'CLOUD=ec2': CLOUD changes nothing where no cluster and no AWS is asked",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    dear: str, arguments: tuple[str, ...], complaint: str
) -> None:
    ran = treenail("compare", "-f", dear, *arguments)

    assert (ran.code, ran.out, ran.err) == (2, "", f"treenail: {complaint}\n")


def read(kind: str, name: str, file: str = "a") -> Read:
    return Read(file=file, number=1, api_version="v", kind=kind, name=name, namespace="", content={})


def test_pools_take_the_place_of_all_pools_and_others_of_their_name_alone() -> None:
    before = [
        read("NodePool", "x"),
        read("Provisioner", "y"),
        read("EC2NodeClass", "c"),
        read("Deployment", "d"),
    ]

    pools = in_place_of(before, [read("NodePool", "z", "b")])
    web = in_place_of(before, [read("Deployment", "d", "b")])

    assert [(m.file, m.name) for m in pools] == [("a", "c"), ("a", "d"), ("b", "z")]
    assert [(m.file, m.name) for m in web] == [("a", "x"), ("a", "y"), ("a", "c"), ("b", "d")]
