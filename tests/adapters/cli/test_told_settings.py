from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapters.cli.command import INFLATE, treenail
from tests.scenarios.watching import fleet_requests
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal

MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: karpenter-global-settings, namespace: karpenter}
data:
  KEY: 'VALUE'
"""


def told(folder: Path, key: str, value: str) -> str:
    """Return the path of a manifest with one setting."""
    file = folder / "settings.yaml"
    file.write_text(MAP.replace("KEY", key).replace("VALUE", value))
    return str(file)


def test_a_rehearsal_batches_as_the_config_map_among_its_manifests_says(tmp_path: Path) -> None:
    file = told(tmp_path, "batchIdleDuration", "7s")

    ran = treenail("rehearse", "-f", INFLATE, "-f", file, "--for", "1m", "-o", "json")

    assert (ran.code, ran.err) == (0, "")
    events = {entry["event"]: entry["at"] for entry in reversed(json.loads(ran.out)["timeline"])}
    assert events["BatchClosed"] - events["PodBecamePending"] == pytest.approx(7, abs=0.5)


@pytest.mark.parametrize("command", ["rehearse", "simulate"])
def test_a_setting_that_makes_no_sense_is_one_line_that_names_its_file_and_key(
    command: str, tmp_path: Path
) -> None:
    file = told(tmp_path, "aws.reservedENIs", "few")

    ran = treenail(command, "-f", INFLATE, "-f", file)

    complaint = (
        "ConfigMap karpenter-global-settings: data[aws.reservedENIs]: 'few' is not an integer of 0 or more"
    )
    assert (ran.code, ran.out, ran.err) == (2, "", f"treenail: {file}: {complaint}\n")


def test_a_simulation_takes_off_nodes_memory_what_the_config_map_says(tmp_path: Path) -> None:
    def types(value: str) -> list[str]:
        file = told(tmp_path, "aws.vmMemoryOverheadPercent", value)
        pod = tmp_path / "pod.yaml"
        pod.write_text(POD)
        ran = treenail("simulate", "-f", INFLATE, "-f", file, "-f", str(pod), "-o", "json")
        assert (ran.code, ran.err) == (0, "")
        claims = json.loads(ran.out)["nodeClaims"]
        return sorted({name for claim in claims for name in claim["instanceTypes"]})

    assert types("0.01") != types("0.5")


POD = """
apiVersion: v1
kind: Pod
metadata: {name: large}
spec:
  containers: [{name: app, image: pause, resources: {requests: {cpu: 1, memory: 100Gi}}}]
"""


def test_all_that_is_launched_bears_the_tags_of_the_settings_less_those_of_its_node_class() -> None:
    settings = SystemSettings(cluster_name="demo", tags={"team": "all", "managed-by": "nobody"})
    with Rehearsal(conditions=Conditions(system=settings)) as rehearsal:
        requests = fleet_requests(rehearsal)
        rehearsal.apply(Path(INFLATE).with_name("000-weight.yaml"))
        rehearsal.run("2m")

        assert {(r.tags["team"], r.tags["managed-by"]) for r in requests} == {("all", "karpenter")}
