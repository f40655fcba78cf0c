from __future__ import annotations

import json
from typing import Any

import pytest

from treenail.adapters.api.job_run_times import with_run_times
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.api.workloads import RUNS_FOR


def job(*containers: dict[str, Any], annotations: object = None, kind: str = "Job") -> dict[str, Any]:
    template: dict[str, Any] = {"spec": {"containers": list(containers), "restartPolicy": "Never"}}
    if annotations is not None:
        template["metadata"] = {"annotations": annotations}
    spec: dict[str, Any] = {"template": template}
    if kind == "CronJob":
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": spec}}
    return {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "j"}, "spec": spec}


def container(*command: str, args: object = None) -> dict[str, Any]:
    found: dict[str, Any] = {"name": "c", "image": "busybox", "command": list(command)}
    return found if args is None else {**found, "args": args}


def runs_for(tree: dict[str, Any]) -> str | None:
    decoded = decode_all(parse_manifests(json.dumps(tree).encode(), "job.json"))
    [made] = decoded.jobs or [one.job for one in decoded.cron_jobs]
    return made.template.annotations.get(RUNS_FOR)


@pytest.mark.parametrize(
    ("sleeper", "said"),
    [
        (container("sleep", "300"), "300s"),
        (container("/bin/sleep", args=["5m"]), "300s"),
        (container("sleep", "1h", "0.5"), "3601s"),
        (container("sh", "-c", "sleep 90"), "90s"),
        (container("/bin/bash", "-c", args=["echo begin && sleep 20; sleep 1m; echo end"]), "80s"),
        (container("sh", "-c", "sleep 90 && ./work"), None),
        (container("sh", "-c", "echo $(work); sleep 5"), None),
        (container("sh", "-c", "echo done"), None),
        (container("sleep", "infinity"), None),
        (container("sleep"), None),
        (container("work", "--then", "sleep 5"), None),
        (container(args=["sleep", "5"]), "5s"),
        ({"name": "c", "image": "busybox"}, None),
    ],
)
def test_a_pod_that_only_sleeps_runs_as_long_as_that(sleeper: dict[str, Any], said: str | None) -> None:
    assert runs_for(job(sleeper)) == said


def test_a_pod_runs_as_long_as_its_longest_container_if_all_of_them_sleep() -> None:
    assert runs_for(job(container("sleep", "5"), {**container("sleep", "9"), "name": "d"})) == "9s"
    assert runs_for(job(container("sleep", "5"), {**container("work"), "name": "d"})) is None


def test_jobs_of_cron_jobs_are_read_too_and_other_annotations_stay() -> None:
    decoded = decode_all(
        parse_manifests(
            json.dumps(job(container("sleep", "5"), annotations={"a": "b"}, kind="CronJob")).encode(), "f"
        )
    )

    assert decoded.cron_jobs[0].job.template.annotations == {"a": "b", RUNS_FOR: "5s"}


def test_what_the_annotation_says_comes_first() -> None:
    assert runs_for(job(container("sleep", "5"), annotations={RUNS_FOR: "2h"})) == "2h"


@pytest.mark.parametrize("spec", [None, [], {"template": []}, {"template": {"spec": {"containers": 3}}}])
def test_a_job_that_is_none_is_left_to_be_complained_of(spec: object) -> None:
    tree = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    manifests = parse_manifests(json.dumps(tree).encode(), "job.json")

    assert with_run_times(manifests) == manifests
