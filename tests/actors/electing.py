"""Candidates for one lease in virtual time, without anything else that a replica does."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from treenail.actors.leader_elector import LeaderElector
from treenail.actors.runtime.base import Runtime
from treenail.actors.runtime.world import Process, SeededDice, World
from treenail.adapters.fake.cluster import FakeCluster
from treenail.adapters.fake.telemetry import RecordingTelemetry
from treenail.domain.leadership.news import LeaseHeld, LeaseNews
from treenail.domain.leadership.tenure import Tenure

NAME = "karpenter-leader-election"


class WrongClock:
    """A machine's clock: its time of day is set wrong, its monotonic seconds run at a `rate` of their own."""

    def __init__(self, world: World, *, rate: float = 1.0, hours: float = 0.0) -> None:
        self._world = world
        self._rate = rate
        self.hours = hours

    def now(self) -> datetime:
        return self._world.now() + timedelta(hours=self.hours)

    def monotonic(self) -> float:
        return self._world.monotonic()

    def since_boot(self) -> float:
        return 1_000 + self._world.monotonic() * self._rate


class Candidate:
    """One process that wants the lease. Where it loses it, it ends, as a replica does."""

    def __init__(
        self, world: World, cluster: FakeCluster, name: str, dice: random.Random, clock: WrongClock
    ) -> None:
        self.name = name
        self.client = cluster.client()
        self.telemetry = RecordingTelemetry()
        self.tenure = Tenure(clock.since_boot)
        self.news: list[LeaseNews] = []
        self.led_at: float | None = None
        self.lost: BaseException | None = None
        self._world = world
        self.process = Process(world, latency=cluster.latency, clock=clock)
        runtime = Runtime(
            timers=self.process,
            tasks=self.process,
            dice=SeededDice(dice),
            telemetry=self.telemetry,
            failed=self._failed,
        )
        self.process.host(
            LeaderElector,
            runtime,
            store=self.client.lease(NAME),
            identity=name,
            name=f"kube-system/{NAME}",
            tenure=self.tenure,
            observer=self,
        )

    def tell(self, news: LeaseNews, /) -> None:
        self.news.append(news)
        if isinstance(news, LeaseHeld) and self.led_at is None:
            self.led_at = self._world.monotonic()

    def _failed(self, error: BaseException) -> None:
        self.lost = error
        self.process.kill()

    @property
    def may_act(self) -> bool:
        """Whether a call of it could begin at this very moment, be it that it was frozen until now."""
        return self.process.alive and self.tenure.held
