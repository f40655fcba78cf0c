"""The Job that `treenail sweep --kubernetes` writes, given to a real API server."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.adapters.cli.command import treenail
from tests.real.kubernetes.definitions import ok
from tests.real.parts.control_plane import ControlPlane
from tests.scenarios.manifests import deployment, node_class, node_pool, text

PATHS = {
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
}


def test_the_job_and_its_files_are_accepted_with_every_field(
    api_server: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("web.yaml").write_text(text(node_class(), node_pool(), deployment()))
    pods = ("--shares", "3", "--image", "treenail:0.1.0")
    ran = treenail("sweep", "-f", "web.yaml", "--seeds", "1-9", "--kubernetes", *pods)
    assert (ran.code, ran.err) == (0, "")

    for tree in yaml.safe_load_all(ran.out):
        path = PATHS[tree["kind"]]
        kept = ok(api_server.request("POST", f"{path}?fieldValidation=Strict", tree))
        if tree["kind"] == "Job":
            spec = kept["spec"]
            assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 3, 3)
            assert spec["podFailurePolicy"] == {
                "rules": [
                    {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2]}},
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                ]
            }
        ok(api_server.request("DELETE", f"{path}/{tree['metadata']['name']}?propagationPolicy=Background"))
