"""ReplicaSets, Jobs and StatefulSets as a watch tells of them: how many pods each wants, and what holds them.

Of these only the few fields are read that say so; the template is not. One that wants no pods is no object:
a cluster has ten old ReplicaSets for each Deployment.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, field

from treenail.adapters.api.interning import interned
from treenail.adapters.api.metadata import CoreObject, ObjectMeta
from treenail.adapters.api.model import Model
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.cluster.workloads import Workload, asks_for_pods_only

Count: TypeAlias = Annotated[int, Meta(ge=0)]

_JOB_CONTROLLER: Final = "kubernetes.io/job-controller"
# Of a Job: it makes no more pods, whatever it asks for.
_ENDS: Final = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+))?")


class ConditionOfWorkloadModel(Model):
    """A condition: type and status, and what it says."""

    type: str = ""
    status: str = ""
    message: str = ""


class WorkloadStatusModel(Model, kw_only=True):
    """The fields that the status of these kinds have in common."""

    observed_generation: int = 0
    conditions: tuple[ConditionOfWorkloadModel, ...] = ()

    def holds(self, *types: str) -> ConditionOfWorkloadModel | None:
        """Return the first condition of these types that is True."""
        return next((one for one in self.conditions if one.type in types and one.status == "True"), None)


class WatchedReplicaSetSpecModel(Model):
    """The number of pods a ReplicaSet wants."""

    replicas: Count = 1


class WatchedReplicaSetModel(CoreObject, kw_only=True):
    """apps/v1 ReplicaSet."""

    spec: WatchedReplicaSetSpecModel = field(default_factory=WatchedReplicaSetSpecModel)
    status: WorkloadStatusModel = field(default_factory=WorkloadStatusModel)


class WatchedJobSpecModel(Model):
    """The number of pods a Job wants at a time, and in all.

    Without `completions`, it wants no more pods once one has succeeded.
    """

    parallelism: Count = 1
    completions: Count | None = None
    suspend: bool = False
    managed_by: str = _JOB_CONTROLLER
    pod_replacement_policy: str = ""


class UncountedPodsModel(Model):
    """Uids of pods that ended and are not in the counts yet."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class WatchedJobStatusModel(WorkloadStatusModel, kw_only=True):
    """Numbers of pods that ended. `failed_indexes` are those given up, as in "1,3-5"."""

    succeeded: Count = 0
    failed: Count = 0
    terminating: Count | None = None
    failed_indexes: str = ""
    uncounted_terminated_pods: UncountedPodsModel = field(default_factory=UncountedPodsModel)


class WatchedJobModel(CoreObject, kw_only=True):
    """batch/v1 Job."""

    spec: WatchedJobSpecModel = field(default_factory=WatchedJobSpecModel)
    status: WatchedJobStatusModel = field(default_factory=WatchedJobStatusModel)


class RollingUpdateModel(Model):
    """Up to which ordinal pods stay as they were."""

    partition: Count = 0


class UpdateStrategyModel(Model):
    """The strategy by which a StatefulSet replaces its pods."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdateModel = field(default_factory=RollingUpdateModel)


class WatchedStatefulSetSpecModel(Model):
    """The number of pods a StatefulSet wants, made in turn or at once, and its update strategy."""

    replicas: Count = 1
    pod_management_policy: Literal["OrderedReady", "Parallel"] = "OrderedReady"
    update_strategy: UpdateStrategyModel = field(default_factory=UpdateStrategyModel)


class WatchedStatefulSetStatusModel(WorkloadStatusModel, kw_only=True):
    """The names of the revisions that its pods bear."""

    current_revision: str = ""
    update_revision: str = ""


class WatchedStatefulSetModel(CoreObject, kw_only=True):
    """apps/v1 StatefulSet."""

    spec: WatchedStatefulSetSpecModel = field(default_factory=WatchedStatefulSetSpecModel)
    status: WatchedStatefulSetStatusModel = field(default_factory=WatchedStatefulSetStatusModel)


def watched_replica_set(model: WatchedReplicaSetModel, _reading: Reading) -> Translation:
    """Return the ReplicaSet, nothing where it wants no pods."""
    failure = model.status.holds("ReplicaFailure")
    held = f"its pods cannot be made: {failure.message}" if failure else ""
    return told("ReplicaSet", model.metadata, model.spec.replicas, held)


def watched_job(model: WatchedJobModel, _reading: Reading) -> Translation:
    """Return the Job, nothing where it wants no pods any more."""
    spec, status = model.spec, model.status
    uncounted = status.uncounted_terminated_pods
    succeeded = status.succeeded + len(uncounted.succeeded)
    failed = status.failed + len(uncounted.failed)
    if status.holds(*_ENDS) is not None:
        wanted = 0
    elif spec.completions is None:
        wanted = 0 if succeeded else spec.parallelism
    else:
        wanted = min(spec.parallelism, spec.completions - succeeded - _number(status.failed_indexes))
    if spec.pod_replacement_policy == "Failed":
        wanted -= status.terminating or 0  # they are replaced when they have ended
    held = ""
    if spec.suspend:
        held = "suspended"
    elif spec.managed_by != _JOB_CONTROLLER:
        held = f"managed by {spec.managed_by}"
    return told("Job", model.metadata, wanted, held, failed=failed)


def watched_stateful_set(model: WatchedStatefulSetModel, _reading: Reading) -> Translation:
    """Return the StatefulSet, nothing where it wants no pods.

    See newVersionedStatefulSetPod in Kubernetes' pkg/controller/statefulset: below the partition a pod is
    made of the old revision; where pods are replaced on deletion there is no partition.
    """
    spec, status = model.spec, model.status
    strategy = spec.update_strategy
    partition = strategy.rolling_update.partition if strategy.type == "RollingUpdate" else 0
    revision, held = status.update_revision, ""
    if status.observed_generation < model.metadata.generation:
        held = "its controller has not seen its last change"
    elif partition and status.current_revision != revision:
        if partition < spec.replicas:
            held = "its next pods may be of either of two revisions"
        revision = status.current_revision
    in_turn = spec.pod_management_policy == "OrderedReady"
    return told("StatefulSet", model.metadata, spec.replicas, held, revision=revision, in_turn=in_turn)


def told(
    kind: str,
    meta: ObjectMeta,
    wanted: int,
    held: str,
    *,
    revision: str = "",
    in_turn: bool = False,
    failed: int = 0,
    idle: bool = False,
) -> Translation:
    """Return a workload that wants so many pods; nothing where that is none, unless it may be `idle`."""
    if wanted <= 0 and not idle:
        return Translation(objects=())
    found = Workload(
        uid=meta.uid,
        kind=kind,
        name=meta.name,
        namespace=interned(meta.namespace or "default"),
        resource_version=meta.version,
        wanted=wanted,
        failed=failed,
        held="deleted" if meta.deletion_timestamp is not None else held,
        revision=revision,
        in_turn=in_turn,
        part_of=_maker(meta),
        for_pods_only=asks_for_pods_only(meta.annotations),
    )
    return Translation(objects=(found,))


def _maker(meta: ObjectMeta) -> str:
    return next((f"{o.kind}/{o.name}" for o in meta.owner_references if o.controller), "")


def _number(indexes: str) -> int:
    """Return how many indexes are written as in "1,3-5"."""
    return sum(int(last or first) - int(first) + 1 for first, last in _RANGE.findall(indexes))
