"""What the cluster says to proposals to give nodes up: whether they may be made, and whether they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from treenail.domain.cluster import ClusterModel
from treenail.domain.disruption import (
    REPLACED,
    DisruptionAllowed,
    DisruptionBlocked,
    DisruptionProposed,
    DisruptionRefused,
    DisruptNodes,
)
from treenail.domain.event_subjects import of_view
from treenail.domain.giving_up import CHANGED, objection
from treenail.domain.runtime import Ref


class ProposalJudge:
    """Holds proposals against the model of the cluster. `disruptor` finds the one of a pool.

    Whoever is the `teller` tells people what keeps a node.
    """

    def __init__(
        self,
        model: ClusterModel,
        *,
        arbiter: Ref[DisruptionProposed | DisruptionRefused],
        disruptor: Callable[[str], Ref[DisruptionRefused]],
        teller: Ref[DisruptionBlocked],
    ) -> None:
        self._model = model
        self._arbiter = arbiter
        self._disruptor = disruptor
        self._teller = teller

    def screen(self, proposal: DisruptionProposed, now: datetime) -> None:
        """Pass on to the arbiter those that nothing speaks against, and send the others back.

        Else one that may not go would take the budget of one that may, again and again.
        """
        kept = self._without_objection(proposal, proposal.candidates, now, self._disruptor(proposal.pool))
        if kept:
            self._arbiter.tell(replace(proposal, candidates=kept))

    def accept(self, allowed: DisruptionAllowed, now: datetime) -> DisruptNodes | None:
        """Give up those that budgets allow and that are still as the proposal says; refuse the others."""
        proposal = allowed.proposal
        kept = self._without_objection(proposal, allowed.candidates, now, self._arbiter)
        views = tuple(view for name in kept if (view := self._model.view(name)) is not None)
        for name in kept:
            self._model.condemn(name)
        if not views:
            return None
        first = proposal.cause in REPLACED and not proposal.forceful
        return DisruptNodes(nodes=views, cause=proposal.cause, replaced_first=first, decided_at=now)

    def _without_objection(
        self, proposal: DisruptionProposed, names: Sequence[str], now: datetime, back: Ref[DisruptionRefused]
    ) -> tuple[str, ...]:
        """Return those that nothing speaks against; tell `back` of the others, and why."""
        against = {name: objection(self._model, name, proposal, now) for name in names}
        for why in sorted({why for why in against.values() if why is not None}):
            refused = tuple(name for name in names if against[name] == why)
            back.tell(DisruptionRefused(pool=proposal.pool, candidates=refused, why=why))
            self._tell_blocked(refused, why)
        return tuple(name for name in names if against[name] is None)

    def _tell_blocked(self, names: Iterable[str], why: str) -> None:
        views = (self._model.view(name) for name in names)
        about = tuple(ref for view in views if view is not None for ref in of_view(view))
        if why != CHANGED and about:
            self._teller.tell(DisruptionBlocked(about=about, why=why[:1].upper() + why[1:]))
