from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import pytest

from tests.bench.packing import ours
from tests.bench.packing.catalogues import relaxation
from tests.bench.packing.decisions import Decision, UndecidedError, cheapest, read_decision
from tests.bench.packing.freshness import Pods
from tests.bench.packing.ours import Treenail, answer, settings_of
from tests.bench.packing.workloads import manifests
from treenail.adapters.kwok.catalogue import read_catalogue
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.packing.problem import PackingOrder, PackingSettings, Problem


def ask(lines: list[str], folder: Path) -> list[bytes]:
    (folder / "types.json").write_text(json.dumps(relaxation(10)))
    side = Treenail(read_catalogue(folder / "types.json"), PackingSettings(), Pods.BARE)
    to = io.BytesIO()
    answer(side, io.BytesIO("".join(f"{line}\n" for line in lines).encode()), to)
    return to.getvalue().splitlines()


def test_an_empty_line_decides_once_more_on_the_last_file(tmp_path: Path) -> None:
    path = tmp_path / "pods.json"
    path.write_text(json.dumps(manifests("generic", 30, 1)))

    first, second = (read_decision(line) for line in ask([str(path), ""], tmp_path))

    assert (first.first, second.first) == (True, False)
    assert first.node_claims == second.node_claims
    assert len(first.placed) == first.pods == 30
    assert first.cost >= first.lower_bound > 0
    assert first.seconds[0] > 0
    assert second.peak_mib >= second.resident_mib > 10


def test_a_file_that_cannot_be_read_is_told_and_the_next_one_decided_on(tmp_path: Path) -> None:
    path = tmp_path / "pods.json"
    path.write_text(json.dumps(manifests("generic", 3, 1)))

    gone, again, good = ask([str(tmp_path / "gone.json"), "", str(path)], tmp_path)

    with pytest.raises(UndecidedError, match="no such file"):
        read_decision(gone)
    with pytest.raises(UndecidedError, match="no last file"):
        read_decision(again)
    assert read_decision(good).pods == 3


def test_a_decision_that_fails_is_told_with_its_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pods.json"
    path.write_text(json.dumps(manifests("generic", 3, 1)))

    def fail(problem: Problem) -> PackingPlan:
        raise ZeroDivisionError(f"{len(problem.pods)} pods")

    monkeypatch.setattr(ours, "pack", fail)

    with pytest.raises(UndecidedError, match="ZeroDivisionError: 3 pods"):
        read_decision(ask([str(path)], tmp_path)[0])


def test_a_plan_for_which_something_failed_is_no_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pods.json"
    path.write_text(json.dumps(manifests("generic", 3, 1)))
    monkeypatch.setattr(ours, "pack", lambda _: PackingPlan(problems=("no size was found", "nor another")))

    with pytest.raises(UndecidedError, match="ProblemsMetError: no size was found; nor another"):
        read_decision(ask([str(path)], tmp_path)[0])


def test_settings_are_read_by_their_names() -> None:
    assert settings_of(["order=memory", "steps=7"]) == PackingSettings(order=PackingOrder.MEMORY, steps=7)
    assert settings_of(["node_overhead_cost=0"]).node_overhead_cost == 0.0
    with pytest.raises(ValueError, match="no setting 'colour'"):
        settings_of(["colour=blue"])
    with pytest.raises(ValueError, match="sideways"):
        settings_of(["order=sideways"])


def test_of_several_decisions_the_cheapest_that_places_all_counts() -> None:
    def decision(cost: float, *placed: str) -> Decision:
        one = Decision(
            node_claims=(),
            existing={"node": placed},
            unschedulable={},
            cost=cost,
            pods=2,
            seconds=(1.0,),
            processor_seconds=(1.0,),
        )
        return read_decision(msgspec.json.encode(one))

    all_of_them = decision(5.0, "a", "b")

    assert cheapest([decision(7.0, "a", "b"), all_of_them, decision(1.0, "a")]) == all_of_them
