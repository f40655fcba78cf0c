from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.scenarios.watching import expect_whole_traces, pods_by_node
from tests.windows_walkthrough import ADDRESS, BUILDS, DEPLOYMENTS, objects
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model import labels


@pytest.mark.seeds(quick=3, soak=20)
def test_each_release_of_windows_gets_one_node_for_its_ten_pods_that_goes_when_they_do(
    tmp_path: Path, seed: int
) -> None:
    manifest = tmp_path / "003-windows.yaml"
    manifest.write_text(yaml.safe_dump_all(objects()))
    with Rehearsal(seed=seed) as rehearsal:
        rehearsal.apply(manifest)
        rehearsal.run("5m")

        assert rehearsal.running() == 20
        assert list(pods_by_node(rehearsal).values()) == [10, 10]
        found = {node.labels[labels.PROVISIONER]: node for node in rehearsal.nodes()}
        for pool, build in BUILDS.items():
            assert found[pool].labels[labels.OS] == "windows"
            assert found[pool].labels[labels.WINDOWS_BUILD] == build
            assert found[pool].allocatable.get(ADDRESS, 0) >= 10

        for name in DEPLOYMENTS:
            rehearsal.scale(name, 0)
        rehearsal.run("5m")

        assert (rehearsal.pods(), rehearsal.nodes(), rehearsal.claims()) == ((), (), ())
        assert rehearsal.ec2.live() == ()
        assert {record.cause for record in rehearsal.history()} == {"empty"}
        expect_whole_traces(rehearsal)


def test_pools_of_one_type_get_the_node_of_the_walkthrough(tmp_path: Path) -> None:
    made = objects()
    only = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["c6a"]}
    for thing in made:
        if thing["kind"] == "Provisioner":
            thing["spec"]["requirements"].append(only)
    manifest = tmp_path / "003-windows.yaml"
    manifest.write_text(yaml.safe_dump_all(made))
    with Rehearsal() as rehearsal:
        rehearsal.apply(manifest)
        rehearsal.run("5m")

        assert [node.instance_type for node in rehearsal.history()] == ["c6a.xlarge", "c6a.xlarge"]
        [node, _] = rehearsal.nodes()
        said = node.allocatable.format()
        assert (said["cpu"], said["memory"], said["pods"]) == ("3920m", "6012Mi", "110")
        assert said[ADDRESS] == "14"
