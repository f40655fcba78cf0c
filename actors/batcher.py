"""Batcher: waits until pods have stopped coming, then has them decided together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.cluster.batch_window import (
    BatchClosed,
    BatchWindow,
    Decision,
    NodesToReplace,
    PodBecamePending,
    PodLeft,
    UrgentWork,
)
from treenail.domain.model.runtime import Ref


@dataclass(frozen=True, slots=True)
class _WindowExpired:
    """Private timer tick. Late or repeated ticks are harmless."""


BatcherInbox: TypeAlias = PodBecamePending | PodLeft | NodesToReplace | UrgentWork | _WindowExpired


class Batcher(DomainActor[BatcherInbox]):
    """Turn the stream of pending pods into decisions worth making.

    Owns the open window. Tells the cluster state `BatchClosed`.
    """

    def __init__(self, runtime: Runtime, *, cluster: Ref[BatchClosed], window: BatchWindow) -> None:
        super().__init__(runtime)
        self._cluster = cluster
        self._window = window

    def handle(self, message: BatcherInbox) -> None:
        now = self._timers.monotonic()
        match message:
            case PodBecamePending():
                self._window.add(message.uid, now=now, owner=message.owner, wished=message.wished)
            case PodLeft():
                self._window.discard(message.uid)
            case NodesToReplace():
                for name in message.names:
                    self._window.replace(name, now=now)
            case UrgentWork():
                self._window.hurry(message.why, now=now)
            case _WindowExpired():
                pass
            case _:
                assert_never(message)
        self._close_or_wait(now)

    def _close_or_wait(self, now: float) -> None:
        closes_at = self._window.closes_at
        if closes_at is None:
            return
        if now < closes_at:
            self._timers.arm("window", self.me, _WindowExpired(), at=closes_at)
        else:
            self._close(now)

    def _close(self, now: float) -> None:
        at = self._timers.now()
        opened_at = at - timedelta(seconds=now - self._window.opened_at)
        urgent = self._window.urgent
        decision = Decision(
            id=self._runtime.dice.token(),
            opened_at=opened_at,
            closed_at=at,
            pods=self._window.close(),
            urgent=urgent,
        )
        self.within(decision.context)
        self._cluster.tell(BatchClosed(decision=decision))
