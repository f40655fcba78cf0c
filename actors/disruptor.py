"""Propose which nodes of one pool to give back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias, assert_never

from treenail.actors.base import DomainActor, Runtime
from treenail.domain.disruption import (
    Cause,
    DisruptionProposed,
    DisruptionRefused,
    EmptyNodes,
    NodeEmptied,
    PoolChanged,
)
from treenail.domain.node_pools import NodePool
from treenail.domain.runtime import Ref

_PROPOSE_AGAIN: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class _Due:
    """Private timer tick: some node may have stood empty for long enough."""


DisruptorInbox: TypeAlias = NodeEmptied | PoolChanged | DisruptionRefused | _Due


class Disruptor(DomainActor[DisruptorInbox]):
    """Watch the nodes of one pool, and propose those that have stood empty for its time.

    Owns its candidates. Tells the arbiter `DisruptionProposed`.
    """

    def __init__(self, runtime: Runtime, *, pool: str, arbiter: Ref[DisruptionProposed]) -> None:
        super().__init__(runtime)
        self._name = pool
        self._arbiter = arbiter
        self._pool: NodePool | None = None
        self._empty = EmptyNodes()

    def handle(self, message: DisruptorInbox) -> None:
        match message:
            case NodeEmptied():
                self._note(message)
            case PoolChanged():
                self._pool = message.pool
            case DisruptionRefused():
                self._empty.postpone(message.candidates, self._timers.now() + _PROPOSE_AGAIN)
            case _Due():
                pass
            case _:
                assert_never(message)
        self._propose_or_wait()

    def _note(self, emptied: NodeEmptied) -> None:
        self._empty.note(emptied.name, emptied.since)
        after = self._empty_after
        if emptied.since is not None and after is not None:
            self.log(
                "added TTL to empty node",
                logger="controller.node",
                nodeclaim=emptied.name,
                ttl_seconds=after.total_seconds(),
            )

    @property
    def _empty_after(self) -> timedelta | None:
        return self._pool.disruption.empty_after if self._pool is not None else None

    def _propose_or_wait(self) -> None:
        after, now = self._empty_after, self._timers.now()
        if after is None:
            self._timers.cancel("due", self.me)
            return
        due = self._empty.due(after, now)
        if due:
            # Whatever comes of it, these are not proposed again until they were refused or a while is over.
            self._empty.postpone(due, now + 6 * _PROPOSE_AGAIN)
            self.log("deprovisioning via emptiness", logger="controller.deprovisioning", nodeclaims=list(due))
            self._arbiter.tell(
                DisruptionProposed(pool=self._name, candidates=due, cause=Cause.EMPTY, proposed_at=now)
            )
        at = self._empty.next_due(after)
        if at is not None:
            self.later("due", _Due(), seconds=max(0.0, (at - now).total_seconds()))
