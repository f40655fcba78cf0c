"""All workload controllers, the scheduler and the garbage collector, put together."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace

from treenail.adapters.fake.cluster.accounts import Accounts
from treenail.adapters.fake.cluster.api_server import ApiServer
from treenail.adapters.fake.cluster.census import Census
from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.cron_jobs import CronJobController
from treenail.adapters.fake.cluster.daemon_sets import DaemonSetController
from treenail.adapters.fake.cluster.garbage import GarbageCollector
from treenail.adapters.fake.cluster.held_back import Refusals
from treenail.adapters.fake.cluster.jobs import JobController
from treenail.adapters.fake.cluster.maker import PodMaker
from treenail.adapters.fake.cluster.offspring import Offspring
from treenail.adapters.fake.cluster.replica_sets import DeploymentController, ReplicaSetController
from treenail.adapters.fake.cluster.scheduler import Scheduler
from treenail.adapters.fake.cluster.settings import ClusterFaults
from treenail.adapters.fake.cluster.slow_start import SlowStart
from treenail.adapters.fake.cluster.stateful_sets import StatefulSetController
from treenail.adapters.fake.cluster.storage import Storage
from treenail.adapters.fake.luck import fork


def run_workloads(
    plane: ControlPlane, accounts: Accounts, server: ApiServer, faults: Callable[[], ClusterFaults]
) -> Refusals:
    """Start the controllers of workloads, the scheduler and the garbage collector; return what is refused."""
    offspring = Offspring(plane.store)
    maker = PodMaker(plane, server, faults)
    census = Census(plane.store, accounts)
    DeploymentController(plane, maker)
    writes = plane.settings.pod_writes
    slow = SlowStart(plane, writes) if writes is not None else None
    ReplicaSetController(plane, offspring, maker, slow)
    StatefulSetController(plane, offspring, maker, slow)
    # What Jobs take of luck changes nothing for others.
    JobController(replace(plane, dice=fork(copy(plane.dice))), offspring, maker, slow)
    CronJobController(plane, maker)
    DaemonSetController(plane, accounts, offspring, maker, census)
    Scheduler(plane, accounts, Storage(plane), census, server.budgets)
    GarbageCollector(plane)
    return Refusals(plane.store, offspring, maker)
