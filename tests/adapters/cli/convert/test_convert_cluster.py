"""`treenail convert --from-cluster` with what answers in a cluster's place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapters.cli.api_server import kubeconfig
from tests.adapters.cli.command import Ran, treenail
from tests.adapters.kubernetes.objects import provisioner
from tests.adapters.kubernetes.scripted import Reply, ScriptedServer
from treenail.adapters.kubernetes.resources import PROVISIONER


def converted(folder: Path, server: ScriptedServer) -> Ran:
    config = kubeconfig(folder, server.url)
    return treenail("convert", "--from-cluster", "--kubeconfig", config, "-o", "json")


@pytest.mark.parametrize(
    "body",
    [
        b"<html>login</html>",
        b"[]",
        b'{"items": [1]}',
        b'{"items": [{"metadata": null}]}',
        b'{"items": [{}]}',
        b'{"items": {}, "metadata": {}}',
        b'{"items": [], "metadata": 1}',
    ],
)
def test_what_is_no_list_of_an_api_server_is_one_line(tmp_path: Path, body: bytes) -> None:
    with ScriptedServer() as server:
        server.lists(PROVISIONER, Reply(body=body))

        ran = converted(tmp_path, server)

    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint.startswith(
        "treenail: --from-cluster: GET /apis/karpenter.sh/v1alpha5/provisioners: "
    )
    assert ran.complaint.count("\n") == 1


def test_what_a_cluster_holds_is_converted_less_what_only_the_server_needs(tmp_path: Path) -> None:
    pool = provisioner("default", 3, provider=True)
    pool["metadata"] |= {"managedFields": [{"manager": "kubectl"}]}
    with ScriptedServer() as server:
        server.serve(PROVISIONER, pool)

        ran = converted(tmp_path, server)

    assert ran.code == 0, ran.complaint
    made = json.loads(ran.out)["items"]
    assert [(one["kind"], one["metadata"]) for one in made] == [
        ("NodePool", {"name": "default"}),
        ("EC2NodeClass", {"name": "default"}),
    ]
