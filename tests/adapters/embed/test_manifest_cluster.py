from __future__ import annotations

import pytest

from tests.builders import START
from tests.scenarios.manifests import Manifest, text
from tests.scenarios.test_jobs import cron_job, job
from treenail.adapters.api.account import ClusterSnapshot
from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.embed.manifest_cluster import ManifestCluster
from treenail.domain.cluster.cluster_facts import Kind


@pytest.mark.parametrize(
    ("made", "pods"),
    [
        (job(parallelism=4, completions=10), 4),
        (job(parallelism=4, completions=3), 3),
        (job(parallelism=4, suspend=True), 0),
        (cron_job("* * * * *"), 0),
    ],
)
def test_a_job_has_the_pods_that_it_makes_first_and_a_cron_job_has_none(made: Manifest, pods: int) -> None:
    decoded = decode_all(parse_manifests(text(made).encode(), "x.yaml"))

    cluster = ManifestCluster(decoded, START)

    assert len(cluster.pods) == pods
    assert all(pod.unschedulable_since == START for pod in cluster.pods)


def test_kinds_that_a_snapshot_could_not_read_are_not_taken_for_empty() -> None:
    not_read = (
        *("StorageClass: forbidden", "ResourceSlice a: spec.driver: is missing"),
        *("PersistentVolume a: spec: is missing", "Secret: forbidden", "EC2NodeClass: forbidden"),
    )
    taken = ClusterSnapshot(name="c", taken_at=START, not_read=not_read)

    listed = ManifestCluster(Decoded(snapshots=(taken,)), START).listed()

    assert listed.unreadable == {Kind.STORAGE_CLASS, Kind.RESOURCE_SLICE}
