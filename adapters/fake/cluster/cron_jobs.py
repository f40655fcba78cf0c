"""The controller of CronJobs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

from treenail.adapters.api.workloads import CronJob, Job
from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.maker import PodMaker
from treenail.adapters.fake.cluster.objects import Address, Change, address_of
from treenail.domain.disruption.cron_syntax import first_after
from treenail.domain.model.pods import Owner


class CronJobController:
    """Makes a Job at each time of a CronJob's schedule, named after the minute."""

    def __init__(self, plane: ControlPlane, maker: PodMaker) -> None:
        self._maker = maker
        self._plane = plane
        self._store = plane.store
        # The time that each CronJob waits for, by uid: another one is waited for when it changes.
        self._next: dict[str, datetime] = {}
        plane.store.listen(self._changed, "CronJob")
        plane.store.listen(self._job_changed, "Job")

    def _changed(self, change: Change) -> None:
        if isinstance(change.after, CronJob):
            self._wait(change.after, self._store.now())
        elif isinstance(change.before, CronJob):
            self._next.pop(change.before.uid, None)

    def _wait(self, cron_job: CronJob, now: datetime) -> None:
        zone = ZoneInfo(cron_job.time_zone)
        at = first_after(cron_job.schedule, now.astimezone(zone))
        if at is None:
            self._next.pop(cron_job.uid, None)
        elif self._next.get(cron_job.uid) != at:
            self._next[cron_job.uid] = at
            self._plane.later((at - now).total_seconds(), partial(self._come, address_of(cron_job), at))

    def _come(self, where: Address, at: datetime) -> None:
        cron_job = self._store.find(where)
        if not isinstance(cron_job, CronJob) or self._next.get(cron_job.uid) != at:
            return
        self._wait(cron_job, at)
        if cron_job.suspended or self._store.deleting(cron_job):
            return
        running = [job for job in self._jobs(cron_job) if not job.ended]
        if cron_job.concurrency == "Forbid" and running:
            return
        if cron_job.concurrency == "Replace":
            for job in running:
                self._store.delete(address_of(job))
        owner = Owner("CronJob", cron_job.name, cron_job.uid, "batch/v1", block_deletion=True)
        name = f"{cron_job.name}-{int(at.timestamp()) // 60}"
        job = replace(cron_job.job, name=name, namespace=cron_job.namespace, owners=(owner,))
        self._maker.create(job, owner)

    def _jobs(self, cron_job: CronJob) -> list[Job]:
        """Return the Jobs of a CronJob, the oldest first."""
        own = (job for job in self._store.all(Job) if any(o.uid == cron_job.uid for o in job.owners))
        return sorted(own, key=lambda job: job.name)

    def _job_changed(self, change: Change) -> None:
        """Delete the oldest Jobs that ended, where there are more than are kept."""
        job, before = change.after, change.before
        if not isinstance(job, Job) or not job.ended or (isinstance(before, Job) and before.ended):
            return
        for owner in job.owners:
            cron_job = self._store.by_uid(owner.uid)
            if isinstance(cron_job, CronJob):
                keeps = cron_job.keeps_complete if job.ended == "Complete" else cron_job.keeps_failed
                alike = [one for one in self._jobs(cron_job) if one.ended == job.ended]
                for old in alike[: max(0, len(alike) - keeps)]:
                    self._store.delete(address_of(old))
