"""Steps that bring pools to their size: claims are made, and nodes given up, from the cluster's model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.planning import PlanCommitted, PlanDecided, Snapshot
from treenail.domain.disruption.disruption import (
    DisruptionAllowed,
    DisruptionProposed,
    DisruptionRefused,
    DisruptNodes,
)
from treenail.domain.disruption.objections import objection
from treenail.domain.disruption.pool_sizes import SizeStep, SizeWanted, size_step
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.runtime import Ref
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.scheduling.commitment import commit

# What a proposal comes to shows within this time; then it is made again.
_PROPOSE_AGAIN: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeOrders:
    """The orders of a step: claims to be launched, nodes that go, and nodes to ask budgets about."""

    launched: tuple[PlanDecided, PlanCommitted] | None = None
    given_up: tuple[DisruptNodes, ...] = ()
    proposed: DisruptionProposed | None = None
    short: bool = False


class PoolSizes:
    """The steps of pools that are to have a number of nodes, taken one at a time.

    Owns which nodes of static pools drifted and are replaced one for one: budgets let them go, and count them
    from then on. After a restart they are found to have drifted again. A replacement that exists by then is
    one node too many, and drifted nodes go first.
    """

    def __init__(
        self, model: ClusterModel, *, arbiter: Ref[DisruptionRefused], token: Callable[[], str]
    ) -> None:
        self._model = model
        self._arbiter = arbiter
        self._token = token
        # By pool, the nodes that are to be replaced, by name.
        self._replacing: dict[str, dict[str, None]] = {}
        self._proposed_until: dict[str, datetime] = {}

    def takes(self, allowed: DisruptionAllowed) -> bool:
        """Take drifted nodes on that budgets let go, where their pool is static; return whether it is."""
        pool = self._model.objects.pools.get(allowed.proposal.pool)
        if pool is None or not pool.static or allowed.proposal.cause is not Cause.DRIFTED:
            return False
        self._replacing.setdefault(pool.name, {}).update(dict.fromkeys(allowed.candidates))
        return True

    def step(self, wanted: SizeWanted, now: datetime) -> SizeOrders:
        """Return what is to be done for a pool now; claims that are made are in the model already."""
        replacing = self._still_replacing(wanted.pool)
        step = size_step(self._model, wanted, replacing, now)
        self._give_back(wanted.pool, step.unreplaced, Block.LIMITS.by())
        return SizeOrders(
            launched=self._make(step, now),
            given_up=(*self._unused(step, now), *self._replaced(wanted.pool, step, now)),
            proposed=self._propose(wanted.pool, step.surplus, now),
            short=step.short,
        )

    def _still_replacing(self, pool: str) -> dict[str, None]:
        there = self._replacing.get(pool, {})
        for name in [name for name in there if self._gone(name)]:
            del there[name]
        return there

    def _gone(self, name: str) -> bool:
        view = self._model.objects.view(name)
        return view is None or self._model.marks.ending(view)

    def _give_back(self, pool: str, names: tuple[str, ...], why: Blocker) -> None:
        """Return the budgets of these nodes to the arbiter: they are not replaced now."""
        for name in names:
            self._replacing.get(pool, {}).pop(name, None)
        if names:
            self._arbiter.tell(DisruptionRefused(pool=pool, candidates=names, why=why, lasting=True))

    def _make(self, step: SizeStep, now: datetime) -> tuple[PlanDecided, PlanCommitted] | None:
        if not step.made:
            return None
        decision = Decision(id=self._token(), opened_at=now, closed_at=now, pods=0)
        decided = PlanDecided(
            decision=decision,
            snapshot=_no_snapshot(self._model.revision, now),
            plan=PackingPlan(claims=step.made),
            considered=(step.made[0].pool,),
            selected_at=now,
            packed_at=now,
        )
        committed = commit(self._model, decided, now=now, promise_lasts=timedelta(0))
        return (decided, committed) if committed.claims else None

    def _unused(self, step: SizeStep, now: datetime) -> Iterable[DisruptNodes]:
        return self._order(step.unused, Cause.SCALED_DOWN, now)

    def _replaced(self, pool: str, step: SizeStep, now: datetime) -> Iterable[DisruptNodes]:
        """Return orders for drifted nodes for each of which there is another one by now."""
        asked = DisruptionProposed(pool=pool, candidates=step.replaced, cause=Cause.DRIFTED)
        going = []
        for name in step.replaced:
            why = objection(self._model, name, asked, now)
            if why is None:
                going.append(name)
            else:
                self._give_back(pool, (name,), why)
        return self._order(tuple(going), Cause.DRIFTED, now)

    def _order(self, names: tuple[str, ...], cause: Cause, now: datetime) -> Iterable[DisruptNodes]:
        found = (self._model.objects.view(name) for name in names)
        views: tuple[NodeView, ...] = tuple(view for view in found if view is not None)
        for view in views:
            self._model.mark_for_disruption(view.name)
        return (DisruptNodes(nodes=views, cause=cause, decided_at=now),) if views else ()

    def _propose(self, pool: str, names: tuple[str, ...], now: datetime) -> DisruptionProposed | None:
        """Ask budgets about nodes, unless they were asked just now."""
        if not names or self._proposed_until.get(pool, now) > now:
            return None
        self._proposed_until[pool] = now + _PROPOSE_AGAIN
        return DisruptionProposed(pool=pool, candidates=names, cause=Cause.SCALED_DOWN)


def _no_snapshot(revision: int, now: datetime) -> Snapshot:
    """Return a snapshot for a decision on no pods: it looks at none of it."""
    return Snapshot(
        revision=revision,
        taken_at=now,
        pods=(),
        existing_nodes=(),
        pools=(),
        node_classes={},
        daemons=(),
        limits_left={},
    )
