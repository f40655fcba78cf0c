"""Acceptance of proposals at one revision: the budgets they name, and a place for every pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.disruption.budgets import BudgetBook
from treenail.domain.disruption.disruption import PoolChanged
from treenail.domain.disruption.disruption_candidates import DisruptionCandidate
from treenail.domain.disruption.move_validity import outdated
from treenail.domain.disruption.objections import CHANGED, objection
from treenail.domain.model.blockers import Block, Blocker
from treenail.domain.model.causes import Cause
from treenail.domain.model.pods import Pod
from treenail.domain.packing.plan import PackingPlan
from treenail.domain.scheduling.revalidation import Held, what_holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A verdict on candidates. Each is in one of the three tuples, in the order they were proposed.

    `refused` have the reason; `lacking` ones have no objection but pods without a place, which are given.
    """

    accepted: tuple[DisruptionCandidate, ...]
    refused: tuple[tuple[DisruptionCandidate, Blocker], ...]
    lacking: tuple[tuple[DisruptionCandidate, tuple[Pod, ...]], ...]


def judge(
    model: ClusterModel,
    disruption_candidates: Sequence[DisruptionCandidate],
    plan: PackingPlan,
    now: datetime,
) -> Verdict:
    """Return which candidates can be accepted together at the present revision.

    For each, its nodes must be as they were when proposed, the budgets that it names must allow it, and every
    pod that must move must have a place: a promise already, or a place in `plan` that can be promised now. Of
    two candidates with one place, the first gets it. Changes nothing.
    """
    against = _against(model, disruption_candidates, now)
    possible = tuple(one for one in disruption_candidates if one not in against)
    accepted, lacking = _with_places(model, possible, plan, now)
    return Verdict(accepted=accepted, refused=tuple(against.items()), lacking=lacking)


def _against(
    model: ClusterModel, disruption_candidates: Sequence[DisruptionCandidate], now: datetime
) -> dict[DisruptionCandidate, Blocker]:
    """Return the objections to candidates, except that pods lack places."""
    against: dict[DisruptionCandidate, Blocker] = {}
    book = budgets_at_present(model) if disruption_candidates else BudgetBook()
    for one in disruption_candidates:
        why = _objection(model, one, now)
        if why is None and not book.take(replace(one.proposal, candidates=one.names, together=True), now):
            why = Block.BUDGET.by(", ".join(one.allowed.budgets))
        if why is not None:
            against[one] = why
    return against


def _objection(model: ClusterModel, one: DisruptionCandidate, now: datetime) -> Blocker | None:
    said = (objection(model, name, one.proposal, now) for name in one.names)
    why = next((why for why in said if why is not None), None)
    planned = one.proposal.planned
    if why is None and planned is not None and one.proposal.cause is Cause.UNDERUTILIZED:
        why = outdated(model, planned, one.names)
    views = (model.objects.view(name) for name in one.names)
    named = all(view is not None and view.pool in one.allowed.budgets for view in views)
    return why if why is not None or named else CHANGED


def budgets_at_present(model: ClusterModel) -> BudgetBook:
    """Return the budgets at this revision, with all leaving nodes counted."""
    book = BudgetBook()
    for pool in model.objects.pools.values():
        book.note_pool(PoolChanged(name=pool.name, pool=pool))
    for view in model.objects.views():
        book.note_node(NodeChanged(name=view.name, view=view))
    for name in model.marks.for_disruption:
        book.hold(name)
    return book


def _with_places(
    model: ClusterModel, possible: tuple[DisruptionCandidate, ...], plan: PackingPlan, now: datetime
) -> tuple[tuple[DisruptionCandidate, ...], tuple[tuple[DisruptionCandidate, tuple[Pod, ...]], ...]]:
    """Separate candidates whose pods all have places from those whose pods do not.

    A candidate that stays may be the target of another one's pods, so this is repeated until nothing changes.
    """
    moving = {one: _moving(model, one, now) for one in possible}
    going, lacking = possible, dict[DisruptionCandidate, tuple[Pod, ...]]()
    while going:
        held = what_holds(model, plan, {name for one in going for name in one.names})
        lost = _lost(model, {one: moving[one] for one in going}, held)
        if not lost:
            break
        lacking |= lost
        going = tuple(one for one in going if one not in lost)
    return going, tuple((one, lacking[one]) for one in possible if one in lacking)


def _lost(
    model: ClusterModel, moving: Mapping[DisruptionCandidate, tuple[Pod, ...]], held: Held
) -> dict[DisruptionCandidate, tuple[Pod, ...]]:
    """Return the candidates with pods that have no place, and those pods."""
    placed = held.pods
    found: dict[DisruptionCandidate, tuple[Pod, ...]] = {}
    for one, pods in moving.items():
        lost = tuple(pod for pod in pods if pod.uid not in placed and model.promises.of(pod.uid) is None)
        if lost:
            found[one] = lost
    return found


def _moving(model: ClusterModel, one: DisruptionCandidate, now: datetime) -> tuple[Pod, ...]:
    """Return the pods that must have other places before these nodes go."""
    if not one.proposal.replaced_first:
        return ()
    pods = (pod for name in one.names for pod in model.objects.pods_on(name))
    return tuple(pod for pod in pods if pod.reschedulable and not pod.protected(now))
