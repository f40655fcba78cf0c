"""Settings of the cluster: latencies, and probabilities of faults."""

from __future__ import annotations

from dataclasses import dataclass

from treenail.adapters.api.named_fields import named_fields
from treenail.adapters.fake.limits import check_faults, check_spans
from treenail.adapters.fake.luck import Span
from treenail.domain.cluster.cluster_facts import DaemonSet


@named_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """The speed of the parts of the cluster, in seconds, and what it runs from the start.

    `latency`: a call to the API server, and its answer, each. `watch`: a change to the watch.
    `resync`: from one full list to the next. `control`: a controller of workloads. `schedule`: the
    scheduler. `collect`: the garbage collector. `ready`: a node, from joining. `start`: a pod, from
    when its node could run it. `stop`: a pod, but at most its grace period. `lost`: from the end of a
    machine to its node's being not ready. `removed`: from there to the node's deletion. `detach`: a
    volume, from the end of its pod. `job`: a pod of a Job, from its start to its success, unless its
    annotation `treenail.sh/runs-for` says how long.
    `slow_stops` is the share of pods that take anything up to their whole grace period to stop.
    `pod_writes` is how many pods of ReplicaSets, StatefulSets and Jobs the controller manager makes in a
    second, in batches of 1, 2, 4...; as many as are wanted at once where it is None.
    `pods_scheduled` is how many pods the scheduler binds, or finds no node for, in a second; all that wait at
    once where it is None.
    `tells_workloads`: watches may tell of workloads. `tells_buffers`: they tell of capacity buffers, and of
    what these refer to.
    `device_plugins`: nodes have the extended resources that NodeOverlays say.
    `fill_nodes`: the scheduler prefers the fullest node, instead of the emptiest.
    `system_daemons`: the DaemonSets at the start. With None a rehearsal runs those of an EKS cluster, and a
    cluster by itself none.
    """

    latency: Span = (0.002, 0.02)
    watch: Span = (0.002, 0.02)
    resync: float = 600.0
    control: Span = (0.01, 0.1)
    schedule: Span = (0.01, 0.1)
    collect: Span = (0.05, 0.5)
    ready: Span = (8.0, 15.0)
    start: Span = (0.5, 2.0)
    stop: Span = (0.2, 2.0)
    lost: Span = (1.0, 5.0)
    removed: Span = (2.0, 10.0)
    detach: Span = (1.0, 5.0)
    job: Span = (30.0, 90.0)
    slow_stops: float = 0.0
    fill_nodes: bool = False
    pod_writes: float | None = None
    pods_scheduled: float | None = None
    tells_workloads: bool = True
    device_plugins: bool = True
    tells_buffers: bool = False
    system_daemons: tuple[DaemonSet, ...] | None = None

    def __post_init__(self) -> None:
        check_spans(self)


@named_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFaults:
    """Faults by chance: probabilities from 0 to 1 per call or change, none by default.

    `conflict`: another writer touches the object first, so that its resourceVersion moves.
    `answer_lost`: the write is done, but the call fails. `unavailable`: nothing is done, the call fails.
    `watch_duplicate`: a change is told twice. `watch_drop`: the watch breaks at a change, and tells nothing
    until a full list a while later. `watch_delay_seconds`: changes are told up to that much later, in
    any order but that of one object's. `pods_refused`: a webhook refuses a pod that a workload makes;
    `pod_quota` is how many pods a namespace may have, None where it may have any number.

    Raises:
        ValueError: one of them cannot be.
    """

    conflict: float = 0.0
    answer_lost: float = 0.0
    unavailable: float = 0.0
    watch_duplicate: float = 0.0
    watch_drop: float = 0.0
    watch_delay_seconds: float = 0.0
    pods_refused: float = 0.0
    pod_quota: int | None = None

    def __post_init__(self) -> None:
        check_faults(self, counts=("pod_quota",))
