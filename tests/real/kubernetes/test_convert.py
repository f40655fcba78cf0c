"""`treenail convert --from-cluster`, and what it makes, applied again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.adapters.api.builders import node_class_tree, node_pool_tree
from tests.adapters.cli.command import Ran, treenail
from tests.real.kubernetes.definitions import ok, place
from tests.real.parts.control_plane import ControlPlane
from treenail.adapters.api.manifests import read_manifests

OLD = Path(__file__).parents[3] / "examples/000-multi-provisioner.yaml"


def from_cluster(server: ControlPlane, *options: str) -> Ran:
    return treenail("convert", "--from-cluster", "--kubeconfig", str(server.kubeconfig), *options)


@pytest.fixture
def old(made: Any) -> None:
    for manifest in read_manifests([OLD]):
        if manifest.kind in ("Provisioner", "AWSNodeTemplate"):
            made(dict(manifest.content) if not isinstance(manifest.content, bytes) else {})


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("to", ["v1", "v1beta1"])
def test_what_is_in_a_cluster_is_converted_and_accepted_by_it_again(
    server: ControlPlane, made: Any, to: str
) -> None:
    ran = from_cluster(server, "--to", to)

    assert ran.code == 0, ran.err
    trees = list(yaml.safe_load_all(ran.out))
    assert sorted((one["kind"], one["metadata"]["name"]) for one in trees) == [
        ("EC2NodeClass", "default"),
        ("EC2NodeClass", "team-provisioner"),
        ("NodePool", "default"),
        ("NodePool", "team-provisioner"),
    ]
    for tree in trees:
        assert tree["metadata"].keys() == {"name"}
        made(tree)
        kept = ok(server.request("GET", place(tree, tree["metadata"]["name"])))
        assert (
            kept["spec"].items()
            >= {key: value for key, value in tree["spec"].items() if not isinstance(value, dict)}.items()
        )


def test_a_cluster_with_nothing_to_convert_is_told_of(server: ControlPlane, made: Any) -> None:
    made(node_class_tree())
    made(node_pool_tree())

    ran = from_cluster(server)

    assert (ran.code, ran.out) == (2, "")
    assert "there is nothing in the cluster that is not in v1 already" in ran.err


@pytest.mark.usefixtures("old")
def test_a_diff_begins_with_what_the_cluster_says(server: ControlPlane) -> None:
    lines = from_cluster(server, "--diff").out.splitlines()

    assert lines[:2] == ["--- cluster", "+++ cluster (v1)"]
    assert "-kind: Provisioner" in lines
    assert "+kind: NodePool" in lines
