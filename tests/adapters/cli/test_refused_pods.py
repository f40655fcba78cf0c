from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.actors.test_pod_watcher import Watching
from tests.adapters.cli.changed_manifests import with_changes
from tests.adapters.cli.command import treenail
from tests.adapters.cli.refused_manifests import CATALOGUE, Case
from tests.adapters.cli.refused_pods import CASES
from tests.builders import decision
from tests.scenarios.manifests import Manifest, text
from treenail.adapters.api.manifests import decode_all, read_manifests
from treenail.adapters.embed.simulation import FixedCatalogue, Simulation
from treenail.adapters.kwok.catalogue import read_catalogue
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.packing.problem import PackingSettings
from treenail.domain.packing.refusal_reasons import Reason

# What the API server takes of an event's message.
LONGEST_MESSAGE = 1024


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("catalogue") / "types.json"
    file.write_text(json.dumps(CATALOGUE))
    return file


def simulated(catalogue: Path, tmp_path: Path, *manifests: Manifest) -> dict[str, Any]:
    file = tmp_path / "given.yaml"
    file.write_text(text(*manifests))
    ran = treenail("simulate", "-f", str(file), "--instance-types", str(catalogue), "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_there_are_sixty_cases_of_which_fifty_can_be_helped() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60
    assert sum(case.curable for case in CASES) >= 50
    causes = {case.reason for case in CASES}
    # The first is the controller's to say, the second needs pools that are wrong, the last a defect.
    assert set(Reason) - causes == {Reason.POOL_NOT_READY, Reason.MIN_VALUES, Reason.SET_ASIDE}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_right_reason_is_given_and_what_is_proposed_helps(
    case: Case, catalogue: Path, tmp_path: Path
) -> None:
    found = simulated(catalogue, tmp_path, *case.manifests)

    [refused] = found["refused"]
    nearest = refused["nearest"]
    assert nearest["reason"] == case.reason.value
    if case.about:
        assert nearest["values"]["about"] == case.about
    for name in refused["pods"]:
        assert nearest["sentence"] in found["unschedulable"][name]
    if not case.curable:
        assert refused["remedy"] is None
        return
    remedy = refused["remedy"]
    assert remedy is not None
    cured = with_changes(case.manifests, remedy["changes"], refused["pods"])
    left = simulated(catalogue, tmp_path, *cured)["unschedulable"]
    assert left == {}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_event_on_the_pod_says_the_same(case: Case, catalogue: Path, tmp_path: Path) -> None:
    file = tmp_path / "given.yaml"
    file.write_text(text(*case.manifests))
    decoded = decode_all(read_manifests([file]), node_classes_optional=True)
    simulation = Simulation(decoded, FixedCatalogue(read_catalogue(catalogue)), PackingSettings())
    simulation.decide()
    simulation.advise()
    [group] = simulation.plan.refused
    pods = {pod.uid: pod for pod in simulation._problem.pods}
    stage = Watching()
    stage.waits(pods[group.pods[0]])

    stage.watcher.tell(PlanCommitted(decision=decision(), claims=(), refused=((pods[group.pods[0]], group),)))
    stage.run(0)

    [(_, reason, message, warning)] = stage.events()
    assert (reason, warning) == ("FailedScheduling", True)
    assert message.startswith(f"Failed to schedule pod, {case.reason.value}: ")
    assert (str(group.remedy) in message[:LONGEST_MESSAGE]) is case.curable
