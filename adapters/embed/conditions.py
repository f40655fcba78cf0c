"""The conditions of a rehearsal: settings, faults, prices, and parts of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from treenail.actors.system import SystemSettings
from treenail.adapters.api.account import Account
from treenail.adapters.fake.cluster import EKS_DAEMONS, ClusterFaults, ClusterSettings
from treenail.adapters.fake.ec2 import EC2Faults, EC2Settings
from treenail.adapters.fake.ec2.catalogue import Catalogue
from treenail.adapters.solver.inline import AdvisingSolver
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides
from treenail.domain.model.runtime import Ref
from treenail.domain.ports import Cloud, Solver, Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Under what conditions to rehearse. All faults are off by default, and prices are the public ones.

    Zonal shifts are heeded with `zonal_shifts`. `telemetry` gets all spans, metrics and log lines besides
    those that the rehearsal keeps; `observer` is told what the system's observer is. `cloud` makes the cloud
    that is called in place of the fake EC2, once, when all else is there. Machines of such a cloud join with
    `rehearsal.cluster.join`; history, cost and faults of EC2 are those of the fake.
    It begins at `start`, in the `zones` of the catalogue (by
    default its first three), and with what an `account` has.
    """

    system: SystemSettings = field(default_factory=lambda: SystemSettings(cluster_name="demo"))
    cluster: ClusterSettings = field(default_factory=lambda: ClusterSettings(system_daemons=EKS_DAEMONS))
    cluster_faults: ClusterFaults = field(default_factory=ClusterFaults)
    ec2: EC2Settings = field(default_factory=EC2Settings)
    ec2_faults: EC2Faults = field(default_factory=EC2Faults)
    catalogue: Catalogue | None = None
    prices: PriceOverrides = NO_OVERRIDES
    zonal_shifts: bool = False
    solver: Solver = field(default_factory=AdvisingSolver)
    # It is given the rehearsal itself, which in tests is a class derived from that of this package.
    cloud: Callable[[Any], Cloud] | None = None
    telemetry: Telemetry | None = None
    observer: Ref[object] | None = None
    zones: tuple[str, ...] | None = None
    account: Account | None = None
    start: datetime | None = None
