"""Jobs that a cluster had, in a rehearsal: they go on from what their status and their pods say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

from tests.adapters.embed.lived_cluster import of, owned, stored
from tests.scenarios.manifests import text
from treenail.testing import ClusterSettings, Conditions, Job, Rehearsal

_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_RUN: Final = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}


def _job(status: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    spec = {"completions": 3, "parallelism": 3, "template": {"spec": _RUN}, **spec}
    return stored(of("batch/v1", "Job", "sums", spec=spec, status=dict(status)), namespace="default")


def _pod(of_job: dict[str, Any], name: str, phase: str, **metadata: Any) -> dict[str, Any]:
    pod = of("v1", "Pod", name, spec=_RUN, status={"phase": phase})
    return stored(pod, namespace="default", **owned(of_job), **metadata)


def _found(rehearsal: Rehearsal) -> Job:
    (found,) = rehearsal.cluster.objects(Job)
    return found


@pytest.mark.parametrize("pace", [None, 20.0])
@pytest.mark.parametrize("succeeded", [0, 1, 5])
def test_an_indexed_job_whose_indexes_are_all_done_is_complete_whatever_number_it_says(
    pace: float | None, succeeded: int
) -> None:
    job = _job({"succeeded": succeeded, "completedIndexes": "0-2"}, completionMode="Indexed")
    cluster = ClusterSettings(pod_writes=pace)

    with Rehearsal(conditions=Conditions(snapshot=text(job), cluster=cluster)) as rehearsal:
        rehearsal.run(60)

        assert rehearsal.pods() == ()
        assert (_found(rehearsal).ended, _found(rehearsal).succeeded) == ("Complete", 3)
        assert rehearsal.stepped < 1000


def test_an_indexed_job_makes_pods_for_the_indexes_that_are_left_whatever_number_it_says() -> None:
    job = _job({"succeeded": 3, "completedIndexes": "0,7"}, completionMode="Indexed")

    with Rehearsal(conditions=Conditions(snapshot=text(job))) as rehearsal:
        rehearsal.run(5)

        assert sorted(pod.labels[_INDEX] for pod in rehearsal.pods()) == ["1", "2"]
        assert _found(rehearsal).ended == ""


@pytest.mark.parametrize(("phase", "counts"), [("Succeeded", (1, 0)), ("Failed", (0, 1))])
def test_a_pod_that_ended_before_the_snapshot_is_not_counted_again_when_it_is_deleted(
    phase: str, counts: tuple[int, int]
) -> None:
    job = _job(dict(zip(("succeeded", "failed"), counts, strict=True)))
    there = text(job, _pod(job, "done", phase))

    with Rehearsal(conditions=Conditions(snapshot=there)) as rehearsal:
        rehearsal.delete("Pod", "done")
        rehearsal.run(5)

        assert (_found(rehearsal).succeeded, _found(rehearsal).failed) == counts


def test_pods_that_ended_and_are_not_in_the_counts_yet_are_counted() -> None:
    job = _job({"succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["u1"], "failed": ["u2", "u3"]}})

    with Rehearsal(conditions=Conditions(snapshot=text(job))) as rehearsal:
        assert (_found(rehearsal).succeeded, _found(rehearsal).failed) == (2, 2)


def test_an_index_that_a_pod_bears_as_annotation_alone_has_its_pod() -> None:
    job = _job({}, completionMode="Indexed", completions=2)
    there = text(job, _pod(job, "first", "Pending", annotations={_INDEX: "0"}))

    with Rehearsal(conditions=Conditions(snapshot=there)) as rehearsal:
        rehearsal.run(5)

        assert [pod.labels.get(_INDEX) for pod in rehearsal.pods()] == [None, "1"]
