"""Workloads as clients are told of them: how many pods each wants, and what holds them back."""

from __future__ import annotations

from dataclasses import replace

from treenail.adapters.api.workloads import ApiObject, Deployment, Job, ReplicaSet, StatefulSet
from treenail.adapters.fake.cluster.quotas import admitted
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.cluster.workloads import Workload, asks_for_pods_only
from treenail.domain.model.pod_templates import PodTemplate, StoredPodTemplate


def told(thing: ApiObject | None, *, deleting: bool, templates: bool = False) -> ApiObject | None:
    """Return what clients are told of an object: None of a workload that wants no pods.

    With `templates`, they are told from what pods are made, and of workloads that are nobody's in any case.
    """
    match thing:
        case ReplicaSet() | StatefulSet() | Deployment():
            known = _workload(thing, deleting=deleting)
            alone = templates and not known.part_of
            if not (known.wanted or alone):
                return None
            return replace(known, template=_seen(thing.template)) if templates else known
        case Job():
            return _job(thing, deleting=deleting)
        case StoredPodTemplate():
            return replace(thing, template=_seen(thing.template))
        case DaemonSet():
            return replace(thing, spec=admitted(thing.spec))
        case _:
            return thing


def _seen(template: PodTemplate) -> PodTemplate:
    return replace(template, spec=admitted(template.spec))


def _workload(thing: Deployment | ReplicaSet | StatefulSet, *, deleting: bool) -> Workload:
    known = Workload(
        uid=thing.uid,
        kind=type(thing).__name__,
        name=thing.name,
        namespace=thing.namespace,
        resource_version=thing.resource_version,
        wanted=thing.replicas,
        for_pods_only=asks_for_pods_only(thing.annotations),
    )
    match thing:
        case ReplicaSet():
            held = f"its pods cannot be made: {thing.failure}" if thing.failure else ""
            part_of = next((f"{o.kind}/{o.name}" for o in thing.owners if o.controller), "")
            return replace(known, held="deleted" if deleting else held, part_of=part_of)
        case StatefulSet():
            unseen = "" if thing.revision else "its controller has not seen its last change"
            held = "deleted" if deleting else unseen
            return replace(known, held=held, revision=thing.revision, in_turn=not thing.parallel)
        case _:
            return replace(known, held="deleted" if deleting else "")


def _job(job: Job, *, deleting: bool) -> Workload | None:
    wanted = replace(job, suspended=False).wanted
    if not wanted:
        return None
    held = "suspended" if job.suspended else ""
    return Workload(
        uid=job.uid,
        kind="Job",
        name=job.name,
        namespace=job.namespace,
        resource_version=job.resource_version,
        wanted=wanted,
        failed=job.failed,
        held="deleted" if deleting else held,
        for_pods_only=asks_for_pods_only(job.annotations),
    )
