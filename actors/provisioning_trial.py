"""ProvisioningTrial: brings provisioning back some time after it was turned off for too many failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.publishing import publish
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.model.event_subjects import of_pool
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.instants import write_instant
from treenail.domain.model.node_pools import NodePool
from treenail.domain.ports import ClusterWriter
from treenail.domain.telemetry import metrics

_LOGGER: Final = "controller.provisioner"


@dataclass(frozen=True, slots=True)
class _Resume:
    """Private timer tick: the pause is over."""


TrialInbox: TypeAlias = PoolsSeen | _Resume


class ProvisioningTrial(DomainActor[TrialInbox]):
    """Turn provisioning on again after `seconds`, and tell people that it is off, until when, and on again.

    Owns which pools were told so. `resume` has those made who provision. Should the process fail again, the
    next one waits for longer.
    """

    def __init__(
        self, runtime: Runtime, *, writer: ClusterWriter, seconds: float, resume: Callable[[], None]
    ) -> None:
        super().__init__(runtime)
        self._writer = writer
        self._seconds = seconds
        self._resume = resume
        self._until = self._timers.now() + timedelta(seconds=seconds)
        self._on = False
        self._told: dict[str, NodePool] = {}

    def begin(self) -> None:
        self._telemetry.gauge(metrics.PROVISIONING_ENABLED.name, 0.0)
        self._telemetry.gauge(metrics.PROVISIONING_RESUMES.name, self._until.timestamp())
        self.log(
            "provisioning is off after failures, and comes back by itself",
            logger=_LOGGER,
            level="error",
            until=write_instant(self._until),
            seconds=round(self._seconds),
        )
        self.later("resume", _Resume(), seconds=self._seconds)

    def handle(self, message: TrialInbox) -> None:
        match message:
            case PoolsSeen():
                self._tell_off(message)
            case _Resume():
                self._turn_on()
            case _:
                assert_never(message)

    def _tell_off(self, seen: PoolsSeen) -> None:
        if self._on:
            return
        there = {pool.name: pool for pool in seen.pools}
        for name in sorted(there.keys() - self._told.keys()):
            why = f"The controller failed too often: nothing is bought until {write_instant(self._until)}"
            event = ClusterEvent(of_pool(there[name]), "ProvisioningSuspended", why, warning=True)
            publish(self._tasks, self._writer, event)
        self._told = there

    def _turn_on(self) -> None:
        if self._on:
            return
        self._on = True
        self._telemetry.gauge(metrics.PROVISIONING_ENABLED.name, 1.0)
        self._telemetry.gauge(metrics.PROVISIONING_RESUMES.name, 0.0)
        self.log("provisioning is on again, on trial", logger=_LOGGER, level="warning")
        for name in sorted(self._told):
            about = of_pool(self._told[name])
            publish(
                self._tasks,
                self._writer,
                ClusterEvent(about, "ProvisioningResumed", "Provisioning is on again"),
            )
        self._told = {}
        self._resume()
