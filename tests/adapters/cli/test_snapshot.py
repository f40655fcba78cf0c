from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.adapters.cli.api_server import kubeconfig
from tests.adapters.cli.command import Ran, treenail
from tests.adapters.embed.lived_cluster import Manifest, lived_cluster, of, stored
from tests.adapters.kubernetes.scripted import Reply, ScriptedServer, status
from treenail.adapters.api.manifests import ManifestError, decode_all, parse_manifests
from treenail.adapters.api.snapshot.user_data import hash_of
from treenail.adapters.cli.snapshot_cluster import KINDS, NODE, POD
from treenail.domain.model.template_hash import HASH_VERSION, NODE_CLASS_HASH, version_of

PLANTED = "hunter2"


def path_of(kind: Any) -> str:
    versions, _, plural, _ = kind
    root = "apis" if "/" in versions[0] else "api"
    return f"/{root}/{versions[0]}/{plural}"


PATHS = {kind[1]: path_of(kind) for kind in (*KINDS, NODE, POD)}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.answers("/version", Reply(body=b'{"gitVersion": "v1.34.0"}'))
        for path in PATHS.values():
            server.objects[path] = []
        yield server


def serve(server: ScriptedServer, things: list[Manifest]) -> None:
    for thing in things:
        if thing["kind"] in PATHS:
            server.objects[PATHS[thing["kind"]]].append(thing)


def snapshot(server: ScriptedServer, folder: Path, *more: str) -> tuple[Ran, list[Manifest]]:
    file = folder / "cluster.yaml"
    arguments = ("-o", str(file), "--kubeconfig", kubeconfig(folder, server.url), "--no-account", *more)
    ran = treenail("snapshot", *arguments)
    return ran, list(yaml.safe_load_all(file.read_text())) if file.exists() else []


def kinds(documents: list[Manifest]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in documents:
        found.setdefault(one["kind"], []).append(one["metadata"]["name"])
    return found


def test_what_a_cluster_has_is_written_and_can_be_rehearsed(server: ScriptedServer, tmp_path: Path) -> None:
    things = lived_cluster(2)
    serve(server, things)

    ran, documents = snapshot(server, tmp_path)

    assert (ran.code, ran.out) == (0, "")
    assert "2 Nodes, 7 Pods" in ran.err
    expected = kinds([one for one in things if one["kind"] != "ClusterSnapshot"])
    assert kinds(documents) == {**expected, "ClusterSnapshot": ["cluster"], "ClusterSnapshotEnd": ["cluster"]}
    rehearsal = treenail("rehearse", "-f", str(tmp_path / "cluster.yaml"), "--for", "1h", "-o", "json")
    assert rehearsal.code == 0, rehearsal.err
    history = json.loads(rehearsal.out)
    assert [node["terminatedAt"] for node in history["nodes"]] == [None, None]
    assert not [one for one in history["timeline"] if one["event"] == "PlanCommitted"]


def test_a_snapshot_that_was_cut_off_is_refused_wherever_that_was(
    server: ScriptedServer, tmp_path: Path
) -> None:
    serve(server, lived_cluster(2))
    snapshot(server, tmp_path)
    file = tmp_path / "cluster.yaml"
    lines = file.read_text().splitlines(keepends=True)

    for kept in range(1, len(lines) - 3):
        with pytest.raises(ManifestError):
            decode_all(parse_manifests("".join(lines[:kept]).encode(), "cluster.yaml"))


def test_a_cut_snapshot_is_told_as_cut_before_what_follows_from_it(
    server: ScriptedServer, tmp_path: Path
) -> None:
    serve(server, lived_cluster(2))
    snapshot(server, tmp_path)
    whole = (tmp_path / "cluster.yaml").read_text()
    cut = tmp_path / "cut.yaml"
    cut.write_text(whole[: whole.rindex("kind: Pod") + len("kind: Pod\n")])

    ran = treenail("simulate", "-f", str(cut))

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"treenail: {cut}: ClusterSnapshot cluster: the file was cut off: ClusterSnapshotEnd, its last "
        "document, is missing; write the snapshot again\n"
    )


def test_a_snapshot_without_the_mark_of_an_end_is_taken_with_a_warning(
    server: ScriptedServer, tmp_path: Path
) -> None:
    serve(server, lived_cluster(2))
    _, documents = snapshot(server, tmp_path)
    del documents[0]["spec"]["endsWith"]
    old = tmp_path / "old.yaml"
    old.write_text(yaml.safe_dump_all(documents[:-1]))

    ran = treenail("simulate", "-f", str(old))

    assert ran.code == 0
    assert "ClusterSnapshot cluster: is of an older version, and cannot tell if it is whole" in ran.err


def test_a_decision_on_a_snapshot_asks_for_no_pod_that_is_there(
    server: ScriptedServer, tmp_path: Path
) -> None:
    serve(server, lived_cluster(2))
    snapshot(server, tmp_path)

    ran = treenail("simulate", "-f", str(tmp_path / "cluster.yaml"), "-o", "json")

    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["nodeClaims"] == []


def secretive() -> Manifest:
    """Return a Deployment with a secret wherever one may be."""
    container = {
        "name": "c",
        "image": f"registry/{PLANTED}",
        "command": ["run", PLANTED],
        "args": [PLANTED],
        "env": [{"name": "PASSWORD", "value": PLANTED}],
        "envFrom": [{"secretRef": {"name": PLANTED}}],
        "resources": {"requests": {"cpu": "1"}},
        "livenessProbe": {"exec": {"command": [PLANTED]}},
    }
    noted = {"kubectl.kubernetes.io/last-applied-configuration": PLANTED, "example.com/token": PLANTED}
    template = {
        "metadata": {"labels": {"app": "a"}, "annotations": {**noted, "karpenter.sh/do-not-disrupt": "true"}},
        "spec": {"containers": [container], "volumes": [{"name": "s", "secret": {"secretName": PLANTED}}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    managed = [{"manager": PLANTED, "fieldsV1": {}}]
    deployment = stored(of("apps/v1", "Deployment", "a", spec=spec), annotations=noted, managedFields=managed)
    return {**deployment, "status": {"conditions": [{"message": PLANTED}]}}


def test_what_may_be_secret_is_not_written(server: ScriptedServer, tmp_path: Path) -> None:
    things = lived_cluster(1)
    node_class = next(one for one in things if one["kind"] == "EC2NodeClass")
    node_class["spec"]["userData"] = f"echo {PLANTED}"
    serve(server, [*things, secretive()])

    ran, documents = snapshot(server, tmp_path)

    assert PLANTED not in (tmp_path / "cluster.yaml").read_text()
    assert "spec.userData of a node class is left out" in ran.err
    [written] = (one for one in documents if (one["kind"], one["metadata"]["name"]) == ("Deployment", "a"))
    template = written["spec"]["template"]
    assert template["metadata"]["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}
    assert template["spec"]["containers"] == [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]


def test_a_claim_is_no_more_drifted_without_the_user_data_of_its_class_than_with(
    server: ScriptedServer, tmp_path: Path
) -> None:
    things = lived_cluster(2)
    node_class = next(one for one in things if one["kind"] == "EC2NodeClass")
    node_class["spec"]["userData"] = "echo 1"
    claims = [one for one in things if one["kind"] == "NodeClaim"]
    for claim, its_hash in zip(claims, (hash_of(node_class), "another"), strict=True):
        noted = {NODE_CLASS_HASH: its_hash, version_of(NODE_CLASS_HASH): HASH_VERSION}
        claim["metadata"]["annotations"] = noted
    serve(server, things)

    _, documents = snapshot(server, tmp_path)

    [without] = (one for one in documents if one["kind"] == "EC2NodeClass")
    hashes = [
        one["metadata"]["annotations"][NODE_CLASS_HASH] for one in documents if one["kind"] == "NodeClaim"
    ]
    assert hashes == [hash_of(without), "another"]


def test_a_kind_that_may_not_be_read_is_named_and_named_again_where_the_file_is_used(
    server: ScriptedServer, tmp_path: Path
) -> None:
    serve(server, lived_cluster(1))
    server.objects.pop(PATHS["PodDisruptionBudget"])
    server.answers(PATHS["PodDisruptionBudget"], status(403, "Forbidden", "you may not"))

    ran, documents = snapshot(server, tmp_path)

    assert ran.code == 0
    assert "warning: not read: PodDisruptionBudget: " in ran.err
    assert documents[0]["spec"]["notRead"][0].startswith("PodDisruptionBudget: ")
    again = treenail("simulate", "-f", str(tmp_path / "cluster.yaml"))
    assert "some of it could not be read: PodDisruptionBudget: " in again.err


def test_an_object_that_makes_no_sense_is_named_and_the_others_are_written(
    server: ScriptedServer, tmp_path: Path
) -> None:
    things = lived_cluster(1)
    broken = stored(of("policy/v1", "PodDisruptionBudget", "odd", spec={"maxUnavailable": []}))
    serve(server, [*things, broken])

    ran, documents = snapshot(server, tmp_path)

    assert "not read: PodDisruptionBudget odd: spec.maxUnavailable" in ran.err
    assert "PodDisruptionBudget" not in kinds(documents)
    assert kinds(documents)["Node"] == ["node-0"]


def test_without_nodes_or_pods_there_is_no_snapshot(server: ScriptedServer, tmp_path: Path) -> None:
    server.objects.pop(PATHS["Pod"])
    server.answers(PATHS["Pod"], status(403, "Forbidden", "you may not"))

    ran, documents = snapshot(server, tmp_path)

    assert (ran.code, documents) == (2, [])
    assert ran.complaint.startswith("treenail: the cluster cannot be read: GET /api/v1/pods: ")


def test_a_pod_whose_node_is_gone_by_then_is_left_out(server: ScriptedServer, tmp_path: Path) -> None:
    things = lived_cluster(2)
    serve(server, [one for one in things if one["metadata"]["name"] != "node-1"])

    _, documents = snapshot(server, tmp_path)

    assert "web-abc-0" in kinds(documents)["Pod"]
    assert "web-abc-1" not in kinds(documents)["Pod"]


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    for output in (str(tmp_path), str(tmp_path / "none" / "cluster.yaml")):
        ran = treenail("snapshot", "-o", output)

        assert ran.code == 2
        assert ran.err.startswith(f"treenail: --output {output}: cannot be written: ")
