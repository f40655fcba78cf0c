"""Workloads whose pods come to an end: Jobs and CronJobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal
from zoneinfo import ZoneInfo

from msgspec import field

from treenail.adapters.api.core.apps import PodTemplateModel, checked, template_of
from treenail.adapters.api.core.watched_workloads import UncountedPodsModel, WorkloadStatusModel
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import CoreObject, TemplateMetadata
from treenail.adapters.api.model import Model
from treenail.adapters.api.reading import Reading, Translation
from treenail.adapters.api.workloads import MOST_REPLICAS, RUNS_FOR, CronJob, Job
from treenail.domain.disruption.cron_syntax import plainly
from treenail.domain.model.durations import parse_duration

_RESTART: Final = ("OnFailure", "Never")


class JobSpecModel(Model, kw_only=True):
    """The spec of a Job."""

    parallelism: int | None = None
    completions: int | None = None
    completion_mode: Literal["NonIndexed", "Indexed"] = "NonIndexed"
    backoff_limit: int = 6
    suspend: bool = False
    template: PodTemplateModel


class JobStatusModel(WorkloadStatusModel, kw_only=True):
    """Numbers of pods that ended. `completed_indexes` are as in "1,3-5", and count for an Indexed Job."""

    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    uncounted_terminated_pods: UncountedPodsModel = field(default_factory=UncountedPodsModel)


class JobModel(CoreObject, kw_only=True):
    """batch/v1 Job."""

    spec: JobSpecModel
    status: JobStatusModel = field(default_factory=JobStatusModel)


class JobTemplateModel(Model, kw_only=True):
    """The template that Jobs are made from."""

    metadata: TemplateMetadata = field(default_factory=TemplateMetadata)
    spec: JobSpecModel


class CronJobSpecModel(Model, kw_only=True):
    """The spec of a CronJob."""

    schedule: str
    time_zone: str = "UTC"
    suspend: bool = False
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] = "Allow"
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1
    job_template: JobTemplateModel


class CronJobModel(CoreObject, kw_only=True):
    """batch/v1 CronJob."""

    spec: CronJobSpecModel


def job(model: JobModel, reading: Reading) -> Translation:
    """Return the Job; FieldError says what is wrong with it."""
    meta = checked(model.metadata)
    found = _job(model.spec, "spec", reading)
    status, uncounted = model.status, model.status.uncounted_terminated_pods
    done = _indexes(status.completed_indexes) & frozenset(range(found.completions or 0))
    succeeded = _count("status.succeeded", status.succeeded) + len(uncounted.succeeded)
    made = replace(
        found,
        **meta.labelled,
        namespace=meta.namespace,
        owners=meta.owners,
        succeeded=len(done) if found.indexed else succeeded,
        failed=_count("status.failed", status.failed) + len(uncounted.failed),
        done=done,
        ended="Complete" if status.holds("Complete") else "Failed" if status.holds("Failed") else "",
    )
    return Translation(objects=(made,))


def _indexes(written: str) -> frozenset[int]:
    """Return the indexes of a text such as "1,3-5"; FieldError where it is none."""
    found: set[int] = set()
    for part in written.split(",") if written else ():
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise FieldError("status.completedIndexes", f"{written!r} is no list such as 1,3-5")
        found.update(range(int(first), _count("status.completedIndexes", int(last or first)) + 1))
    return frozenset(found)


def cron_job(model: CronJobModel, reading: Reading) -> Translation:
    """Return the CronJob; FieldError says what is wrong with it."""
    meta = checked(model.metadata)
    spec, template = model.spec, model.spec.job_template
    template.metadata.check("spec.jobTemplate.metadata")
    made = replace(
        _job(template.spec, "spec.jobTemplate.spec", reading),
        namespace=meta.namespace,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
    )
    found = CronJob(
        **meta.labelled,
        namespace=meta.namespace,
        schedule=_schedule(spec.schedule),
        time_zone=_time_zone(spec.time_zone),
        suspended=spec.suspend,
        concurrency=spec.concurrency_policy,
        keeps_complete=_count("spec.successfulJobsHistoryLimit", spec.successful_jobs_history_limit),
        keeps_failed=_count("spec.failedJobsHistoryLimit", spec.failed_jobs_history_limit),
        job=made,
    )
    return Translation(objects=(found,))


def _job(spec: JobSpecModel, at: str, reading: Reading) -> Job:
    completions = spec.completions
    if completions is None and spec.parallelism is None:
        completions = 1
    indexed = spec.completion_mode == "Indexed"
    if indexed and completions is None:
        raise FieldError(f"{at}.completions", "is missing: an Indexed Job must say how many indexes it has")
    template = template_of(spec.template, reading, f"{at}.template", restart=_RESTART)
    runs_for = template.annotations.get(RUNS_FOR)
    if runs_for is not None and parse_duration(runs_for) is None:
        where = f'{at}.template.metadata.annotations["{RUNS_FOR}"]'
        raise FieldError(where, f"{runs_for!r} is no duration such as 90s or 1h30m")
    return Job(
        name="",
        parallelism=_count(f"{at}.parallelism", 1 if spec.parallelism is None else spec.parallelism),
        completions=None if completions is None else _count(f"{at}.completions", completions),
        indexed=indexed,
        backoff_limit=_count(f"{at}.backoffLimit", spec.backoff_limit),
        suspended=spec.suspend,
        template=template,
    )


def _count(at: str, number: int) -> int:
    if not 0 <= number <= MOST_REPLICAS:
        raise FieldError(at, f"{number} is not between 0 and {MOST_REPLICAS}")
    return number


def _schedule(schedule: str) -> str:
    try:
        plainly(schedule)
    except ValueError as error:
        raise FieldError("spec.schedule", str(error)) from None
    return schedule


def _time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        raise FieldError("spec.timeZone", f"{name!r} is no time zone known here") from None
    return name
