from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.adapters.cli.command import EXAMPLES, INFLATE, treenail

SPOT = str(EXAMPLES / "002-spot.yaml")


def test_a_rehearsal_writes_its_report_beside_what_it_prints(tmp_path: Path) -> None:
    page = tmp_path / "spot.html"

    ran = treenail(
        "rehearse", "-f", SPOT, "--for", "15m", "--at", "5m", "spot-interruption", "--report", str(page)
    )

    assert ran.code == 0
    assert "NodeDrained" in ran.out
    html = page.read_text()
    for said in ("Rehearsal of 002-spot.yaml", "spot_interrupted", "draining", "EC2/CreateFleet", "a month"):
        assert said in html, said
    assert list(tmp_path.iterdir()) == [page]


def test_equal_seeds_write_the_same_page(tmp_path: Path) -> None:
    pages = []
    for name in ("a.html", "b.html"):
        treenail("rehearse", "-f", INFLATE, "--for", "3m", "--report", str(tmp_path / name), "--quiet")
        pages.append((tmp_path / name).read_bytes())

    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("{}", "--report {}: is a folder; name a file, such as {}/report.html"),
        ("{}/missing/r.html", "--report {}/missing/r.html: there is no folder {}/missing"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(
    tmp_path: Path, path: str, complaint: str
) -> None:
    ran = treenail("rehearse", "-f", INFLATE, "--report", path.format(tmp_path))

    where = str(tmp_path)
    assert (ran.code, ran.out, ran.err) == (2, "", f"treenail: {complaint.format(where, where)}\n")


def test_quiet_prints_the_summary_alone() -> None:
    ran = treenail("rehearse", "-f", INFLATE, "--for", "3m", "--quiet")

    assert re.match(r"cost +\$0\.\d+ spent; at the end \$[\d.]+/h, \$[\d.,]+ a month\n", ran.out)
    assert "BatchClosed" not in ran.out
    assert ran.out.endswith("s of virtual time\n")
    assert len(ran.out.splitlines()) < 10


def test_events_are_those_that_the_controller_published() -> None:
    ran = treenail("rehearse", "-f", INFLATE, "--for", "3m", "--events")

    assert re.search(r"Nominated +Pod default/inflate", ran.out)
    assert "Nominated " not in treenail("rehearse", "-f", INFLATE, "--for", "3m").out


def test_the_summary_is_in_the_json_too() -> None:
    summary = json.loads(treenail("rehearse", "-f", INFLATE, "--for", "3m", "-o", "json").out)["summary"]

    assert summary["nodesMost"] == 1
    assert summary["fewestRunning"] == {"Deployment default/inflate": 5}
    assert 10 < summary["pendingSeconds"]["median"] <= summary["pendingSeconds"]["p99"] < 120
    assert summary["costPerMonth"] == pytest.approx(730 * summary["costPerHour"], abs=0.01)
    assert (summary["pending"], summary["blocked"]) == ([], [])


def test_a_simulation_writes_what_would_be_bought_and_who_has_no_place(tmp_path: Path) -> None:
    huge = tmp_path / "huge.yaml"
    huge.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: huge}, spec: {containers: "
        "[{name: c, image: x, resources: {requests: {cpu: 900}}}]}}"
    )
    page = tmp_path / "decision.html"

    ran = treenail("simulate", "-f", INFLATE, "-f", str(huge), "--report", str(page))

    assert ran.code == 0
    html = page.read_text()
    for said in (
        "Simulation of 001-inflate.yaml, huge.yaml",
        "Nodes to buy",
        "default/inflate-0",
        "Pods without a place",
        "default/huge",
    ):
        assert said in html, said
