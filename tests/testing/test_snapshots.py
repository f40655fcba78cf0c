"""A cluster that was written down, in a test: as `treenail rehearse -f` has it."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.embed.lived_cluster import MADE, TAKEN, lived_cluster, of, stored
from tests.scenarios.manifests import deployment, text
from treenail.adapters.api.manifests import parse_manifests
from treenail.adapters.cli.rehearsal_run import RehearsalRun, rehearsed
from treenail.testing import (
    Conditions,
    DaemonSet,
    ManifestError,
    ManifestWarning,
    RecordingError,
    Rehearsal,
    record,
    replay,
    timeline_text,
)


def snapshot(nodes: int) -> list[Any]:
    head, *things = lived_cluster(nodes)
    spec = {"takenAt": TAKEN, "endsWith": "ClusterSnapshotEnd"}
    return [{**head, "spec": spec}, *things, of("treenail.sh/v1alpha1", "ClusterSnapshotEnd", "cluster")]


SNAPSHOT = text(*snapshot(2))


def test_a_snapshot_goes_on_in_a_test_as_on_the_command_line() -> None:
    manifests = parse_manifests(SNAPSHOT.encode(), "snapshot")
    conditions = Conditions(snapshot=SNAPSHOT, untainted_after=5)

    with rehearsed(RehearsalRun(manifests=manifests, seconds=600, seed=3)) as there:
        expected = timeline_text(there), there.history(), there.cost()
    with Rehearsal(seed=3, conditions=conditions) as here:
        assert here.world.now() == datetime.fromisoformat(TAKEN)
        assert len(here.ec2.live()) == len(here.history()) == 2
        assert here.claims()[0].created_at == datetime.fromisoformat(MADE)
        assert [one.name for one in here.cluster.objects(DaemonSet)] == ["agent"]
        here.run(600)
        assert (timeline_text(here), here.history(), here.cost()) == expected


def test_a_snapshot_is_read_from_its_file_and_a_fork_begins_with_it_too(tmp_path: Path) -> None:
    file = tmp_path / "prod.yaml"
    file.write_text(SNAPSHOT, encoding="utf-8")

    with Rehearsal(conditions=Conditions(snapshot=file)) as cluster:
        lost = cluster.terminate_outside("node-1")
        with cluster.fork() as other:
            other.run("10m")
        cluster.run("10m")

        assert lost not in {node.name for node in cluster.nodes()}
        assert other.timeline.entries == cluster.timeline.entries
        record(cluster, tmp_path / "story.json")
    with pytest.raises(RecordingError, match="which must be given: snapshot"):
        replay(tmp_path / "story.json")
    replay(tmp_path / "story.json", conditions=Conditions(snapshot=file)).check()


def test_what_the_conditions_say_comes_before_the_snapshot() -> None:
    settings = of("v1", "ConfigMap", "karpenter-global-settings", data={"aws.clusterName": "theirs"})
    told = text(*snapshot(1)[:-1], settings, snapshot(1)[-1])
    monday = datetime(2026, 3, 9, tzinfo=UTC)

    with Rehearsal(conditions=Conditions(snapshot=told, start=monday)) as cluster:
        assert cluster.conditions.system.cluster_name == "theirs"
        assert cluster.world.now() == monday
    with Rehearsal(conditions=Conditions(snapshot=told, settings={"CLUSTER_NAME": "mine"})) as cluster:
        assert cluster.conditions.system.cluster_name == "mine"


@pytest.mark.parametrize(
    ("things", "why"),
    [
        (snapshot(1), r"ClusterSnapshot cluster: it counts from the start.*Conditions\(snapshot="),
        (snapshot(1)[1:-1], r"Node node-0: metadata.uid: says that it was in a cluster"),
        (
            [stored(of("v1", "Pod", "web", spec={"containers": [{"name": "c", "image": "c"}]}))],
            r"Pod web: metadata.uid: says that it was",
        ),
    ],
    ids=["a snapshot", "what kubectl printed", "a pod"],
)
def test_what_was_in_a_cluster_is_not_applied_to_another(things: list[Any], why: str, tmp_path: Path) -> None:
    file = tmp_path / "later.yaml"
    file.write_text(text(*things), encoding="utf-8")

    with Rehearsal() as cluster:
        with pytest.raises(ManifestError, match=why):
            cluster.apply(file)
        cluster.apply_file(file)

        assert (cluster.nodes(), cluster.claims(), cluster.pods()) == ((), (), ())
        assert "ObjectSetAside" in [entry.event for entry in cluster.timeline.entries]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("prod.yaml", "snapshot: prod.yaml: is read as the text of manifests: for a file, write Path"),
        (Path("nowhere.yaml"), "snapshot: nowhere.yaml: "),
        ("", "snapshot: snapshot: is empty"),
        (
            text(of("v1", "Node", "a", spec={"taint": []})),
            "snapshot: snapshot: Node a: spec.taint: ",
        ),
    ],
)
def test_a_snapshot_that_cannot_be_read_is_refused(told: str | Path, why: str) -> None:
    with pytest.raises(ValueError, match=f"Conditions: {why}"):
        Conditions(snapshot=told)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"CONSOLIDATON": "off"}, "there is no setting CONSOLIDATON; did you mean CONSOLIDATION"),
        ({"CONSOLIDATION": 5}, "CONSOLIDATION: 5 is no text"),
        ({"CONSOLIDATION": "of"}, "CONSOLIDATION: 'of' is none of on, plan, off"),
        ({"KUBECONFIG": "x"}, "KUBECONFIG changes nothing where no cluster"),
    ],
)
def test_settings_beside_a_snapshot_are_refused_as_without(said: Any, why: str) -> None:
    for beside in ({}, {"snapshot": SNAPSHOT}):
        with pytest.raises(ValueError, match=f"^Conditions: settings: {why}"):
            Conditions(settings=said, **beside)  # type: ignore[arg-type]


def test_settings_beside_a_snapshot_are_checked_with_those_of_its_cluster() -> None:
    slow = of("v1", "ConfigMap", "karpenter-global-settings", data={"batchMaxDuration": "60s"})
    wrong = of("v1", "ConfigMap", "karpenter-global-settings", data={"batchMaxDuration": "long"})
    said = {"BATCH_IDLE_DURATION": "30s"}

    Conditions(snapshot=text(slow), settings=said)
    with pytest.raises(ValueError, match=r"^Conditions: snapshot: .*batchMaxDuration\]: 'long'"):
        Conditions(snapshot=text(wrong), settings=said)
    with pytest.raises(ValueError, match=r"^Conditions: settings: BATCH_IDLE_DURATION: is longer than"):
        Conditions(settings=said)


def test_a_decoded_snapshot_is_refused_as_its_time_would_not_count() -> None:
    decoded = Conditions(snapshot=SNAPSHOT).resolved()

    with pytest.raises(TypeError, match="snapshot: it is decoded: give its path or its text"):
        Rehearsal(conditions=decoded)


def test_a_kind_that_is_skipped_is_warned_of_at_the_line_that_applies_it(tmp_path: Path) -> None:
    scaler = of("keda.sh/v1alpha1", "ScaledObject", "web", spec={})
    world = text(deployment("web", 1), scaler)

    with Rehearsal() as cluster:
        with pytest.warns(ManifestWarning, match="skipped, with what they would make: ScaledObject") as seen:
            cluster.apply(world)
        assert [one.filename for one in seen] == [__file__]
        # Nobody is told twice.
        cluster.fork().__exit__(None, None, None)
    with pytest.warns(ManifestWarning, match="ScaledObject"):
        begun = Rehearsal(conditions=Conditions(snapshot=world))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        begun.fork()
        record(begun, tmp_path / "begun.json")
        replay(tmp_path / "begun.json", conditions=Conditions(snapshot=world)).check()


def test_settings_that_are_applied_are_warned_of_as_they_count_from_the_start() -> None:
    settings = of("v1", "ConfigMap", "karpenter-global-settings", data={"aws.clusterName": "theirs"})

    with (
        Rehearsal() as cluster,
        pytest.warns(ManifestWarning, match="ConfigMap karpenter-global-settings"),
    ):
        cluster.apply(text(settings))
