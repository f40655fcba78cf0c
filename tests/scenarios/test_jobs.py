"""Jobs and CronJobs: their pods come, run, succeed or fail, and their nodes go after them."""

from __future__ import annotations

import pytest

from tests.scenarios.manifests import Manifest, changed, deployment, node_class, node_pool, text
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.workloads import RUNS_FOR, Job
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.domain.model.pods import Phase

INDEX = "batch.kubernetes.io/job-completion-index"


def job(name: str = "sum", runs_for: str = "1m", **spec: object) -> Manifest:
    template = deployment(name)["spec"]["template"]
    template["metadata"]["annotations"] = {RUNS_FOR: runs_for}
    template["spec"]["restartPolicy"] = "Never"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template, **spec},
    }


def cron_job(schedule: str, **spec: object) -> Manifest:
    made = job("tick")
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tick"},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": made["spec"]}, **spec},
    }


def rehearsed(*manifests: Manifest, pods_a_second: float | None = None) -> Rehearsal:
    rehearsal = Rehearsal(seed=1, conditions=Conditions(cluster=ClusterSettings(pod_writes=pods_a_second)))
    rehearsal.apply(text(node_class(), node_pool(), *manifests))
    return rehearsal


def found(rehearsal: Rehearsal, name: str = "sum") -> Job:
    there = rehearsal.cluster.get("Job", name)
    assert isinstance(there, Job)
    return there


def test_as_many_pods_succeed_as_a_job_wants_so_many_at_a_time_and_their_nodes_go() -> None:
    with rehearsed(job(parallelism=4, completions=10)) as rehearsal:
        most = 0
        while not found(rehearsal).ended:
            rehearsal.run(1)
            most = max(most, sum(pod.active for pod in rehearsal.pods()))
            assert rehearsal.seconds < 900
        rehearsal.run("5m")

        assert most == 4
        assert (found(rehearsal).ended, found(rehearsal).succeeded, found(rehearsal).failed) == (
            "Complete",
            10,
            0,
        )
        assert rehearsal.nodes() == ()


def test_a_job_without_completions_makes_no_more_pods_once_one_succeeded() -> None:
    with rehearsed(job(parallelism=3)) as rehearsal:
        rehearsal.run("10m")

        assert (found(rehearsal).ended, found(rehearsal).succeeded) == ("Complete", 3)


def test_each_index_of_an_indexed_job_is_done_once_though_nodes_are_lost() -> None:
    with rehearsed(job(parallelism=6, completions=12, completionMode="Indexed")) as rehearsal:
        rehearsal.run_until(lambda: rehearsal.running() == 6)
        rehearsal.terminate_outside()
        rehearsal.run_until(lambda: found(rehearsal).ended != "")

        done = [int(pod.labels[INDEX]) for pod in rehearsal.pods() if pod.phase is Phase.SUCCEEDED]
        assert sorted(done) == list(range(12))
        assert 0 < found(rehearsal).failed <= 6
        assert found(rehearsal).ended == "Complete"


def test_a_job_fails_when_more_of_its_pods_fail_than_it_bears() -> None:
    with rehearsed(job(parallelism=2, completions=2, backoffLimit=2)) as rehearsal:
        for _ in range(3):
            rehearsal.run_until(lambda: rehearsal.running() > 0)
            rehearsal.delete("Pod", next(pod.name for pod in rehearsal.pods() if pod.phase is Phase.RUNNING))
            rehearsal.run(1)
        rehearsal.run("1m")

        assert (found(rehearsal).ended, found(rehearsal).failed) == ("Failed", 3)
        assert not any(pod.active for pod in rehearsal.pods())


def test_pods_of_a_job_that_failed_are_made_anew_after_a_pause() -> None:
    with rehearsed(job()) as rehearsal:
        rehearsal.run_until(lambda: rehearsal.running() == 1)
        rehearsal.delete("Pod", rehearsal.pods()[0].name)
        rehearsal.run(5)
        assert not any(pod.active for pod in rehearsal.pods())

        rehearsal.run(10)

        assert sum(pod.active for pod in rehearsal.pods()) == 1


def test_a_suspended_job_has_no_pods_and_goes_on_later() -> None:
    with rehearsed(job(parallelism=2, completions=2, suspend=True)) as rehearsal:
        rehearsal.run("2m")
        assert rehearsal.pods() == ()

        rehearsal.apply(text(job(parallelism=2, completions=2)))
        rehearsal.run_until(lambda: rehearsal.running() == 2)
        rehearsal.apply(text(job(parallelism=2, completions=2, suspend=True)))
        rehearsal.run(5)
        assert not any(pod.active for pod in rehearsal.pods())

        rehearsal.apply(text(job(parallelism=2, completions=2)))
        rehearsal.run("3m")
        assert (found(rehearsal).ended, found(rehearsal).failed) == ("Complete", 0)


def test_nodes_for_all_pods_of_a_large_job_are_asked_for_at_once() -> None:
    with rehearsed(job(parallelism=300, completions=300, runs_for="3m"), pods_a_second=20) as rehearsal:
        rehearsal.run(2)
        asked, there = len(rehearsal.claims()), len(rehearsal.pods())

        rehearsal.run_until(lambda: found(rehearsal).ended == "Complete")

        assert there < 100
        assert len(rehearsal.history()) == asked


def test_a_cron_job_makes_a_job_at_each_time_of_its_schedule_and_keeps_the_last() -> None:
    with rehearsed(cron_job("*/5 * * * *", successfulJobsHistoryLimit=2)) as rehearsal:
        rehearsal.run("32m")

        jobs = rehearsal.cluster.objects(Job)
        assert [one.ended for one in jobs] == ["Complete", "Complete"]
        minutes = [int(one.name.removeprefix("tick-")) for one in jobs]
        assert [minute % 5 for minute in minutes] == [0, 0]
        assert minutes[1] - minutes[0] == 5
        assert {pod.owner.name for pod in rehearsal.pods() if pod.owner} <= {one.name for one in jobs}


@pytest.mark.parametrize(("policy", "running"), [("Allow", 3), ("Forbid", 1), ("Replace", 1)])
def test_a_cron_job_whose_last_job_still_runs_does_as_its_policy_says(policy: str, running: int) -> None:
    made = changed(
        cron_job("* * * * *", concurrencyPolicy=policy),
        "spec.jobTemplate.spec.template.metadata.annotations",
        {RUNS_FOR: "1h"},
    )
    with rehearsed(made) as rehearsal:
        rehearsal.run(185)

        assert len(rehearsal.cluster.objects(Job)) == running


def test_a_suspended_cron_job_makes_none() -> None:
    with rehearsed(cron_job("* * * * *", suspend=True)) as rehearsal:
        rehearsal.run("5m")

        assert rehearsal.cluster.objects(Job) == ()


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (job(parallelism=-1), "spec.parallelism"),
        (job(completions=1_000_000), "spec.completions"),
        (job(completionMode="Indexed", parallelism=2), "spec.completions"),
        (job(runs_for="soon"), f'spec.template.metadata.annotations["{RUNS_FOR}"]'),
        (changed(job(), "spec.template.spec.restartPolicy", "Always"), "spec.template.spec.restartPolicy"),
        (cron_job("every day"), "spec.schedule"),
        (cron_job("* * * * *", timeZone="Moon/Tycho"), "spec.timeZone"),
    ],
)
def test_a_job_that_says_something_wrong_is_refused_with_the_field(made: Manifest, field: str) -> None:
    with pytest.raises(ManifestError) as caught:
        rehearsed(made)

    assert caught.value.field == field
