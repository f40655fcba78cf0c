"""BudgetArbiter: allows as many disruptions at a time as the budgets of the pools say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.disruption.budgets import BudgetBook
from treenail.domain.disruption.disruption import (
    DisruptionAllowed,
    DisruptionBlocked,
    DisruptionEnded,
    DisruptionProposed,
    DisruptionRefused,
    DisruptNodes,
    PoolChanged,
)
from treenail.domain.model.blockers import Block
from treenail.domain.model.causes import BUDGETED, NO_CHOICE
from treenail.domain.model.event_subjects import of_pool
from treenail.domain.model.runtime import Ref
from treenail.domain.telemetry import metrics

ArbiterInbox: TypeAlias = (
    DisruptionProposed | DisruptionRefused | DisruptNodes | DisruptionEnded | NodeChanged | PoolChanged
)


class BudgetArbiter(DomainActor[ArbiterInbox]):
    """Take proposals one by one; have the cluster state confirm what budgets allow; pass on what holds.

    Owns the budgets in use. Tells the cluster state `DisruptionAllowed` and `DisruptionEnded`, the
    termination actor `DisruptNodes`, a pool's disruptor `DisruptionRefused`, and who tells people
    `DisruptionBlocked`.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        cluster: Ref[DisruptionAllowed | DisruptionEnded],
        termination: Ref[DisruptNodes],
        disruptor: Callable[[str], Ref[DisruptionRefused]],
        event_publisher: Ref[DisruptionBlocked],
    ) -> None:
        super().__init__(runtime)
        self._cluster = cluster
        self._termination = termination
        self._disruptor = disruptor
        self._event_publisher = event_publisher
        self._book = BudgetBook()

    def handle(self, message: ArbiterInbox) -> None:
        match message:
            case DisruptionProposed():
                self._weigh(message)
            case DisruptionRefused():
                self._book.release(message.candidates)
                self._disruptor(message.pool).tell(message)
            case DisruptNodes():
                self._count(message)
                self._termination.tell(message)
            case DisruptionEnded():
                self._book.release((message.name,))
                self._cluster.tell(message)
            case NodeChanged():
                self._book.note_node(message)
            case PoolChanged():
                self._book.note_pool(message)
            case _:
                assert_never(message)
        self._telemetry.show("budgets", self._book.gauges())

    def _weigh(self, proposal: DisruptionProposed) -> None:
        allowed = self._book.take(proposal, self._timers.now())
        refused = tuple(name for name in proposal.candidates if name not in allowed)
        if refused:
            self._refuse(proposal, refused)
        if allowed:
            budgets = self._book.pools_of(allowed)
            self._cluster.tell(DisruptionAllowed(proposal=proposal, candidates=allowed, budgets=budgets))

    def _count(self, order: DisruptNodes) -> None:
        for view in order.nodes:
            self._book.hold(view.name)
        if order.cause in NO_CHOICE:
            return
        decision = order.decision_labels()
        self._telemetry.count(metrics.DISRUPTION_DECISIONS.name, **decision)
        for pool in sorted({view.pool for view in order.nodes}):
            self._telemetry.count(metrics.DISRUPTION_DECISIONS_BY_POOL.name, nodepool=pool, **decision)

    def _refuse(self, proposal: DisruptionProposed, refused: tuple[str, ...]) -> None:
        pools = self._book.pools_of(refused)
        why = Block.BUDGET.by(", ".join(pools) or proposal.pool)
        self._disruptor(proposal.pool).tell(
            DisruptionRefused(pool=proposal.pool, candidates=refused, why=why)
        )
        blocked = tuple(of_pool(pool) for pool in self._book.those(pools))
        reason = BUDGETED.get(proposal.cause)
        if blocked and reason is not None:
            said = f"No allowed disruptions for disruption reason {reason} due to blocking budget"
            self._event_publisher.tell(DisruptionBlocked(about=blocked, why=said))
