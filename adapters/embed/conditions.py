"""The conditions of a rehearsal: settings, faults, prices, and parts of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Any, Final

from treenail.actors.system import SystemSettings
from treenail.adapters.api.account import Account
from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.named_fields import named_fields
from treenail.adapters.controller.system_settings import system_settings
from treenail.adapters.embed.adoption import last_seen, lived
from treenail.adapters.embed.arguments import check_ref, check_types
from treenail.adapters.embed.home import USUAL_HOME, Home, RegionError, home_of, not_known
from treenail.adapters.embed.told_account import account_of, home_of_account
from treenail.adapters.embed.told_cluster import cluster_of
from treenail.adapters.embed.told_settings import (
    check_said,
    cluster_told,
    settings_of,
    settings_told,
    sizes_of,
)
from treenail.adapters.fake.cluster import EKS_DAEMONS, ClusterFaults, ClusterSettings
from treenail.adapters.fake.ec2 import EC2Faults, EC2Settings
from treenail.adapters.fake.ec2.catalogue import Catalogue
from treenail.adapters.settings.settings import Settings
from treenail.adapters.settings.sources import SettingError
from treenail.adapters.solver.inline import AdvisingSolver
from treenail.domain.model.not_acted_on import less_gated
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides
from treenail.domain.model.runtime import Ref
from treenail.domain.ports import Cloud, Solver, Telemetry

_BY_DEFAULT: Final = SystemSettings(cluster_name="demo")


@named_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Under what conditions to rehearse. All faults are off by default, and prices are the public ones.

    Zonal shifts are heeded with `zonal_shifts`. `telemetry` gets all spans, metrics and log lines besides
    those that the rehearsal keeps; `observer` is told what the system's observer is. `actor` hosts
    an actor of one's own in the controller's process each time it starts, and returns where it is reached, to
    be told the same. `cloud` makes the cloud
    that is called in place of the fake EC2, once, when all else is there. Machines of such a cloud join with
    `rehearsal.cluster.join`; history, cost and faults of EC2 are those of the fake.
    It begins at `start` (2026-01-01 00:00 UTC unless said), in the `zones` of the catalogue (by
    default its first three), and with what an `account` has: a path, or the text of a manifest
    of kind Account. It says the region and the zones, too, unless a `catalogue` is given.
    With a `snapshot` (a path, or the text) it begins with the cluster that was written down, at the time of
    the snapshot, with its account and settings: as `treenail rehearse -f` does.

    `untainted_after` is how many seconds after a node is registered and ready its startup taints are taken
    off, as by the agents that they wait for; with None nobody does.
    `settings` are those of the controller by their variables, {"CONSOLIDATION": "off"}, in place of `system`.

    Raises:
        ValueError: there is no such setting, or what is said cannot be.
        TypeError: a value is of another type.
    """

    system: SystemSettings = _BY_DEFAULT
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
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
    actor: Callable[[Any], Ref[Any]] | None = None
    zones: tuple[str, ...] | None = None
    account: Account | str | Path | None = None
    snapshot: Decoded | str | Path | None = None
    start: datetime | None = None
    untainted_after: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_types(self)
        check_types(self.system)
        check_types(self.system.packing)
        check_types(self.system.interruptions)
        if self.observer is not None:
            check_ref("Conditions: observer", self.observer)
        if self.start is not None and self.start.tzinfo is None:
            raise ValueError(f"Conditions: start: {self.start} has no time zone: say tzinfo=UTC, or another")
        if isinstance(self.untainted_after, bool):
            raise TypeError(f"Conditions: untainted_after: {self.untainted_after} is no number of seconds")
        if self.untainted_after is not None and not 0 <= self.untainted_after < inf:
            raise ValueError(f"Conditions: untainted_after: {self.untainted_after} is no number of seconds")
        if self.settings and self.system != _BY_DEFAULT:
            raise ValueError("Conditions: give settings or system, not both: they say the same")
        self._told()

    def resolved(self) -> Conditions:
        """Return them with what settings and account say in its place: in `system`, `catalogue`...

        A cluster that does not say its DaemonSets has those of EKS.
        """
        here = self._told()
        if here.cluster.system_daemons is not None:
            return here
        return replace(here, cluster=replace(here.cluster, system_daemons=EKS_DAEMONS))

    def _told(self) -> Conditions:
        if isinstance(self.snapshot, str | Path):
            return self._begun_with(self.snapshot)
        if not self.settings and self.account is None:
            return self
        try:
            told = settings_told(self.settings)
        except SettingError as error:
            raise ValueError(f"Conditions: settings: {error}") from None
        account, here = account_of(self.account), self
        if account is not None and self.catalogue is None:
            home = home_of_account(account)
            here = replace(self, catalogue=home.catalogue(sizes_of(told)), zones=self.zones or home.zones)
        if not self.settings:
            return here
        return replace(
            here,
            system=system_settings(told),
            cluster=cluster_told(told, self.cluster),
            catalogue=here.catalogue or USUAL_HOME.catalogue(sizes_of(told)),
            settings={},
        )

    def _begun_with(self, snapshot: str | Path) -> Conditions:
        """Return them for a rehearsal that begins with a snapshot; what they say themselves comes first."""
        decoded, account = cluster_of(snapshot), account_of(self.account)
        if account is not None:
            decoded = replace(decoded, accounts=(account,))
        try:
            check_said(self.settings)
        except SettingError as error:
            raise ValueError(f"Conditions: settings: {error}") from None
        try:
            told, home = settings_of(decoded, self.settings), home_of(decoded)
        except (SettingError, RegionError) as error:
            # Errors of settings begin with the variable, or with the ConfigMap of the snapshot.
            by = "settings" if str(error).partition(":")[0] in self.settings else "snapshot"
            raise ValueError(f"Conditions: {by}: {error}") from None
        warnings = (*decoded.warnings, *told.warnings, *home.warnings, *not_known(decoded))
        system = self.system if self.system != _BY_DEFAULT else system_settings(told)
        followed = less_gated(warnings, static_capacity=system.static_capacity)
        here = replace(self, system=system, settings={}, snapshot=replace(decoded, warnings=followed))
        return here.beginning_with(told, home)

    def beginning_with(self, told: Settings, home: Home) -> Conditions:
        """Return the conditions, completed from the decoded `snapshot` where they leave something open.

        `told` are the settings of its cluster, and `home` is its region.
        """
        decoded = self.snapshot
        assert isinstance(decoded, Decoded)  # noqa: S101
        daemons = self.cluster.system_daemons
        # A cluster that was written down has its own.
        daemons = () if daemons is None and any(map(lived, decoded.nodes)) else daemons
        return replace(
            self,
            cluster=cluster_told(told, replace(self.cluster, system_daemons=daemons)),
            catalogue=self.catalogue or home.catalogue(sizes_of(told)),
            zones=self.zones or home.zones,
            account=home.account,
            start=self.start or last_seen(decoded),
        )
